package recording

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// session is a session with a record, without a cluster.
func session(t *testing.T) *Session {
	t.Helper()
	w, err := history.Create(t.TempDir(), history.Header{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return &Session{board: newBoard(w), options: Options{Say: t.Logf}}
}

func TestCommandsRunAsTheyWould(t *testing.T) {
	var out, errs bytes.Buffer
	io := Streams{In: strings.NewReader("yes\n"), Out: &out, Err: &errs}
	command := Command([]string{"/bin/sh", "-c", `read answer; echo "$answer $WHAT"; echo careful >&2; exit 3`}, []string{"WHAT=indeed"}, io)
	err := command(t.Context(), session(t))
	if failed := (CommandError{}); !errors.As(err, &failed) || err.Error() != "sh: exit status 3" {
		t.Errorf("got %v", err)
	}
	if out.String() != "yes indeed\n" || errs.String() != "careful\n" {
		t.Errorf("it wrote %q and %q", &out, &errs)
	}
	if err := Command([]string{"true"}, nil, Streams{})(t.Context(), session(t)); err != nil {
		t.Error(err)
	}
	if err := Command([]string{"/no/such/program"}, nil, Streams{})(t.Context(), session(t)); err == nil {
		t.Error("a program that is not there gave no error")
	}
}

// A signal reaches the command, which may still put in order what it has begun.
func TestASignalReachesTheCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	go func() {
		time.Sleep(300 * time.Millisecond)
		cancel()
	}()
	err := Command([]string{"/bin/sh", "-c", `trap 'echo undone; exit 1' INT; while :; do sleep 0.05; done`}, os.Environ(), Streams{Out: &out})(ctx, session(t))
	if err == nil || out.String() != "undone\n" {
		t.Errorf("got %v, it wrote %q", err, &out)
	}
}

// The command's kubectl must not use another cluster than the one that is recorded. The file that sees to it holds no credentials.
func TestTheCommandUsesTheRecordedCluster(t *testing.T) {
	theirs := filepath.Join(t.TempDir(), "config")
	text := `{apiVersion: v1, kind: Config, current-context: prod, clusters: [{name: c, cluster: {server: "https://c"}}, {name: d, cluster: {server: "https://d"}}],
users: [{name: u, user: {token: hidden}}],
contexts: [{name: prod, context: {cluster: c, user: u}}, {name: "stag'ing", context: {cluster: d, user: u}}]}`
	if err := os.WriteFile(theirs, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", theirs)
	for _, flag := range []string{"", theirs} {
		environ, remove, err := Environ("stag'ing", flag)
		if err != nil {
			t.Fatal(err)
		}
		paths, _ := strings.CutPrefix(environ[len(environ)-1], "KUBECONFIG=")
		rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(paths)}
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
		if err != nil || config.Host != "https://d" || config.BearerToken != "hidden" {
			t.Errorf("--kubeconfig %q: %+v, %v", flag, config, err)
		}
		ours := filepath.SplitList(paths)[0]
		if text, err := os.ReadFile(ours); err != nil || strings.Contains(string(text), "hidden") {
			t.Errorf("our file: %s, %v", text, err)
		}
		remove()
		if _, err := os.Stat(ours); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", ours, err)
		}
	}
	environ, remove, err := Environ("", "")
	defer remove()
	if err != nil || len(environ) != len(os.Environ()) {
		t.Errorf("without a context: %v", err)
	}
}
