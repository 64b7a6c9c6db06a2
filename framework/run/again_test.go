package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// crashing is a promise of a user's own that panics when it is judged.
type crashing struct{}

func (crashing) String() string        { return "no crash" }
func (crashing) Needs() evidence.Needs { return evidence.Needs{} }
func (crashing) Judge(*evidence.Run, verdict.Missing) verdict.Verdict {
	panic("index out of range of the user's own")
}

// extended lets records hold the promise: once, for all repetitions of a test.
var extended = sync.OnceValue(invariant.Extend[crashing])

// A promise that panics is an error of its scenario, whose workload is cleared. The next one has its verdict.
func TestAPromiseThatPanics(t *testing.T) {
	if err := extended(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c, bad, next := newFixture(t), quiet(), quiet()
		bad.Name, bad.Promises = "chaos/bad", []invariant.Invariant{evenZones, crashing{}}
		got, _ := c.takeTurn(t.Context(), bad)
		errtest.Check(t, got.err, "panic: index out of range of the user's own")
		if c.created[0].Get("/api/v1/namespaces/hf-chaos-bad") != nil || got.outcome != "" {
			t.Errorf("its namespace is left, or it is judged: %q", got.outcome)
		}
		if got, _ := c.takeTurn(t.Context(), next); got.outcome != verdict.Held || got.err != nil {
			t.Errorf("the next one: %+v", got)
		}
		if all := c.kept().Scenarios; len(all) != 2 || !strings.HasPrefix(all[0].Error, "panic: ") || all[1].Error != "" {
			t.Errorf("run.json has %+v", all)
		}
	})
}

// tired is a promise of a user's own. The machine is busy in the first run, or always, or never. A second run has a note.
type tired struct {
	Outcome, Again verdict.Outcome
	Calm           bool
}

func (tired) String() string        { return "awake" }
func (tired) Needs() evidence.Needs { return evidence.Needs{} }
func (p tired) Judge(run *evidence.Run, _ verdict.Missing) verdict.Verdict {
	v := verdict.Verdict{Promise: p.String(), Kind: "tired", Outcome: p.Outcome, Seen: "busy"}
	if len(run.Record.Header.Notes) > 0 {
		v.Outcome = p.Again
	}
	if !p.Calm {
		v.Measure(evidence.BusyNumber, 1)
	}
	return v
}

var extendedByTired = sync.OnceValue(invariant.Extend[tired])

// What is Unknown because the machine was busy runs again, once, with a note that leads to the first record. Every other verdict stays.
func TestAgainAfterABusyMachine(t *testing.T) {
	if err := extendedByTired(); err != nil {
		t.Fatal(err)
	}
	const u, v, h = verdict.Unknown, verdict.Violated, verdict.Held
	const note = "It ran first while the machine was busy, and was Unknown: awake: busy. That record is in set-aside-1/chaos/quiet."
	for name, test := range map[string]struct {
		promise invariant.Invariant
		want    verdict.Outcome
		notes   []string
	}{
		"held the second time":   {tired{Outcome: u, Again: h}, h, []string{note}},
		"broken the second time": {tired{Outcome: u, Again: v}, v, []string{note}},
		"busy twice":             {tired{Outcome: u, Again: u}, u, []string{note}},
		"broken":                 {tired{Outcome: v, Again: h}, v, nil},
		"unknown otherwise":      {tired{Outcome: u, Again: h, Calm: true}, u, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := newFixture(t), quiet()
				s.Promises = []invariant.Invariant{test.promise}
				found, ran := c.takeTurn(t.Context(), s)
				if !ran || found.outcome != test.want || found.err != nil {
					t.Fatalf("%+v, want %s", found, test.want)
				}
				kept := c.kept().Scenarios
				if len(kept) != 1 || kept[0].Outcome != string(test.want) {
					t.Errorf("run.json has %+v", kept)
				}
				if r := c.recorded(s); !slices.Equal(r.Header.Notes, test.notes) || len(s.Notes) > 0 {
					t.Errorf("notes %q, want %q; the scenario itself has %q", r.Header.Notes, test.notes, s.Notes)
				}
				first, err := history.Open(filepath.Join(c.settings.Dir, "set-aside-1", "chaos", "quiet"))
				if again := len(test.notes) > 0; (err == nil) != again || again && first.Incomplete != "" {
					t.Errorf("the first record: %v, %s", err, first.Incomplete)
				}
				if _, err := os.Stat(filepath.Join(c.settings.Dir, "set-aside-2")); err == nil {
					t.Error("it ran three times")
				}
			})
		})
	}
}

// After an interruption, or on a cluster that is left changed, nothing runs again.
func TestNotAgain(t *testing.T) {
	if err := extendedByTired(); err != nil {
		t.Fatal(err)
	}
	for name, prevent := range map[string]func(c *fixture, cancel func()){
		"interrupted": func(_ *fixture, cancel func()) { cancel() },
		"changed":     func(c *fixture, _ func()) { c.pool.broken = errors.New("node wa1 is cordoned") },
		"stopped":     func(c *fixture, _ func()) { c.stop = errors.New("the disk is full") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := newFixture(t), quiet()
				s.Promises = []invariant.Invariant{tired{Outcome: verdict.Unknown, Again: verdict.Held}}
				found := c.one(t.Context(), s)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				prevent(c, cancel)
				found = c.again(ctx, s, found)
				all := c.kept().Scenarios
				if len(all) != 1 || found.outcome != verdict.Unknown || len(c.recorded(s).Header.Notes) > 0 {
					t.Fatalf("%d scenarios in run.json: %+v", len(all), found)
				}
			})
		})
	}
}

// The cluster's Lease names the faults of the scenario while they are in force, and no longer.
func TestTheLeaseNamesTheFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newFixture(t), quiet()
		c.settings.Hold = func(ctx context.Context, k clusters.Cluster) (*hold.Hold, error) {
			return hold.Take(ctx, kubernetes.NewForConfigOrDie(k.Config()), "r1", "holdfast run", hold.Options{Cluster: k.Name()})
		}
		lease := func() string {
			leases, err := kubernetes.NewForConfigOrDie(c.created[0].Config()).CoordinationV1().Leases(hold.Namespace).List(t.Context(), metav1.ListOptions{})
			if err != nil || len(leases.Items) != 1 {
				t.Fatalf("%v, %v", leases, err)
			}
			return leases.Items[0].String()
		}
		var during string
		s.Faults = []fault.Fault{errand{name: "A", do: func(context.Context) error { during = lease(); return nil }}, staged{name: "B"}}
		if got := c.one(t.Context(), s); got.outcome != verdict.Held || got.err != nil {
			t.Errorf("%+v", got)
		}
		if !strings.Contains(during, "chaos/quiet: A, B") {
			t.Errorf("while they are in force: %s", during)
		}
		if after := lease(); strings.Contains(after, "chaos/quiet") {
			t.Errorf("afterwards: %s", after)
		}
		if err := c.pool.Discard(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
