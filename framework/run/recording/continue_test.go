package recording

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// killed records for twice some time. What the recorder has on the disk after half of it is what is left of a recorder that was killed then: the folder of the
// returned options has it.
func (s *staging) killed(t *testing.T, o Options, half time.Duration) (Options, runfolder.File) {
	t.Helper()
	left := o
	left.Run.Dir = filepath.Join(t.TempDir(), o.Run.ID)
	_, err := Record(t.Context(), o, func(ctx context.Context, session *Session) error {
		time.Sleep(half)
		if err := os.CopyFS(left.Run.Dir, os.DirFS(o.Run.Dir)); err != nil {
			return err
		}
		time.Sleep(half)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	file, err := runfolder.ReadFile(left.Run.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if run, err := history.Open(filepath.Join(left.Run.Dir, "record", "shop")); err != nil || run.Incomplete == "" {
		t.Fatalf("what is left looks complete: %v", err)
	}
	return left, file
}

// goOn continues a recording for ten seconds.
func goOn(t *testing.T, o Options, file runfolder.File) (runfolder.File, error) {
	t.Helper()
	return goOnFor(t, o, file, 10*time.Second)
}

func goOnFor(t *testing.T, o Options, file runfolder.File, span time.Duration) (runfolder.File, error) {
	t.Helper()
	survey, err := Look(t.Context(), o.Access, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Continue(t.Context(), o, survey, file, Wait(span))
}

// A recording goes on after its recorder was killed. What happened meanwhile is in a gap, and what ended meanwhile ends in the record.
func TestARecordingGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStaging(t)
		o, _ := s.options(t)
		o, file := s.killed(t, o, 30*time.Second)
		err := s.change(func(c kubernetes.Interface) error {
			return c.AppsV1().Deployments("shop").Delete(t.Context(), "web", metav1.DeleteOptions{})
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		o.Namespaces = nil // what was asked for is in the record
		if file, err = goOn(t, o, file); err != nil {
			t.Fatal(err)
		}
		run := recorded(t, o)
		gaps, resumed, steady := 0, 0, 0
		for _, e := range run.Events {
			switch {
			case e.Gap != nil && e.Gap.What == "all objects" && !e.Gap.Bridged && e.T-e.Gap.Since > 5*time.Minute:
				gaps++
			case e.Gap != nil:
				t.Errorf("gap %+v", e.Gap)
			case e.Resumed != nil:
				resumed++
			case e.Phase != nil && e.Phase.Name == history.Steady:
				steady++
			case e.Trouble != nil:
				t.Errorf("trouble: %s", e.Trouble.What)
			}
		}
		if gaps != 1 || resumed != 1 || steady != 1 {
			t.Errorf("%d gaps, resumed %d times, %d times steady", gaps, resumed, steady)
		}
		from, to := run.UnderLoad()
		if state := run.StateAt(to); to-from < 5*time.Minute || len(state.Workloads) != 0 || len(state.Nodes) != 5 {
			t.Errorf("recorded from %s to %s; in the end %d workloads, %d nodes", from, to, len(state.Workloads), len(state.Nodes))
		}
		if len(file.Resumed) != 1 || file.Ended.IsZero() || file.Outcome != "unknown" || file.Scenarios[0].Took < 5*time.Minute {
			t.Errorf("run.json %+v", file)
		}
		if wrote := s.onlyAsked(); len(wrote) > 0 {
			t.Errorf("the recorder wrote: %v", wrote)
		}
	})
}

// The load begins again with a recorder that goes on, and the requests of the first one stay what they were.
func TestTheLoadGoesOn(t *testing.T) {
	s := newStaging(t)
	url := s.shop(t, func(http.ResponseWriter, *http.Request) {})
	o, _ := s.options(t)
	o.Probes, o.Before, o.Settled = []apptest.Probe{apptest.OfURL(url, 0)}, time.Second, time.Second
	o, file := s.killed(t, o, 2*time.Second)
	file, err := goOnFor(t, o, file, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]int{}
	for r, err := range recorded(t, o).Requests() {
		if err != nil {
			t.Fatal(err)
		}
		sent[r.Worker]++
	}
	if len(sent) != 2 || sent["outside"] == 0 || sent["outside-2"] == 0 {
		t.Errorf("requests by worker: %v", sent)
	}
	for _, v := range file.Scenarios[0].Verdicts {
		if strings.Contains(string(v), "planned") || strings.Contains(string(v), "told twice") {
			t.Errorf("the load does not add up: %s", v)
		}
	}
}

// A recorder may be killed again, and at any moment: before the first phase as well as in the last one.
func TestARecordingGoesOnAgain(t *testing.T) {
	for _, phases := range []int{0, 1, 2} {
		synctest.Test(t, func(t *testing.T) {
			s := newStaging(t)
			o, _ := s.options(t)
			o, file := s.killed(t, o, 30*time.Second)
			dir := filepath.Join(o.Run.Dir, "record", "shop")
			for range 2 {
				cut(t, filepath.Join(dir, history.EventsFile), phases)
				time.Sleep(time.Minute)
				if _, err := goOn(t, o, file); err != nil {
					t.Fatal(err)
				}
				run := recorded(t, o)
				var names []string
				for _, e := range run.Events {
					if e.Phase != nil {
						names = append(names, string(e.Phase.Name))
					}
				}
				if got := strings.Join(names, " "); got != "steady drained" && phases < 2 || got != "steady drained drained" && phases == 2 {
					t.Errorf("cut after %d phases: %s", phases, got)
				}
				if phases == 2 {
					return // the second time there would be three
				}
			}
		})
	}
}

// cut leaves the events up to a phase, as a recorder leaves them that was killed then, in the middle of a line.
func cut(t *testing.T, name string, phases int) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if phases == 2 && strings.Count(string(text), `"phase":{`) < 2 { // it was killed before
		text = append(text, `{"t":65000000000,"phase":{"name":"drained"}}`+"\n"...)
	}
	kept := ""
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, `"phase":{`) {
			if phases == 0 {
				break
			}
			phases--
			kept += line
			if phases == 0 {
				break
			}
			continue
		}
		kept += line
	}
	if err := os.WriteFile(name, []byte(kept+`{"t":7`), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What cannot go on is refused, and stays as it is.
func TestWhatDoesNotGoOn(t *testing.T) {
	for want, test := range map[string]struct {
		before  func(*staging)
		options func(*Options)
		after   func(t *testing.T, s *staging, o *Options)
	}{
		"recording of a command": {options: func(o *Options) { o.Command = []string{"./upgrade.sh"} }},
		"it does not say which cluster it is of": {
			before: func(s *staging) { s.Refuse = refusing([]string{metav1.NamespaceSystem}) },
			after:  func(_ *testing.T, s *staging, _ *Options) { s.Refuse = nil },
		},
		"whether this is its cluster is unknown": {
			after: func(_ *testing.T, s *staging, _ *Options) { s.Refuse = refusing([]string{metav1.NamespaceSystem}) },
		},
		"that of another cluster": {after: func(t *testing.T, _ *staging, o *Options) {
			other := newStaging(t)
			other.Put("/api/v1/namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "other"}})
			o.Access = existing.Of("other", "shop", other.Config())
		}},
		"another process is running it": {after: func(t *testing.T, _ *staging, o *Options) {
			lock, err := runfolder.Lock(o.Run.Dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = lock.Close() })
		}},
		"is damaged before its last line": {after: func(t *testing.T, _ *staging, o *Options) {
			name := filepath.Join(o.Run.Dir, "record", "shop", history.EventsFile)
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(strings.Replace(string(text), `"node":`, `"nude":"`, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStaging(t)
			if test.before != nil {
				test.before(s)
			}
			o, _ := s.options(t)
			if test.options != nil {
				test.options(&o)
			}
			o, file := s.killed(t, o, 30*time.Second)
			if test.after != nil {
				test.after(t, s, &o)
			}
			name := filepath.Join(o.Run.Dir, "record", "shop", history.EventsFile)
			before, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := goOn(t, o, file); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			if after, err := os.ReadFile(name); err != nil || string(after) != string(before) {
				t.Errorf("%s: the record was changed, %v", want, err)
			}
		})
	}
}
