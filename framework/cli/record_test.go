package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/run/recording"
)

func executeRecord(t *testing.T, args ...string) (code int, err error) {
	t.Helper()
	cmd := recordCommand("v0")
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	err = cmd.ExecuteContext(t.Context())
	return exit.Code(err), err
}

func TestRecordUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	config := filepath.Join(t.TempDir(), "config")
	text := `{apiVersion: v1, kind: Config, current-context: prod, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: u, user: {token: t}}],
contexts: [{name: prod, context: {cluster: c, user: u}}]}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", config)
	misspelt := filepath.Join(t.TempDir(), "holdfast.yaml")
	text = "apiVersion: holdfast.dev/v1alpha1\nkind: App\ncluster: {uid: u}\napp: {namespace: shop}\nprobes: [{name: home, url: \"http://web/\"}]\npromises: {probes: {hone: {voluntary: {failed: 3}}}}\n"
	if err := os.WriteFile(misspelt, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"kubectl rollout restart":                        "the command comes after --",
		"-n shop kubectl":                                "the command comes after --",
		"-A -n shop":                                     "choose one",
		"--for 1h -- true":                               "the recording ends after the command",
		"--for -1h":                                      "must not be negative",
		"--server https://x -- kubectl":                  "would use the cluster of the context",
		"--rate 0 --url http://web/":                     "want requests a second",
		"--behind shop/web":                              "no requests are sent",
		"--behind web --url http://web/":                 "want NAMESPACE/NAME",
		"--behind /web --url http://web/":                "want NAMESPACE/NAME",
		"--url nonsense":                                 "is no URL",
		"--probes none.yaml":                             "none.yaml",
		"--probes " + misspelt:                           "there is no probe hone",
		"--load sideways --url http://web/":              "want outside, inside or both",
		"--load inside --context prod --image x":         "no requests are sent",
		"--load inside --context prod --url http://web/": "needs an image",
		"--load inside --url http://web/ --image x":      "name it with --context", // never the current context for writes
		"--image x --url http://web/":                    "are for --load inside or both",
		"--load both --context prod --url http://web/ --image x --load-workers 0": "want at least 1",
		"--context elsewhere":         `no context "elsewhere"`,
		"--for 30h --url http://web/": "at most 24h",
	} {
		code, err := executeRecord(t, strings.Fields(args)...)
		if code != exit.BadUsage || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("record %s: exit code %d, %v; want 4 and %q", args, code, err, want)
		}
	}
	if code, err := executeRecord(t, "-n", "shop"); code != exit.Failed || !strings.Contains(err.Error(), "is this the right context") {
		t.Errorf("an API server that is away: exit code %d, %v", code, err)
	}
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("%v was written, %v", files, err)
	}
}

func TestClaim(t *testing.T) {
	for want, o := range map[string]recording.Options{
		"'kubectl drain w1' is invisible to clients, and respects the budgets and constraints of namespace shop":             {Command: []string{"kubectl", "drain", "w1"}, Namespaces: []string{"shop"}},
		"what happens to all namespaces is invisible to clients, and respects the budgets and constraints of all namespaces": {For: time.Hour},
	} {
		if got := claim(o); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
