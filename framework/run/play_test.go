package run

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

var checks = regexp.MustCompile(`\(\d+ checks`)

// notebook is a record in memory.
type notebook struct {
	began  time.Time
	events []history.Event
}

func (n *notebook) Now() history.Offset { return time.Since(n.began) }
func (n *notebook) Append(e history.Event) error {
	n.events = append(n.events, e)
	return nil
}

// story tells phases and fault marks as words with their moments.
func (n *notebook) story() (lines []string) {
	for _, e := range n.events {
		switch {
		case e.Phase != nil:
			lines = append(lines, fmt.Sprintf("%s %s", e.T, e.Phase.Name))
		case e.Fault != nil:
			line := fmt.Sprintf("%s %s %s", e.T, e.Fault.Stage, e.Fault.Name)
			if e.Fault.Error != "" {
				// How often somebody looked may differ by one: the limit falls together with a look.
				line += ": " + checks.ReplaceAllString(strings.SplitN(e.Fault.Error, "\n", 2)[0], "(some checks")
			}
			lines = append(lines, line)
		case e.Admission != nil:
			lines = append(lines, fmt.Sprintf("%s tried %s", e.T, e.Admission.Name))
		}
	}
	return lines
}

// asking is how a witness is asked whether a fault is still in force.
type asking = func(context.Context) (bool, string, error)

// staged is a fault that behaves as told.
type staged struct {
	name         string
	takes        time.Duration // how long until it is seen
	err          error
	panics       bool
	revertErr    error
	revertTake   time.Duration
	revertPanics bool
	tries        []string // manifests
	still        asking   // nil: nobody can be asked
}

// What a witness may say before the undo.
func lasts(context.Context) (bool, string, error) { return true, "still there", nil }
func over(context.Context) (bool, string, error)  { return false, "gone", nil }
func blinded(context.Context) (bool, string, error) {
	return true, "", errors.New("the API server is away")
}
func mad(context.Context) (bool, string, error) { panic("a bug in a witness") }

// blindFor is a witness that cannot look at first.
func blindFor(span time.Duration) asking {
	var since time.Time
	return func(ctx context.Context) (bool, string, error) {
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) < span {
			return blinded(ctx)
		}
		return lasts(ctx)
	}
}

func (s staged) String() string { return s.name }

func (s staged) Plan(_ context.Context, t fault.Target) (fault.Disruption, error) {
	active := false
	over := ""
	if s.still == nil {
		over = "it is over at once"
	}
	return &fault.Effect{
		Do: func(ctx context.Context) error {
			if err := poll.Pass(ctx, s.takes); err != nil {
				return err
			}
			if s.panics {
				panic("a bug in " + s.name)
			}
			active = s.err == nil
			return s.err
		},
		See: func(context.Context) (bool, fault.Observation, error) {
			return active, fault.Observation{Nodes: []string{"w1"}, Witness: "seen"}, nil
		},
		Ask: s.still,
		Then: func(context.Context) error {
			for _, name := range s.tries {
				t.Record.Note(history.Event{Admission: &history.Admission{Name: name}})
			}
			return nil
		},
		Undo: func(ctx context.Context) error {
			active = false
			if s.revertPanics {
				panic("a bug in the undo of " + s.name)
			}
			if s.revertTake > 0 {
				if err := poll.Pass(ctx, s.revertTake); err != nil {
					return err
				}
			}
			return s.revertErr
		},
		Restore: func(context.Context) (string, error) { return "healed", nil },
		Over:    over,
	}, nil
}

