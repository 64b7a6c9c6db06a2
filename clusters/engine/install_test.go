package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const offeredByBookworm = "Package: podman\nPackage: netavark\nPackage: aardvark-dns\n"

// bare is a fresh machine on which installing packages provides a working podman.
func bare(f *fake) {
	f.programs, f.files = []string{"apt-get"}, map[string]string{"/etc/os-release": bookworm}
	f.answers = merge(works("podman", podmanUp), map[string]answer{
		"dpkg-query":     {err: errors.New("no packages found")},
		"apt-cache show": {text: offeredByBookworm},
		"apt-get":        {then: func() { f.programs = append(f.programs, "podman") }},
	})
}

// lines are the recorded apt-get commands without the common options.
func (f *fake) lines() []string {
	var lines []string
	for _, line := range f.asked {
		if rest, ok := strings.CutPrefix(line, "apt-get -q -o DPkg::Lock::Timeout=120 -o Dpkg::Options::=--force-confold "); ok {
			lines = append(lines, rest)
		}
	}
	return lines
}

func TestInstall(t *testing.T) {
	var f fake
	bare(&f)
	var said []string
	say := func(format string, args ...any) {
		if f.count("apt-get") > 0 {
			t.Error("the message came only after the installation had started")
		}
		said = append(said, fmt.Sprintf(format, args...))
	}
	found, err := find(t.Context(), f.host(), Options{CacheDir: t.TempDir(), Say: say})
	if err != nil {
		t.Fatal(err)
	}
	if found.Name() != Podman {
		t.Errorf("found %s, want podman", found.Name())
	}
	want := []string{
		"update",
		"install --yes --no-install-recommends podman runc netavark aardvark-dns uidmap iptables nftables --download-only",
		"install --yes --no-install-recommends podman runc netavark aardvark-dns uidmap iptables nftables",
	}
	if diff := cmp.Diff(want, f.lines()); diff != "" {
		t.Errorf("apt-get (-want +got):\n%s", diff)
	}
	if len(said) != 1 || !strings.Contains(said[0], "installing podman runc netavark") {
		t.Errorf("said %q, want one line that names the packages", said)
	}
}

func TestInstallRefused(t *testing.T) {
	tests := map[string]struct {
		change  func(*fake, *Options)
		env     string
		want    string
		wantNot string
	}{
		"by the environment": {
			change: func(*fake, *Options) {}, env: "1",
			want: "apt-get update && apt-get install --yes --no-install-recommends podman runc",
		},
		"for want of root": {
			change: func(f *fake, _ *Options) { f.uid = 1000 },
			want:   "sudo apt-get update && sudo apt-get install",
		},
		"on another distribution": {
			change:  func(f *fake, _ *Options) { f.files["/etc/os-release"] = "ID=fedora\nID_LIKE=\"rhel centos\"\n" },
			want:    "install docker, or podman with runc",
			wantNot: "apt-get",
		},
		"for there is nothing to add": {
			change: func(f *fake, _ *Options) {
				f.answers["dpkg-query"] = answer{text: strings.Join(packages, " installed\n") + " installed\n"}
			},
			want:    "run holdfast doctor to check this machine",
			wantNot: "apt-get",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOLDFAST_NO_INSTALL", test.env)
			var f fake
			bare(&f)
			options := Options{CacheDir: t.TempDir()}
			test.change(&f, &options)
			_, err := find(t.Context(), f.host(), options)
			var none *NotFoundError
			if !errors.As(err, &none) {
				t.Fatalf("%v, want a *NotFoundError", err)
			}
			if !strings.Contains(none.Remedy, test.want) {
				t.Errorf("remedy %q, want %q in it", none.Remedy, test.want)
			}
			if test.wantNot != "" && strings.Contains(none.Remedy, test.wantNot) {
				t.Errorf("remedy %q, want no %q in it", none.Remedy, test.wantNot)
			}
			if f.count("apt-get") != 0 {
				t.Errorf("ran apt-get: %q", f.lines())
			}
		})
	}
}

// Installing continues after ctx has ended, because an interrupted dpkg needs manual repair.
func TestInstallIsStoppedOnlyBetweenItsParts(t *testing.T) {
	for _, during := range []string{"update", "install ... --download-only", "install ... nftables"} {
		t.Run(during, func(t *testing.T) {
			var f fake
			bare(&f)
			ctx, cancel := context.WithCancel(t.Context())
			f.answers["apt-get"] = answer{then: func() {
				line := f.lines()[len(f.lines())-1]
				first, last, _ := strings.Cut(during, " ... ")
				if strings.HasPrefix(line, first) && strings.HasSuffix(line, last) {
					cancel()
				}
			}}
			_, err := find(ctx, f.host(), Options{CacheDir: t.TempDir()})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want context.Canceled", err)
			}
			if last := f.lines()[len(f.lines())-1]; strings.HasSuffix(last, "nftables") != (during == "install ... nftables") {
				t.Errorf("ended after apt-get %s", last)
			}
			if during == "install ... nftables" && len(f.ended) > 0 {
				t.Errorf("%q: was stopped half-way", f.ended)
			}
		})
	}
}
