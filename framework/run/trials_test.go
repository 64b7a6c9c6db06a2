package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// perTrial is a fault that behaves differently in each workload.
type perTrial map[string]staged

func (perTrial) String() string { return "A" }

func (p perTrial) Plan(ctx context.Context, t fault.Target) (fault.Disruption, error) {
	if (t.Kind == workloads.StatefulSet) != (t.Workload == "backend-2") {
		return nil, fmt.Errorf("%s: a %s", t.Workload, t.Kind)
	}
	return p[t.Workload].Plan(ctx, t)
}

// inject plans and applies a fault.
func inject(t *testing.T, f fault.Fault, heard *story) (*fault.Injection, error) {
	t.Helper()
	in, err := fault.Plan(t.Context(), f, fault.Target{Rand: rand.New(rand.NewPCG(1, 2)), Record: heard})
	if err != nil {
		return in, err
	}
	return in, in.Apply(t.Context(), func(o fault.Observation) { heard.add("seen", o.Witness) })
}

func TestAFaultInEachTrial(t *testing.T) {
	for name, test := range map[string]struct {
		second staged
		story  []string
		err    string // what the error contains; empty: none
	}{
		"seen when it was seen in all": {
			staged{takes: 3 * time.Second, revertTake: 2 * time.Second},
			[]string{"3s seen: in all 2 trials; in the first: seen", "5s healed: in all 2 trials; in the first: healed"}, "",
		},
		"what is tried in one, at once": {
			staged{takes: 3 * time.Second, tries: []string{"one", "two"}},
			[]string{
				"3s tried: one", "3s tried: two", "3s seen: in all 2 trials; in the first: seen",
				"3s healed: in all 2 trials; in the first: healed",
			}, "",
		},
		"not seen when one was not": {
			staged{err: errors.New("boom")}, []string{"1s healed: in all 2 trials; in the first: healed"}, "backend-2: boom",
		},
		"a panic in one": {
			staged{panics: true}, []string{"1s healed: in all 2 trials; in the first: healed"}, "backend-2: panic: a bug in ",
		},
		"not healed when one was not": {
			staged{revertErr: errors.New("boom")}, []string{"1s seen: in all 2 trials; in the first: seen"}, "backend-2: boom",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var heard story
				heard.since = began
				each := inEach{
					fault:    perTrial{"backend-1": {takes: time.Second}, "backend-2": test.second},
					backends: []workloads.Backend{{Name: "backend-1"}, {Name: "backend-2", StatefulSet: true}},
				}
				in, err := inject(t, each, &heard)
				err = errors.Join(err, in.Revert(t.Context(), func(witness string) { heard.add("healed", witness) }))
				errtest.Check(t, err, test.err)
				if diff := cmp.Diff(test.story, heard.lines); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A fault lasts while it does in every trial.
func TestAFaultLastsWhileItDoesInEachTrial(t *testing.T) {
	for name, test := range map[string]struct {
		second asking
		holds  bool
		saw    string
		err    string
	}{
		"in both":        {lasts, true, "in all 2 trials; in the first: still there", ""},
		"in one of two":  {over, false, "backend-2: gone", ""},
		"nobody can ask": {blinded, false, "", "backend-2: the API server is away"},
		"a panic":        {mad, false, "", "backend-2: panic: a bug in a witness"},
	} {
		t.Run(name, func(t *testing.T) {
			var heard story
			each := inEach{
				fault:    perTrial{"backend-1": {still: lasts}, "backend-2": {still: test.second}},
				backends: []workloads.Backend{{Name: "backend-1"}, {Name: "backend-2", StatefulSet: true}},
			}
			in, err := inject(t, each, &heard)
			if err != nil || !in.Askable() {
				t.Fatal(err, in.Askable())
			}
			holds, saw, err := in.Active(t.Context())
			errtest.Check(t, err, test.err)
			if holds != test.holds || saw != test.saw {
				t.Errorf("%t, %q; want %t, %q", holds, saw, test.holds, test.saw)
			}
		})
	}
	var heard story
	each := inEach{fault: perTrial{"backend-1": {}}, backends: []workloads.Backend{{Name: "backend-1"}}}
	if in, err := inject(t, each, &heard); err != nil || in.Askable() {
		t.Errorf("%v; a witness can be asked about what is over at once: %t", err, in.Askable())
	}
}

// story is a recorder that remembers when it was told what.
type story struct {
	mu    sync.Mutex
	since time.Time
	lines []string
}

func (s *story) Note(e history.Event) {
	if e.Admission != nil {
		s.add("tried", e.Admission.Name)
	}
}

func (s *story) Step(step history.Step, do func() error) error {
	s.add("step", step.What)
	return do()
}

func (s *story) add(what, witness string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, time.Since(s.since).String()+" "+what+": "+witness)
}

// All trials are alike, unless some are to be of the other kind.
func TestKindsOfTrials(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*scenario.Spec)
		want []bool
	}{
		"Deployments":  {func(*scenario.Spec) {}, []bool{false, false, false}},
		"StatefulSets": {func(s *scenario.Spec) { s.Backend.StatefulSet = true }, []bool{true, true, true}},
		"some of each": {func(s *scenario.Spec) { s.StatefulSets = 2 }, []bool{false, true, true}},
	} {
		s := quiet()
		s.Trials = 3
		test.edit(&s)
		var got []bool
		for _, b := range s.Backends() {
			got = append(got, b.StatefulSet)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestFaultsOfTrials(t *testing.T) {
	s := quiet()
	s.Trials = 3
	if got, want := faultsOf(s)[0].String(), "A, in each of 3 trials"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.Faults[0] = fault.RevertImmediately{Fault: s.Faults[0]}
	once, is := faultsOf(s)[0].(fault.RevertImmediately)
	if _, trials := once.Fault.(inEach); !is || !trials {
		t.Errorf("%T: a fault that is reverted immediately must stay one in trials", faultsOf(s)[0])
	}
}

func TestOneBackendIsNoTrial(t *testing.T) {
	s := quiet()
	if got := s.Backends(); len(got) != 1 || got[0].WithDefaults().Name != "backend" {
		t.Errorf("backends %+v", got)
	}
	if _, wrapped := faultsOf(s)[0].(inEach); wrapped {
		t.Error("its fault is done in trials")
	}
}