func TestPlay(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		faults []fault.Fault
		cancel time.Duration // when the caller gives up; 0: never
		story  []string
		err    string // what the error contains; empty: none
	}{
		"faults in order, undone in reverse": {
			faults: []fault.Fault{staged{name: "A", takes: time.Second}, staged{name: "B", takes: 2 * time.Second, revertTake: time.Second}},
			story: []string{
				"0s steady", "5s disturbed", "5s injecting A", "6s seen A", "6s injecting B", "8s seen B",
				"18s healing B", "19s healed B", "19s healing A", "19s healed A", "19s recovered",
			},
		},
		"answers to what is tried come after it was seen": {
			faults: []fault.Fault{staged{name: "A", takes: time.Second, tries: []string{"one", "two"}}},
			story: []string{
				"0s steady", "5s disturbed", "5s injecting A", "6s seen A", "6s tried one", "6s tried two",
				"16s healing A", "16s healed A", "16s recovered",
			},
		},
		"an error stops the faults and undoes them all": {
			faults: []fault.Fault{staged{name: "A"}, staged{name: "B", err: boom}, staged{name: "C"}},
			story: []string{
				"0s steady", "5s disturbed", "5s injecting A", "5s seen A", "5s injecting B", "5s seen B: B: boom",
				"5s healing B", "5s healed B", "5s healing A", "5s healed A",
			},
			err: "B: boom",
		},
		"an undo that fails does not keep the others from being done": {
			faults: []fault.Fault{staged{name: "A"}, staged{name: "B", revertErr: boom}},
			story: []string{
				"0s steady", "5s disturbed", "5s injecting A", "5s seen A", "5s injecting B", "5s seen B",
				"15s healing B", "15s healed B: undo B: boom", "15s healing A", "15s healed A",
			},
			err: "undo B: boom",
		},
		"a panic undoes what was begun": {
			faults: []fault.Fault{staged{name: "A"}, staged{name: "B", panics: true}},
			story: []string{
				"0s steady", "5s disturbed", "5s injecting A", "5s seen A", "5s injecting B",
				"5s healing B", "5s healed B", "5s healing A", "5s healed A",
			},
			err: "panic: a bug in B",
		},
		"each witness is asked just before the undo": {
			faults: []fault.Fault{staged{name: "A", still: lasts}, staged{name: "B", still: lasts, revertTake: time.Second}, staged{name: "C"}},
			story: []string{
				"0s steady", "5s disturbed", "5s injecting A", "5s seen A", "5s injecting B", "5s seen B", "5s injecting C", "5s seen C",
				"15s healing C", "15s healed C", "15s lasting B", "15s healing B", "16s healed B", "16s lasting A", "16s healing A",
				"16s healed A", "16s recovered",
			},
		},
		"what somebody else has undone is undone all the same": {
			faults: []fault.Fault{staged{name: "A", still: over}},
			story: []string{
				"0s steady", "5s disturbed", "5s injecting A", "5s seen A",
				"15s lasting A: it was over before its undo began: gone", "15s healing A", "15s healed A", "15s recovered",
			},
		},
		"a witness that cannot look for a moment": {
			faults: []fault.Fault{staged{name: "A", still: blindFor(10 * time.Second)}},
			story: []string{
				"0s steady", "5s disturbed", "5s injecting A", "5s seen A", "25s lasting A", "25s healing A", "25s healed A", "25s recovered",
			},
		},
		"a witness that cannot look": {
			faults: []fault.Fault{staged{name: "A", still: blinded}},
			story: []string{
				"0s steady", "5s disturbed", "5s injecting A", "5s seen A",
				"45s lasting A: waited 30s for a look at what is left of A: last seen nothing (some checks, last error: the API server is away): " +
					"context deadline exceeded", "45s healing A", "45s healed A", "45s recovered",
			},
		},
		"giving up asks nobody": {
			faults: []fault.Fault{staged{name: "A", still: over, revertTake: time.Minute}},
			cancel: 7 * time.Second,
			story:  []string{"0s steady", "5s disturbed", "5s injecting A", "5s seen A", "7s healing A", "1m7s healed A"},
			err:    "context canceled",
		},
		"giving up while a witness cannot look": {
			faults: []fault.Fault{staged{name: "A", still: blinded}},
			cancel: 20 * time.Second,
			story:  []string{"0s steady", "5s disturbed", "5s injecting A", "5s seen A", "20s healing A", "20s healed A", "20s recovered"},
			err:    "context canceled",
		},
		"giving up in the middle of an injection": {
			faults: []fault.Fault{staged{name: "A", takes: time.Hour}},
			cancel: 7 * time.Second,
			story: []string{
				"0s steady", "5s disturbed", "5s injecting A", "7s seen A: A: context canceled", "7s healing A", "7s healed A",
			},
			err: "context canceled",
		},
		"giving up before anything was done": {
			faults: []fault.Fault{staged{name: "A"}},
			cancel: time.Second,
			story:  []string{"0s steady"},
			err:    "steady phase: context canceled",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.cancel > 0 {
					time.AfterFunc(test.cancel, cancel)
				}
				record := &notebook{began: time.Now()}
				p := &play{
					spec:   scenario.Spec{Steady: 5 * time.Second, Faults: test.faults, Hold: 10 * time.Second}.WithDefaults(),
					record: record, tell: func(history.PhaseName, string) {},
				}
				err := p.run(ctx)
				if diff := cmp.Diff(test.story, record.story()); diff != "" {
					t.Errorf("story (-want +got):\n%s", diff)
				}
				switch {
				case test.err == "" && err != nil:
					t.Errorf("got %v, want no error", err)
				case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
					t.Errorf("got %v, want it to contain %q", err, test.err)
				}
			})
		})
	}
}

func TestAnUndoThatHangsIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		record := &notebook{began: time.Now()}
		p := &play{
			spec:   scenario.Spec{Steady: 5 * time.Second, Faults: []fault.Fault{staged{name: "A", revertTake: 24 * time.Hour}}}.WithDefaults(),
			record: record, tell: func(history.PhaseName, string) {},
		}
		err := p.run(t.Context())
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want DeadlineExceeded", err)
		}
		if took := time.Since(record.began); took != 5*time.Second+revertLimit {
			t.Errorf("took %s", took)
		}
	})
}

// Whoever wants to look at what broke finds it as it was; who interrupts does not.
func TestBrokenIsLeftOnlyIfItIsWanted(t *testing.T) {
	for name, test := range map[string]struct {
		leave, interrupt bool
		want             string
	}{
		"it is undone":               {want: "reverting: B, reverting: A"},
		"it is left":                 {leave: true, want: "left as it is, to be looked at"},
		"it is undone, after Ctrl-C": {leave: true, interrupt: true, want: "reverting: B, reverting: A"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var told []string
				p := &play{
					spec:   scenario.Spec{Faults: []fault.Fault{staged{name: "A"}, staged{name: "B", err: errors.New("a step failed")}}}.WithDefaults(),
					record: &notebook{began: time.Now()}, leave: test.leave,
					tell: func(_ history.PhaseName, what string) {
						if what == "B" && test.interrupt {
							cancel()
						}
						if strings.HasPrefix(what, "reverting") || strings.HasPrefix(what, "left") {
							told = append(told, what)
						}
					},
				}
				if err := p.run(ctx); err == nil || !test.interrupt && !strings.Contains(err.Error(), "a step failed") {
					t.Errorf("got %v", err)
				}
				if got := strings.Join(told, ", "); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		})
	}
}

// A brief fault is undone before the next one begins; steps are numbered through, and a failed one ends with its error.
func TestBriefFaultsAndSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		record := &notebook{began: time.Now()}
		p := &play{
			spec: scenario.Spec{Faults: []fault.Fault{
				stepped{what: []string{"one", "two"}}, fault.RevertImmediately{Fault: staged{name: "A", takes: time.Second, still: lasts}}, stepped{what: []string{"bad"}},
			}}.WithDefaults(),
			record: record, tell: func(history.PhaseName, string) {},
		}
		err := p.run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "n1: bad: it is") {
			t.Errorf("got %v", err)
		}
		var got []string
		for _, e := range record.events {
			switch {
			case e.Fault != nil:
				got = append(got, fmt.Sprintf("%s %s", e.Fault.Name, e.Fault.Stage))
			case e.Step != nil:
				got = append(got, strings.TrimSpace(fmt.Sprintf("%d %s %s %s", e.Step.ID, e.Step.What, e.Step.Stage, e.Step.Error)))
			}
		}
		want := []string{
			"steps injecting", "0 one begin", "0 one end", "1 two begin", "1 two end", "steps seen",
			"A injecting", "A seen", "A lasting", "A healing", "A healed",
			"steps injecting", "2 bad begin", "2 bad end it is", "steps seen", "steps healing", "steps healing",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// stepped is a fault of steps, of which the one called bad fails.
type stepped struct{ what []string }

func (stepped) String() string { return "steps" }

func (s stepped) Plan(_ context.Context, t fault.Target) (fault.Disruption, error) {
	done := false
	return &fault.Effect{
		Do: func(context.Context) error {
			for _, what := range s.what {
				err := t.Record.Step(history.Step{What: what, Node: "n1"}, func() error {
					if what == "bad" {
						return errors.New("it is")
					}
					return nil
				})
				if err != nil {
					return err
				}
			}
			done = true
			return nil
		},
		See:     func(context.Context) (bool, fault.Observation, error) { return done, fault.Observation{}, nil },
		Restore: func(context.Context) (string, error) { return "", nil },
		Over:    "steps are over when they were done",
	}, nil
}

// A fault does not know its number: who writes down how the API server was reached adds it.
func TestReachedIsNumbered(t *testing.T) {
	book := &notebook{began: time.Now()}
	(&marker{play: &play{record: book}, id: 2}).Note(history.Event{Reach: &history.Reach{Way: history.Direct, Host: "cp2", Asked: 7}})
	want := history.Reach{Fault: 2, Way: history.Direct, Host: "cp2", Asked: 7}
	if len(book.events) != 1 || book.events[0].Reach == nil || *book.events[0].Reach != want {
		t.Errorf("got %+v, want %+v", book.events, want)
	}
}
