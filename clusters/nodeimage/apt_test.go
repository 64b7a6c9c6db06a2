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

	// What apt-get lists for debianSources and a source that is not apt's own.
	targets = `https://cloud.example/apt/ cloud-sdk-bookworm main /etc/apt/sources.list.d/cloud.list:1
cdrom://x/ bookworm main /etc/apt/sources.list:1
http://mirror.example/debian/ bookworm main /etc/apt/sources.list.d/debian.sources:1
http://mirror.example/debian/ bookworm-updates main /etc/apt/sources.list.d/debian.sources:1
http://mirror.example/security/ bookworm-security main /etc/apt/sources.list.d/debian.sources:2
`
	debianSources = `Types: deb
URIs: http://mirror.example/security
Suites: bookworm-security
Signed-By: /usr/share/keyrings/security.gpg

Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Signed-By: /usr/share/keyrings/debian.gpg
`
)

func TestFindDistribution(t *testing.T) {
	const oneLine = "https://mirror.example/debian/ bookworm main /etc/apt/sources.list:3\n"
	for name, c := range map[string]struct {
		release, targets string
		files            map[string]string
		proxy            answer
		want             distribution
		fails            string
	}{
		"deb822": {
			release: debian12, targets: targets, files: map[string]string{"/etc/apt/sources.list.d/debian.sources": debianSources},
			want: distribution{mirror: "http://mirror.example/debian/", suite: "bookworm", components: "main", keyring: "/usr/share/keyrings/debian.gpg"},
		},
		"one line": {
			release: debian12, targets: oneLine, files: map[string]string{"/etc/apt/sources.list": "# deb [signed-by=/off.gpg] https://mirror.example/debian bookworm main\n" +
				"deb [arch=amd64 signed-by=/k.gpg] https://mirror.example/debian bookworm main non-free # ours\n"},
			want: distribution{mirror: "https://mirror.example/debian/", suite: "bookworm", components: "main", keyring: "/k.gpg"},
		},
		"a later Debian, through a proxy": {
			release: debian13, targets: strings.ReplaceAll(oneLine, "bookworm", "trixie"), proxy: answer{text: "Acquire::http::Proxy http://proxy.example:3142\n"},
			files: map[string]string{"/etc/apt/sources.list": "deb https://mirror.example/debian trixie main\n"},
			want:  distribution{mirror: "https://mirror.example/debian/", suite: "bookworm", components: "main", proxy: "http://proxy.example:3142"},
		},
		"Ubuntu has no Debian release": {
			release: ubuntu, targets: strings.ReplaceAll(oneLine, "bookworm", "noble"), proxy: answer{text: "Acquire::http::Proxy DIRECT\n"},
			want: distribution{mirror: "https://mirror.example/debian/", suite: "noble", components: "main,universe"},
		},
		"a key in full": {
			release: debian12, targets: targets,
			files: map[string]string{"/etc/apt/sources.list.d/debian.sources": "URIs: http://mirror.example/debian\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBF/\n"},
			want:  distribution{mirror: "http://mirror.example/debian/", suite: "bookworm", components: "main"},
		},
		"no source of its own release": {
			release: debian13, targets: targets, fails: `apt on this machine (debian) has no http or https source for its own release "trixie"`,
		},
		"another family": {
			release: "ID=fedora\n", fails: `apt on this machine (fedora) has no http or https source for its own release ""`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.answers["apt-config"], m.answers["apt-get indextargets"] = c.proxy, answer{text: c.targets}
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
		{name: "the installation fails", install: answer{err: errors.New("no space")}, runs: 1, want: "install gcc make: no space"},
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
