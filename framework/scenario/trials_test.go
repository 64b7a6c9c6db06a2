package scenario

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/fault"
)

// perTrial is a fault that behaves differently in each workload.
type perTrial map[string]staged

func (perTrial) String() string { return "A" }

func (p perTrial) Inject(ctx context.Context, t fault.Target) (fault.Heal, error) {
	return p[t.Workload].Inject(ctx, t)
}

func TestAFaultInEachTrial(t *testing.T) {
	for name, test := range map[string]struct {
		second staged
		story  []string
		err    string // what the error contains; empty: none
	}{
		"seen when it was seen in all": {
			staged{bites: 3 * time.Second, healTake: 2 * time.Second},
			[]string{"3s seen: in all 2 trials; in the first: seen", "5s healed: in all 2 trials; in the first: healed"}, "",
		},
		"not seen when one was not": {
			staged{err: errors.New("boom")}, []string{"1s healed: in all 2 trials; in the first: healed"}, "backend-2: boom",
		},
		"a panic in one": {
			staged{panics: true}, nil, "backend-2: panic: a bug in ",
		},
		"not healed when one was not": {
			staged{healErr: errors.New("boom")}, []string{"1s seen: in all 2 trials; in the first: seen"}, "backend-2: boom",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var heard story
				heard.since = began
				each := inEach{
					fault:     perTrial{"backend-1": {bites: time.Second}, "backend-2": test.second},
					workloads: []string{"backend-1", "backend-2"},
				}
				heal, err := each.Inject(t.Context(), fault.Target{Rand: rand.New(rand.NewPCG(1, 2)), Record: &heard})
				err = errors.Join(err, heal(t.Context()))
				checkError(t, err, test.err)
				if diff := cmp.Diff(test.story, heard.lines); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// story is a recorder that remembers when it was told what.
type story struct {
	since time.Time
	lines []string
}

func (s *story) Seen(_, _ []string, witness string) { s.add("seen", witness) }
func (s *story) Healed(witness string)              { s.add("healed", witness) }

func (s *story) add(what, witness string) {
	s.lines = append(s.lines, time.Since(s.since).String()+" "+what+": "+witness)
}

func TestTrialsAreDeployedAndJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quiet()
		s.Trials = 3
		st, _, _ := newStage(t, s)
		objects, err := st.wanted(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]int{}
		for _, o := range objects {
			names[o.GetName()]++
		}
		if diff := cmp.Diff(map[string]int{"backend-1": 3, "backend-2": 3, "backend-3": 3}, names); diff != "" {
			t.Errorf("a budget, a Service and a Deployment each (-want +got):\n%s", diff)
		}
		if got, want := s.faults()[0].String(), "A, in each of 3 trials"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestOneBackendIsNoTrial(t *testing.T) {
	s := quiet()
	if got := s.backends(); len(got) != 1 || got[0].WithDefaults().Name != "backend" {
		t.Errorf("backends %+v", got)
	}
	if _, wrapped := s.faults()[0].(inEach); wrapped {
		t.Error("its fault is done in trials")
	}
}
