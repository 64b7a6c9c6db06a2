package progress

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

var quiet = scenario.Spec{Name: "chaos/quiet", Claim: "zones stay even", About: 45 * time.Second}

func TestProgressInPlainLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := New(&out, 2)
		p.Say("pull nginx:1.22")
		s := p.Begin(quiet)
		p.Say("Starting control-plane")
		time.Sleep(29 * time.Second)
		s.Loading(func() (sent, failed uint64) { return 1200, 3 })
		s.Now(history.Disturbed, "drain 1 worker")
		time.Sleep(70 * time.Second)
		s.Loading(nil)
		s.End("VIOLATED", "3 of 1200 requests failed", 41*time.Second, "remedy: add a preStop sleep")
		s = p.Begin(quiet)
		s.End("FAILED", "no engine", time.Second)
		want := `  pull nginx:1.22
[1/2] chaos/quiet: zones stay even (about 45s)
  provision 0s: Starting control-plane
  disturbed 29s: drain 1 worker; 1200 requests, 3 failed
  disturbed 1m0s: drain 1 worker; 1200 requests, 3 failed; for 31s now, and the scenario takes about 45s
  disturbed 1m30s: drain 1 worker; 1200 requests, 3 failed; for 1m1s now, and the scenario takes about 45s
  VIOLATED in 41s: 3 of 1200 requests failed
  remedy: add a preStop sleep
[2/2] chaos/quiet: zones stay even (about 45s)
  FAILED in 1s: no engine
`
		if out.String() != want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), want)
		}
	})
}

// On a terminal the line moves once a second until the scenario has ended, and no longer.
func TestProgressOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := New(&out, 1)
		p.moves = true
		s := p.Begin(quiet)
		s.Now(history.Steady, "load flows")
		time.Sleep(2500 * time.Millisecond)
		s.End("HELD", "all is well", 3*time.Second)
		if !bytes.Contains(out.Bytes(), []byte("steady 2s: load flows")) {
			t.Errorf("nothing moved: %q", out.String())
		}
		if !bytes.HasSuffix(out.Bytes(), []byte("  HELD in 3s: all is well\n")) {
			t.Errorf("the last line is not the verdict: %q", out.String())
		}
	})
}

// What is awaited is said while it is awaited. A wait that has ended is not shown, and its end does not hide another wait.
func TestProgressSaysWhatIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := New(&out, 1)
		s := p.Begin(quiet)
		s.Now(history.Deploy, "")
		s.Awaits("deployment web to settle", "3 of 3 pods available; Service web should have 3 endpoints (it has 4)", false)
		time.Sleep(31 * time.Second)
		s.Awaits("node w3 to be Ready", "", false)
		s.Awaits("deployment web to settle", "", true)
		time.Sleep(30 * time.Second)
		s.Awaits("node w3 to be Ready", "", true)
		time.Sleep(30 * time.Second)
		s.End("HELD", "all is well", 2*time.Minute)
		want := `[1/1] chaos/quiet: zones stay even (about 45s)
  deploy 0s
  deploy 30s; waiting for deployment web to settle: 3 of 3 pods available; Service web should have 3 endpoints (it has 4); for 30s now, and the scenario takes about 45s
  deploy 1m0s; waiting for node w3 to be Ready; for 1m0s now, and the scenario takes about 45s
  deploy 1m30s; for 1m30s now, and the scenario takes about 45s
  HELD in 2m0s: all is well
`
		if out.String() != want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), want)
		}
	})
}

// On a terminal, what is awaited for long has lines of its own, once in half a minute of the step, and none once it is over.
func TestProgressSaysWhatIsAwaitedOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := New(&out, 1)
		p.moves = true
		s := p.Begin(quiet)
		time.Sleep(20500 * time.Millisecond)
		s.Now(history.Deploy, "")
		s.Awaits("deployment web to settle", "2 of 3 pods available", false)
		time.Sleep(70 * time.Second)
		s.Awaits("deployment web to settle", "", true)
		time.Sleep(70 * time.Second)
		s.End("HELD", "all is well", 3*time.Minute)
		var lines []string
		for line := range bytes.Lines(out.Bytes()) {
			if i := bytes.LastIndex(line, []byte("\r")); bytes.Contains(line, []byte("waiting for")) {
				lines = append(lines, string(line[i+1:]))
			}
		}
		want := []string{
			"  deploy 51s; waiting for deployment web to settle: 2 of 3 pods available\n",
			"  deploy 1m21s; waiting for deployment web to settle: 2 of 3 pods available\n",
		}
		if !slices.Equal(lines, want) {
			t.Errorf("got %q, want %q", lines, want)
		}
	})
}
