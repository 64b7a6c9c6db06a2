package kind

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadFinding(t *testing.T) {
	for _, tt := range []struct {
		out  string
		want finding
		err  string
	}{
		{"witness 10.244.1.9\nend\n", finding{witness: "10.244.1.9"}, ""},
		{
			"still has a default route\nits witness pod does not run\nwitness \nend\n",
			finding{missing: []string{"still has a default route", "its witness pod does not run"}}, "",
		},
		{"witness 10.244.1.9\n", finding{}, "the answer was cut off"},
		{"", finding{}, "the answer was cut off"},
		{"end\n", finding{}, "the answer names no witness pod"},
	} {
		got, err := readFinding(tt.out)
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%q: error %v, want %s", tt.out, err, tt.err)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(finding{})); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", tt.out, err, diff)
		}
	}
}

// runProbe runs probe.sh with commands of the node replaced by scripts, by name.
func runProbe(t *testing.T, commands map[string]string, args ...string) []string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range commands {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{"-c", probeScript, "probe.sh"}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func TestProbeScript(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash on this machine; a node has it")
	}
	const allAnswer = "printf 'Service 1.1.1.1:443\nDNS at 2.2.2.2:53\npod 3.3.3.3\npod 4.4.4.4\n'"
	well := map[string]string{
		"timeout": allAnswer, // replaces the whole check
		"pgrep":   "echo 17",
		"nsenter": "echo '2: eth0 inet 10.244.1.9/24 scope global eth0'",
		"ip":      "true",
		"sleep":   "exec /bin/sleep 0.01",
	}
	with := func(name, script string) map[string]string {
		commands := map[string]string{name: script}
		for key, value := range well {
			if key != name {
				commands[key] = value
			}
		}
		return commands
	}
	for _, tt := range []struct {
		name     string
		commands map[string]string
		egress   string
		want     []string
	}{
		{"all is well", well, "open", []string{"witness 10.244.1.9", "end"}},
		{"no witness", with("pgrep", "false"), "open", []string{"its witness pod does not run", "witness ", "end"}},
		{"a pod is away", with("timeout", "printf 'Service 1.1.1.1:443\nDNS at 2.2.2.2:53\npod 3.3.3.3\n'"), "open", []string{
			"pod 4.4.4.4 not reachable from the node", "pod 4.4.4.4 not reachable from the pods", "witness 10.244.1.9", "end",
		}},
		{"nothing answers the pods", with("timeout", `case "$2" in nsenter) ;; *) `+allAnswer+";; esac"), "open", []string{
			"Service 1.1.1.1:443 not reachable from the pods", "DNS at 2.2.2.2:53 not reachable from the pods",
			"pod 3.3.3.3 not reachable from the pods", "pod 4.4.4.4 not reachable from the pods", "witness 10.244.1.9", "end",
		}},
		{"a longer name is no answer", with("timeout", allAnswer+"| sed s/4.4.4.4/4.4.4.40/"), "open", []string{
			"pod 4.4.4.4 not reachable from the node", "pod 4.4.4.4 not reachable from the pods", "witness 10.244.1.9", "end",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := runProbe(t, tt.commands, "0", tt.egress, "10.96.0.0/16", "1.1.1.1", "2.2.2.2", "02020202", "3.3.3.3", "4.4.4.4")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
		})
	}
}

// Sealing removes the default routes, and reports a default route that remains.
func TestProbeScriptSeals(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash on this machine; a node has it")
	}
	log := filepath.Join(t.TempDir(), "log")
	commands := map[string]string{
		"ip":      `echo "$@" >>` + log + `; case "$*" in "-4 route show default") echo default via 10.0.0.1;; *"del default") exit 2;; esac`,
		"mkdir":   `echo mkdir "$@" >>` + log,
		"touch":   `echo touch "$@" >>` + log,
		"timeout": "true", "pgrep": "false",
	}
	got := runProbe(t, commands, "0", "sealed", "10.96.0.0/16", "1.1.1.1", "2.2.2.2", "02020202")
	if got[0] != "still has a default route" {
		t.Errorf("printed %q", got)
	}
	did, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"mkdir -p /etc/holdfast", "touch /etc/holdfast/no-egress", "-4 route show 10.96.0.0/16",
		"-4 route add 10.96.0.0/16 dev eth0", "-4 route del default", "-4 route show default",
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(string(did)), "\n")); diff != "" {
		t.Errorf("did (-want +got):\n%s", diff)
	}
}
