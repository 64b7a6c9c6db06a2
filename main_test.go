package main

import (
	"bufio"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// mainVariable makes the executable of this test the holdfast command.
const mainVariable = "HOLDFAST_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		main()
	}
	os.Exit(m.Run())
}

// holdfast is the command in a process of its own.
func holdfast(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), mainVariable+"=1")
	return cmd
}

// rootsVariable makes the executable of this test one on a machine without certificate authorities.
const rootsVariable = "HOLDFAST_TEST_ROOTS"

// The image of a load worker has the executable and nothing else. Applications' certificates may be of public authorities all the same.
func TestPublicAuthoritiesAreTrustedInAnEmptyImage(t *testing.T) {
	if os.Getenv(rootsVariable) != "" {
		if all, err := x509.SystemCertPool(); err != nil || all.Equal(x509.NewCertPool()) {
			t.Errorf("nobody is trusted: %v", err)
		}
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), rootsVariable+"=1", "SSL_CERT_FILE=/nowhere", "SSL_CERT_DIR=/nowhere")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The codes of the process, in the order of the README's table.
func TestExitCodes(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"held":           {[]string{"judge", record(t, invariant.BudgetHonoured{}, "")}, 0, ""},
		"violated":       {[]string{"judge", record(t, invariant.BudgetHonoured{AtLeast: 6}, "")}, 1, "holdfast: violated: "},
		"harness failed": {[]string{"judge", t.TempDir()}, 3, "there is no record in it"},
		"usage":          {[]string{"judge"}, 4, "holdfast: "},
		"unknown":        {[]string{"judge", record(t, invariant.BudgetHonoured{}, "killed")}, 5, "holdfast: unknown: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := holdfast(t, test.args...).CombinedOutput()
			if code := codeOf(t, err); code != test.code || !strings.Contains(string(out), test.says) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, test.code, test.says, out)
			}
		})
	}
}

// A process that is told to end in the middle of its work says by what, and what that does to Go's runtime is no verdict.
func TestExitCodesOfSignals(t *testing.T) {
	for signal, want := range map[syscall.Signal]struct {
		code int
		says string
	}{
		syscall.SIGINT:  {130, ": interrupted by SIGINT"},
		syscall.SIGTERM: {143, ": interrupted by SIGTERM"},
		syscall.SIGQUIT: {2, "SIGQUIT: quit"}, // as a panic of any goroutine does, or memory that is not to be had
	} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			silent, asked := silentServer(t)
			cmd := holdfast(t, "audit", "--kubeconfig", kubeconfig(t, silent))
			var said strings.Builder
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-asked
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if code := codeOf(t, cmd.Wait()); code != want.code || !strings.Contains(said.String(), want.says) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, want.code, want.says, said.String())
			}
		})
	}
}

// An audit that serves metrics has done what it was asked for when it is told to end.
func TestAServingAuditEndsBySIGTERM(t *testing.T) {
	silent, asked := silentServer(t)
	cmd := holdfast(t, "audit", "--listen", "127.0.0.1:0", "--kubeconfig", kubeconfig(t, silent))
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := codeOf(t, cmd.Wait()); code != 0 || !strings.Contains(said.String(), "audit: metrics at http://127.0.0.1:") {
		t.Errorf("exit code %d\n%s", code, said.String())
	}
}

// record is a folder with the record of a scenario that promises this.
func record(t *testing.T, promised invariant.Invariant, incomplete string) string {
	t.Helper()
	promise, err := invariant.Encode(promised)
	if err != nil {
		t.Fatal(err)
	}
	b := historytest.Healthy().DropRequests(func(history.Request) bool { return true }).Header(func(h *history.Header) {
		h.Promises = []history.Promise{promise}
	})
	if incomplete != "" {
		b = b.Incomplete(incomplete)
	}
	dir := t.TempDir()
	if err := b.Write(filepath.Join(dir, "chaos", "a")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func codeOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// silentServer takes connections and never answers. Asked is closed when the first request has begun.
func silentServer(t *testing.T) (address string, asked <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	begun := make(chan struct{})
	go func() {
		defer close(begun)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, _ = bufio.NewReader(conn).ReadString('\n')
	}()
	return listener.Addr().String(), begun
}

func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "kubeconfig")
	text := `apiVersion: v1
kind: Config
current-context: silent
contexts: [{name: silent, context: {cluster: silent, user: silent}}]
clusters: [{name: silent, cluster: {server: "http://` + server + `"}}]
users: [{name: silent, user: {}}]
`
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// kubectl starts a plugin by the name of its file. Help and errors then name the command that the user typed.
func TestAsAPluginOfKubectl(t *testing.T) {
	for name, called := range map[string]string{"kubectl-holdfast": "kubectl holdfast", "holdfast": "holdfast"} {
		link := filepath.Join(t.TempDir(), name)
		if err := os.Symlink(os.Args[0], link); err != nil {
			t.Fatal(err)
		}
		for args, wants := range map[string][]string{
			"--help":          {"\n  " + called + " [command]\n", "\n  " + called + " doctor ", `"` + called + ` [command] --help"`},
			"doctor --help":   {"\n  " + called + " doctor [flags]\n", "\n  " + called + " doctor --nodes 8 --kubernetes v1.36.3 --json\n"},
			"doctor --nodess": {"see '" + called + " doctor --help'"},
			"doctr":           {`unknown command "doctr" for "` + called + `"`},
		} {
			cmd := exec.CommandContext(t.Context(), link, strings.Fields(args)...)
			cmd.Env = append(os.Environ(), mainVariable+"=1")
			out, _ := cmd.CombinedOutput() // what it says tells whether it failed
			for _, want := range wants {
				if !strings.Contains(string(out), want) {
					t.Errorf("%s %s: does not say %q:\n%s", name, args, want, out)
				}
			}
			if called == "holdfast" && strings.Contains(string(out), "kubectl holdfast") {
				t.Errorf("%s %s names kubectl:\n%s", name, args, out)
			}
		}
	}
}
