package nodeimage

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	debian12 = "ID=debian\nVERSION_CODENAME=bookworm\n"
	debian13 = "ID=debian\nVERSION_CODENAME=trixie\n"
	ubuntu   = "NAME=\"Ubuntu\"\nID=ubuntu\nVERSION_CODENAME=noble\n"

	firstStanza = `Types: deb deb-src
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
 contrib
Signed-By: /usr/share/keyrings/debian.gpg
`
	deb822 = firstStanza + `
Types: deb
URIs: http://mirror.example/security
Suites: bookworm-security
Components: main
`
)

func TestFindDistribution(t *testing.T) {
	for _, c := range []struct {
		name, release string
		files         map[string]string
		proxy         answer
		want          distribution
		fails         string
	}{
		{
			name: "deb822", release: debian12, files: map[string]string{"/etc/apt/sources.list.d/debian.sources": deb822},
			want: distribution{mirror: "http://mirror.example/debian", suite: "bookworm", components: "main", keyring: "/usr/share/keyrings/debian.gpg"},
		},
		{
			name: "deb822 in the file of the old format", release: debian12, files: map[string]string{"/etc/apt/sources.list": deb822},
			want: distribution{mirror: "http://mirror.example/debian", suite: "bookworm", components: "main", keyring: "/usr/share/keyrings/debian.gpg"},
		},
		{
			name: "one line, other sources first", release: debian12,
			files: map[string]string{
				"/etc/apt/sources.list":              "# deb http://no.example/ bookworm main\ndeb-src http://src.example bookworm main\ndeb cdrom:[x]/ bookworm main\n",
				"/etc/apt/sources.list.d/cloud.list": "deb https://cloud.example/apt cloud-sdk-bookworm main\n",
				"/etc/apt/sources.list.d/main.list":  "deb [arch=amd64 signed-by=/k.gpg] https://mirror.example/debian/ bookworm main non-free # ours\n",
			},
			want: distribution{mirror: "https://mirror.example/debian/", suite: "bookworm", components: "main", keyring: "/k.gpg"},
		},
		{
			name: "a later Debian, through a proxy", release: debian13,
			files: map[string]string{"/etc/apt/sources.list": "deb http://mirror.example/debian trixie main\n"},
			proxy: answer{text: "Acquire::http::Proxy http://proxy.example:3142\n"},
			want:  distribution{mirror: "http://mirror.example/debian", suite: "bookworm", components: "main", proxy: "http://proxy.example:3142"},
		},
		{
			name: "Ubuntu has no Debian release", release: ubuntu, proxy: answer{text: "Acquire::http::Proxy DIRECT\n"},
			files: map[string]string{"/etc/apt/sources.list.d/ubuntu.sources": "Types: deb\nURIs: http://ubuntu.example/ubuntu/\nSuites: noble noble-updates\nComponents: main universe\n"},
			want:  distribution{mirror: "http://ubuntu.example/ubuntu/", suite: "noble", components: "main,universe"},
		},
		{
			name: "a source that is switched off", release: debian12,
			files: map[string]string{"/etc/apt/sources.list.d/debian.sources": "Enabled: no\n" + firstStanza},
			fails: `apt on this machine (debian) has no http or https source for its own release "bookworm"`,
		},
		{
			name: "a key in full", release: debian12,
			files: map[string]string{"/etc/apt/sources.list.d/d.sources": "Types: deb\nURIs: http://mirror.example/\nSuites: bookworm\nComponents: main\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBF\n"},
			want:  distribution{mirror: "http://mirror.example/", suite: "bookworm", components: "main"},
		},
		{
			name: "another family", release: "ID=fedora\n",
			fails: `apt on this machine (fedora) has no http or https source for its own release ""`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t)
			m.answers["apt-config"] = c.proxy
			m.files["/etc/os-release"] = c.release
			for path, text := range c.files {
				m.files[path] = text
			}
			got, err := m.host().findDistribution(t.Context())
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("got %v, want %s", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(distribution{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNeed(t *testing.T) {
	for _, c := range []struct {
		name    string
		uid     int
		options Options
		missing []string
		present bool // from the start
		mended  bool // by the installation
		install answer
		want    string // of the error
		runs    int
	}{
		{name: "it is there", uid: 1000, present: true},
		{name: "root installs it", mended: true, runs: 1},
		{name: "refused", options: Options{NoInstall: true}, want: "a compiler is missing; as root: apt-get install --no-install-recommends gcc make"},
		{name: "not root", uid: 1000, want: "a compiler is missing; as root: apt-get install --no-install-recommends gcc make"},
		{name: "no apt", missing: []string{"apt-get"}, want: "a compiler is missing; install it (Debian packages: gcc make), " +
			"or load a kindest/node image into the container engine"},
		{name: "the installation fails", install: answer{err: errors.New("no space")}, runs: 1, want: "install gcc make: no space"},
		{name: "still missing", runs: 1, want: "a compiler is still missing after: apt-get install --no-install-recommends gcc make"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t)
			m.uid, m.missing = c.uid, c.missing
			there := c.present
			c.install.then = func(ctx context.Context, _ call) error {
				there = c.mended
				return ctx.Err()
			}
			m.answers["apt-get -q update"] = answer{}
			m.answers["apt-get -q -o"] = c.install
			err := m.host().need(t.Context(), c.options, "a compiler", func() bool { return there }, "gcc", "make")
			if got := message(err); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if runs := m.count("apt-get -q -o"); runs != c.runs {
				t.Errorf("installed %d times, want %d", runs, c.runs)
			}
		})
	}
}

// An interrupt takes effect only when the installation has finished.
func TestNeedIsNotInterrupted(t *testing.T) {
	m := newMachine(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	there := false
	m.answers["apt-get -q update"] = answer{then: func(context.Context, call) error { cancel(errors.New("Ctrl-C")); return nil }}
	m.answers["apt-get -q -o"] = answer{then: func(ctx context.Context, _ call) error { there = true; return ctx.Err() }}
	err := m.host().need(ctx, Options{}, "a compiler", func() bool { return there }, "gcc")
	if message(err) != "Ctrl-C" || !there {
		t.Errorf("got %v; installed %v", err, there)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
