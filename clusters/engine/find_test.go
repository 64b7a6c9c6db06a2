package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dockerRefusal is the error of docker 20.10 when root lacked CAP_SYS_RESOURCE.
const dockerRefusal = "docker: Error response from daemon: failed to create shim task: OCI runtime create failed: " +
	"runc create failed: unable to start container process: unable to apply caps: operation not permitted: unknown."

func TestFind(t *testing.T) {
	refused := map[string]answer{
		"docker run": {err: exits(t, 125, dockerRefusal)},
	}
	tests := map[string]struct {
		fake     fake
		want     string
		refusals []Refusal
	}{
		"docker works": {
			fake: fake{programs: []string{"docker", "podman"}, answers: works("docker", dockerUp)},
			want: "docker 28.2.2",
		},
		"docker has no daemon": {
			fake: fake{programs: []string{"docker", "podman"}, answers: merge(works("podman", podmanUp),
				map[string]answer{"docker info": {text: dockerDown, err: exits(t, 1, "Cannot connect")}})},
			want: "podman 4.3.1",
			refusals: []Refusal{{
				Engine: "docker",
				Reason: "its daemon does not answer: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.",
				Remedy: "sudo systemctl start docker",
			}},
		},
		"docker answers but refuses privileges": {
			fake: fake{programs: []string{"docker", "podman"},
				answers: merge(works("docker", dockerUp), works("podman", podmanUp), refused)},
			want: "podman 4.3.1",
			refusals: []Refusal{{
				Engine: "docker",
				Reason: "a privileged container does not run: " + dockerRefusal,
			}},
		},
		"a container that is privileged in name only": {
			fake: fake{programs: []string{"docker", "podman"}, answers: merge(works("docker", dockerUp),
				works("podman", podmanUp), map[string]answer{"docker run": {err: exits(t, ProbeRefused, "holdfast: may not mount: operation not permitted")}})},
			want: "podman 4.3.1",
			refusals: []Refusal{{
				Engine: "docker",
				Reason: "a privileged container runs, but may not mount: operation not permitted",
			}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := find(t.Context(), test.fake.host(), Options{CacheDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			if got := found.Name() + " " + found.Version(); got != test.want {
				t.Errorf("found %s, want %s", got, test.want)
			}
			if diff := cmp.Diff(test.refusals, found.Refusals()); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
		})
	}
}

// A user who names an engine gets that one, or is told why not. Nothing else is tried, and nothing is installed in its place.
func TestFindOnly(t *testing.T) {
	for name, test := range map[string]struct {
		only string
		fake fake
		want string
	}{
		"podman beside docker": {
			only: Podman, want: "podman 4.3.1",
			fake: fake{programs: []string{"docker", "podman"}, answers: merge(works("docker", dockerUp), works("podman", podmanUp))},
		},
		"docker": {
			only: Docker, want: "docker 28.2.2",
			fake: fake{programs: []string{"docker", "podman"}, answers: merge(works("docker", dockerUp), works("podman", podmanUp))},
		},
		"docker that has no daemon": {
			only: Docker, want: "unset HOLDFAST_ENGINE",
			fake: fake{programs: []string{"docker", "podman"}, answers: merge(works("podman", podmanUp),
				map[string]answer{"docker info": {text: dockerDown, err: exits(t, 1, "Cannot connect")}})},
		},
		"no docker": {
			only: Docker, want: "docker: not installed",
			fake: fake{programs: []string{"podman", "apt-get"}, files: map[string]string{"/etc/os-release": "ID=debian\n"}, answers: works("podman", podmanUp)},
		},
		"another one": {only: "containerd", want: "HOLDFAST_ENGINE=containerd: want docker or podman"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOLDFAST_ENGINE", test.only)
			found, err := find(t.Context(), test.fake.host(), Options{CacheDir: t.TempDir()})
			got := fmt.Sprint(err)
			if err == nil {
				got = found.Name() + " " + found.Version()
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if test.fake.count("apt-get") > 0 {
				t.Errorf("something was installed: %q", test.fake.asked)
			}
		})
	}
}

func TestFindRemovesWhatTheProofMade(t *testing.T) {
	for name, run := range map[string]answer{"it ran": {}, "it did not": {err: exits(t, 125, "no")}} {
		t.Run(name, func(t *testing.T) {
			f := fake{programs: []string{"podman"}, answers: merge(works("podman", podmanUp),
				map[string]answer{"podman run": run, "dpkg-query": {}})}
			_, _ = find(t.Context(), f.host(), Options{CacheDir: t.TempDir()})
			container, image := "", ""
			for _, line := range f.asked {
				fields := strings.Fields(line)
				switch fields[1] {
				case "import":
					image = fields[len(fields)-1]
				case "run":
					_, rest, _ := strings.Cut(line, "--name ")
					container = strings.Fields(rest)[0]
				}
			}
			for _, want := range []string{"podman rm --force --volumes " + container, "podman rmi --force " + image} {
				if f.count(want) != 1 {
					t.Errorf("%q was not run; asked:\n%s", want, strings.Join(f.asked, "\n"))
				}
			}
			if !strings.HasPrefix(image, "localhost/") {
				t.Errorf("image %q: a name without a host makes podman ask registries", image)
			}
		})
	}
}

func TestFindRemembers(t *testing.T) {
	f := fake{programs: []string{"podman"}, answers: works("podman", podmanUp), files: map[string]string{bootIDFile: "one"}}
	dir := t.TempDir()
	again := func(what string, proofs int) {
		t.Helper()
		if _, err := find(t.Context(), f.host(), Options{CacheDir: dir}); err != nil {
			t.Fatal(err)
		}
		if got := f.count("podman run"); got != proofs {
			t.Errorf("%s: %d proofs so far, want %d", what, got, proofs)
		}
	}
	again("first call", 1)
	again("second call", 1)
	f.files[bootIDFile] = "two"
	again("after a boot", 2)
	f.answers["podman info"] = answer{text: strings.Replace(podmanUp, "4.3.1", "5.0.0", 1)}
	again("after an upgrade", 3)
	f.files["/run/systemd/system"] = ""
	again("with another configuration", 4)
	again("and once more", 4)
}

// Without a holdfast executable that runs in a container nothing is installed: another engine would not help.
func TestFindWithoutAProgram(t *testing.T) {
	f := fake{programs: []string{"podman", "apt-get"}, answers: works("podman", podmanUp), files: map[string]string{"/etc/os-release": bookworm},
		noProgram: errors.New("linked dynamically")}
	_, err := find(t.Context(), f.host(), Options{CacheDir: t.TempDir()})
	if err == nil || err.Error() != "prove a container engine: linked dynamically" {
		t.Errorf("%v, want the reason alone", err)
	}
	if f.count("podman import") != 0 || f.count("apt-get") != 0 {
		t.Errorf("asked %q", f.asked)
	}
}

func TestFindEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped by the user")
	f := fake{programs: []string{"podman", "apt-get"}, files: map[string]string{"/etc/os-release": bookworm}}
	f.answers = merge(works("podman", podmanUp), map[string]answer{
		"podman run": {err: fmt.Errorf("killed"), then: func() { cancel(stop) }},
	})
	_, err := find(ctx, f.host(), Options{CacheDir: t.TempDir()})
	if !errors.Is(err, stop) {
		t.Errorf("%v, want what ended the context", err)
	}
	if f.count("podman rmi") != 1 {
		t.Error("the proof's image was left behind")
	}
	if f.count("apt-get") != 0 {
		t.Error("went on to install something")
	}
}
