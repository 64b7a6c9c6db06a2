package existing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// pluginLimit is the limit of a test's plugin, in TestMain's environment.
const pluginLimit = "HOLDFAST_TEST_PLUGIN_LIMIT"

// TestMain is holdfast's hidden command, if client-go starts this program as a credential plugin.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == PluginCommand {
		limit, err := time.ParseDuration(os.Getenv(pluginLimit))
		if err == nil {
			err = RunPlugin(context.Background(), limit, os.Args[2:], os.Stdout, os.Stderr)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// server is an API server that accepts one token.
type server struct {
	*httptest.Server
	token atomic.Value
	asked atomic.Int64
}

func serve(t *testing.T, token string) *server {
	t.Helper()
	s := &server{}
	s.token.Store(token)
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Header.Get("Authorization") != "Bearer "+s.token.Load().(string):
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401,"message":"Unauthorized"}`))
		case r.URL.Path == "/version":
			_, _ = w.Write([]byte(`{"gitVersion":"v1.36.3"}`))
		case strings.HasSuffix(r.URL.Path, "selfsubjectreviews"):
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","status":{"userInfo":{"username":"eve","groups":["shop"]}}}`))
		case strings.HasSuffix(r.URL.Path, "namespaces/kube-system"):
			_, _ = w.Write([]byte(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"u-1"}}`))
		default:
			_, _ = w.Write([]byte(`{"kind":"PodList","apiVersion":"v1","items":[]}`))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// context is a context of a kubeconfig.
type contextOf struct{ name, server, user string }

// byToken is a user with a token, in YAML.
func byToken(token string) string { return fmt.Sprintf("{token: %s}", token) }

// write writes a kubeconfig whose first context is the current one.
func write(t *testing.T, path string, contexts ...contextOf) {
	t.Helper()
	var clusters, users, named strings.Builder
	for _, c := range contexts {
		fmt.Fprintf(&clusters, "- {name: %s, cluster: {server: '%s', insecure-skip-tls-verify: true}}\n", c.name, c.server)
		fmt.Fprintf(&users, "- name: %s\n  user: %s\n", c.name, c.user)
		fmt.Fprintf(&named, "- {name: %[1]s, context: {cluster: %[1]s, user: %[1]s, namespace: of-%[1]s}}\n", c.name)
	}
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: %s\nclusters:\n%susers:\n%scontexts:\n%s", contexts[0].name, &clusters, &users, &named)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// open parses flags and opens what they say.
func open(t *testing.T, args ...string) (*Access, error) {
	t.Helper()
	f := NewFlags()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.Add(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	f.Executable = os.Args[0]
	return f.Open()
}

func TestCheckSaysWhoAndWhere(t *testing.T) {
	s, path := serve(t, "t1"), filepath.Join(t.TempDir(), "config")
	write(t, path, contextOf{"prod", "https://127.0.0.1:1", byToken("t1")}, contextOf{"staging", s.URL, byToken("t1")})
	a, err := open(t, "--kubeconfig", path, "--context", "staging")
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Check(t.Context())
	if want := (Identity{UID: "u-1", Kubernetes: "v1.36.3", User: "eve", Groups: []string{"shop"}}); err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if a.Context != "staging" || a.Namespace != "of-staging" || a.Server != s.URL {
		t.Errorf("got %+v", a)
	}
}

// What a user can do about it is said before anything is done.
func TestCheckExplains(t *testing.T) {
	s, path := serve(t, "t1"), filepath.Join(t.TempDir(), "config")
	write(t, path, contextOf{"expired", s.URL, byToken("old")}, contextOf{"away", "https://127.0.0.1:1", byToken("t1")},
		contextOf{"open", "https://jane:hunter2@127.0.0.1:1", byToken("t1")})
	for context, want := range map[string]string{"expired": "log in again", "away": "is this the right context"} {
		a, err := open(t, "--kubeconfig", path, "--context", context)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Check(t.Context()); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "context "+context) {
			t.Errorf("%s: %v, want %q", context, err, want)
		}
	}
	for what, test := range map[string]struct{ context, want string }{
		"a context that is not there": {"elsewhere", `no context "elsewhere": it has away, expired, open`},
		"a server with a password":    {"open", "the kubeconfig's server has a user or a password in its URL"},
	} {
		if _, err := open(t, "--kubeconfig", path, "--context", test.context); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := open(t, "--kubeconfig", filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a kubeconfig that is not there gave no error")
	}
}

// Only reading may use the current context.
func TestNamed(t *testing.T) {
	for args, named := range map[string]bool{"": false, "--kubeconfig=x": false, "--context=c": true, "--server=https://s": true,
		"--as=eve --as-group=a --as-group=b --context=c --insecure-skip-tls-verify": true,
	} {
		f := NewFlags()
		flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
		f.Add(flags)
		if err := flags.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if err := f.Named(); named != (err == nil) || err != nil && !errors.Is(err, ErrNotNamed) {
			t.Errorf("%q: %v", args, err)
		}
		if got := strings.Join(f.Words(), " "); got != strings.ReplaceAll(args, "=", " ") {
			t.Errorf("%q: words %q", args, got)
		}
	}
}

// list asks for pods, as a watch does that lists again.
func list(t *testing.T, a *Access) error {
	t.Helper()
	client, err := kubernetes.NewForConfig(a.ReadOnly())
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Pods("shop").List(t.Context(), metav1.ListOptions{})
	return err
}

// A user who logs in again while holdfast watches need not start it again.
func TestExpiredCredentialsAreReadAgain(t *testing.T) {
	s, other, path := serve(t, "t1"), serve(t, "t2"), filepath.Join(t.TempDir(), "config")
	write(t, path, contextOf{"staging", s.URL, byToken("t1")})
	a, err := open(t, "--kubeconfig", path)
	if err != nil {
		t.Fatal(err)
	}
	a.pause = 0
	if err := list(t, a); err != nil {
		t.Fatal(err)
	}
	s.token.Store("t2")
	if err := list(t, a); err == nil {
		t.Error("an expired token was accepted")
	}
	// The current context is another cluster now, where the token is good: it must not be followed.
	write(t, path, contextOf{"prod", other.URL, byToken("t2")}, contextOf{"staging", s.URL, byToken("t1")})
	if err := list(t, a); err == nil {
		t.Error("the current context was followed")
	}
	// The same context leads to another server.
	write(t, path, contextOf{"staging", other.URL, byToken("t2")})
	if err := list(t, a); err == nil || other.asked.Load() != 0 {
		t.Errorf("another cluster was asked %d times, %v", other.asked.Load(), err)
	}
	write(t, path, contextOf{"staging", s.URL, byToken("t2")})
	if err := list(t, a); err != nil {
		t.Errorf("after logging in again: %v", err)
	}
}

// byPlugin is a user whose credentials come from a script.
func byPlugin(mode, script string) string {
	return fmt.Sprintf("{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: %s, command: /bin/sh, args: [-c, '%s']}}", mode, script)
}

func TestPlugins(t *testing.T) {
	const credentials = `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t1"}}`
	t.Setenv(pluginLimit, "1s")
	s, path := serve(t, "t1"), filepath.Join(t.TempDir(), "config")
	for name, test := range map[string]struct{ mode, script, want string }{
		"credentials":                  {"IfAvailable", "echo \"" + strings.ReplaceAll(credentials, `"`, `\"`) + "\"", ""},
		"waits for a person":           {"IfAvailable", "sleep 1000", "gave no credentials"},
		"starts one that waits":        {"Never", "sleep 1000 | cat", "gave no credentials"},
		"asks on standard input":       {"IfAvailable", "read line; test -n \"$line\" || exit 7", "gave no credentials"},
		"asks on the terminal":         {"IfAvailable", "read line < /dev/tty", "gave no credentials"},
		"insists on standard input":    {"Always", "echo", "standard input"},
		"is not installed, a hint too": {"Never", "no-such-program", "gave no credentials"},
	} {
		write(t, path, contextOf{"staging", s.URL, byPlugin(test.mode, test.script)})
		a, err := open(t, "--kubeconfig", path)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = a.Check(t.Context())
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", name, err, test.want)
		case time.Since(began) > 30*time.Second:
			t.Errorf("%s: it took %s", name, time.Since(began))
		}
	}
}
