package cli

import (
	"bytes"
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/fault/leasetest"
)

// The number of moments that the stress tests try, and their seed.
var (
	moments    = flag.Int("moments", 50, "so many runs are interrupted, each at a moment of its own")
	momentSeed = flag.Uint64("moment-seed", 0, "of the moments; 0: a new one")
)

// moments are the random moments of interruption. The seed is printed.
func momentSource(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *momentSeed
	if seed == 0 {
		seed = rand.Uint64()>>11 | 1
	}
	t.Logf("again with -moment-seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// blow is a signal to the process or to its group, with its delay after the signal before.
type blow struct {
	after time.Duration
	by    syscall.Signal
	group bool
}

// blows are one or two signals: INT, TERM or KILL, the second within milliseconds or after more than an echo's time.
func blows(r *rand.Rand, within time.Duration) []blow {
	all := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL}
	list := []blow{{time.Duration(r.Int64N(int64(within))), all[r.IntN(3)], r.IntN(2) == 0}}
	switch r.IntN(3) {
	case 1:
		list = append(list, blow{time.Duration(r.IntN(30)) * time.Millisecond, all[r.IntN(3)], r.IntN(2) == 0})
	case 2:
		list = append(list, blow{1100 * time.Millisecond, all[r.IntN(2)], true})
	}
	return list
}

// struck is an interrupted process and its output.
type struck struct {
	said   string
	killed bool // by SIGKILL, so it could not print anything
}

// strike starts a command in its own process group and sends it the signals, until it ends.
func strike(ctx context.Context, t *testing.T, cmd *exec.Cmd, list []blow) struck {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // the engine's commands outlive a killed harness, and keep its output open
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = cmd.Wait() // the exit status is checked below
	}()
	result := struck{}
	for _, b := range list {
		timer := time.NewTimer(b.after)
		select {
		case <-over:
		case <-timer.C:
			pid := cmd.Process.Pid
			if b.group {
				pid = -pid
			}
			_ = syscall.Kill(pid, b.by) // it may have ended just now
		}
		timer.Stop()
	}
	err := poll.Until(ctx, "the process to end", 20*time.Minute, func(context.Context) (bool, string, error) {
		select {
		case <-over:
			return true, "", nil
		default:
			return false, "", nil
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	status, known := cmd.ProcessState.Sys().(syscall.WaitStatus)
	result.said, result.killed = out.String(), known && status.Signaled()
	return result
}

// Runs start on a shared cluster and on their own clusters, and are interrupted at random moments, while another run may hold the shared
// cluster. The output lists the clusters that are left. After a SIGKILL they are recognized as a dead run's. The other run keeps its
// Lease. The clusters are files, without faults: for those see TestInterruptsOnRealClusters.
func TestInterrupts(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	r, folder := momentSource(t), t.TempDir()
	server, api := leasetest.New()
	defer api.Close()
	command := func(args string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), argsVariable+"="+args+" --provider hamlet --artifacts "+filepath.Join(folder, "artifacts"),
			apiVariable+"="+api.URL, folderVariable+"="+folder, "HOLDFAST_CACHE="+filepath.Join(folder, "cache"))
		return cmd
	}
	for n := range *moments {
		list := blows(r, time.Second)
		if n%2 == 0 { // its own cluster
			got := strike(t.Context(), t, command("run chaos/one"), list)
			for _, name := range clustersIn(t, folder) {
				if !got.killed && !strings.Contains(got.said, "cluster "+name+" is left: holdfast down "+name) {
					t.Errorf("moment %d, %v: cluster %s is left, and not named in\n%s", n, list, name, got.said)
				}
				if err := os.Remove(filepath.Join(folder, name)); err != nil {
					t.Fatal(err)
				}
			}
			continue
		}
		bystander := command("run chaos/one --cluster demo")
		beside := make(chan struck, 1)
		go func() { beside <- strike(t.Context(), t, bystander, nil) }()
		got := strike(t.Context(), t, command("run chaos/two --cluster demo"), list)
		other := <-beside
		if other.killed || !strings.Contains(other.said, "UNKNOWN in ") && !strings.Contains(other.said, "heal demo") && !strings.Contains(other.said, "cluster demo is in use since ") {
			t.Errorf("moment %d, %v: the run beside it was harmed:\n%s\nby\n%s", n, list, other.said, got.said)
		}
		if server.Held("demo") && !got.killed && !strings.Contains(got.said+other.said, "heal demo") {
			t.Errorf("moment %d, %v: the cluster is held by nobody who lives, and that is not said in\n%s", n, list, got.said)
		}
		if server.Held("demo") {
			next, code := processWith(t, command("run chaos/one --cluster demo"))
			if code != exit.Failed || !strings.Contains(next, "run 'holdfast heal demo' first") {
				t.Errorf("moment %d, %v: the next run ends with %d and does not know what to do:\n%s", n, list, code, next)
			}
		}
		server.Forget("demo")
	}
}

// clustersIn are the clusters that exist as files.
func clustersIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range all {
		if !entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names
}

// processWith runs a command and returns its output.
func processWith(t *testing.T, cmd *exec.Cmd) (out string, code int) {
	t.Helper()
	text, _ := cmd.CombinedOutput() // the exit code is returned
	return string(text), cmd.ProcessState.ExitCode()
}
