package history

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recordIn is the environment variable with the folder in which a child process of this test records until it is killed.
const recordIn = "HOLDFAST_TEST_RECORD_IN"

// TestSIGKILL kills a process while it records. Everything that the process has reported as recorded must be in the record.
func TestSIGKILL(t *testing.T) {
	if dir := os.Getenv(recordIn); dir != "" {
		recordForEver(t, dir)
	}
	dir := filepath.Join(t.TempDir(), "record")
	process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSIGKILL$")
	process.Env = append(os.Environ(), recordIn+"="+dir)
	stdout, err := process.StdoutPipe()
	must(t, err)
	must(t, process.Start())
	said := 0
	for lines := bufio.NewScanner(stdout); said < 100 && lines.Scan(); said++ {
		if want := fmt.Sprint(said); lines.Text() != want {
			t.Fatalf("the process says %q, want %s", lines.Text(), want)
		}
	}
	must(t, process.Process.Kill())
	if err := process.Wait(); err == nil || said != 100 {
		t.Fatalf("the process ended by itself after %d steps: %v", said, err)
	}

	run, err := Open(dir)
	must(t, err)
	if !strings.Contains(run.Incomplete, "the harness was killed") {
		t.Errorf("incomplete %q", run.Incomplete)
	}
	troubles := len(run.Troubles())
	requests, err := collect(run.Requests)
	// A step is a Trouble and one second of requests. The requests of the last Reorder wait in memory.
	steps := len(requests)/10 + int((Reorder+time.Second-1)/time.Second)
	if err != nil || troubles < said || steps < said {
		t.Errorf("of %d steps there are %d troubles and the requests of %d, error %v", said, troubles, steps, err)
	}
	for i, r := range requests {
		if r.Seq != uint64(i) {
			t.Fatalf("request %d comes after %d others", r.Seq, i)
		}
	}
}

// recordForEver records steps and prints the number of each.
func recordForEver(t *testing.T, dir string) {
	w, err := Create(dir, Header{})
	must(t, err)
	requests := requestWriter(t, w, "worker-0")
	for step := 0; ; step++ {
		var rows []Request
		for i := range 10 {
			done := time.Duration(step)*time.Second + time.Duration(i)*100*time.Millisecond
			rows = append(rows, Request{Lane: LaneFresh, Seq: uint64(len(rows) + 10*step), Done: done, Outcome: OK})
		}
		must(t, w.Append(Event{T: w.Now(), Trouble: &Trouble{What: "step"}}))
		must(t, requests.Append(rows...))
		if step%7 == 0 {
			must(t, requests.Roll())
		}
		fmt.Println(step)
	}
}
