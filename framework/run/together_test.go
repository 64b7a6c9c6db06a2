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
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/hold"
	"github.com/holdfast-ha/holdfast/framework/internal/errtest"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// several are scenarios of the given names that play the same fault.
func several(names ...string) (specs []scenario.Spec) {
	for _, name := range names {
		s := quiet()
		s.Name = "chaos/" + name
		specs = append(specs, s)
	}
	return specs
}

func TestGroups(t *testing.T) {
	specs := several("a", "b", "c", "d", "e", "f", "g")
	for i := range specs {
		specs[i].Faults = []fault.Fault{fault.Rollout{}}
	}
	specs[1].Faults = []fault.Fault{fault.Rollout{}, fault.Drain{}}
	specs[3].Cluster.Kubernetes = "v1.36.3"
	for limit, want := range map[int]string{
		0: "a, b, c, e, f, g, d",
		1: "a, b, c, e, f, g, d",
		2: "a+c, b, e+f, g, d",
		3: "a+c+e, b, f+g, d",
		9: "a+c+e+f+g, b, d",
	} {
		var got []string
		for _, some := range groups(specs, limit) {
			var names []string
			for _, s := range some {
				names = append(names, strings.TrimPrefix(s.Name, "chaos/"))
			}
			got = append(got, strings.Join(names, "+"))
		}
		if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("at most %d (-want +got):\n%s", limit, diff)
		}
	}
}

// Scenarios share a cluster at the same time. Each has its own record, which names the others, and nothing is cleared before all have ended.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, specs := newFixture(t), several("a", "b", "c")
		specs[1].Hold = time.Minute // ends long after the others
		for i, got := range c.together(t.Context(), specs) {
			if got.outcome != verdict.Held || got.err != nil {
				t.Errorf("%s: %+v", specs[i].Name, got)
			}
		}
		for i, beside := range [][]string{{"chaos/b", "chaos/c"}, {"chaos/a", "chaos/c"}, {"chaos/a", "chaos/b"}} {
			r := c.recorded(specs[i])
			if diff := cmp.Diff(beside, r.Header.Beside); diff != "" || r.Incomplete != "" || len(r.Troubles()) > 0 {
				t.Errorf("%s: %s, trouble %v, beside (-want +got):\n%s", specs[i].Name, r.Incomplete, troubles(r), diff)
			}
			if r.Header.Base.Sub(c.recorded(specs[0]).Header.Base).Abs() > 10*time.Second {
				t.Errorf("%s began at %s", specs[i].Name, r.Header.Base)
			}
		}
		slices.Sort(c.did[1:])
		want := []string{"open 0", "clear hf-chaos-a, held", "clear hf-chaos-b, held", "clear hf-chaos-c, held"}
		if diff := cmp.Diff(want, c.did); diff != "" {
			t.Errorf("did (-want +got):\n%s", diff)
		}
		if n := len(c.kept().Scenarios); n != 3 {
			t.Errorf("run.json has %d scenarios", n)
		}
		for _, line := range []string{"  chaos/a: HELD in ", "  chaos/b: HELD in ", "  chaos/b: disturbed "} {
			if !strings.Contains(c.out.String(), "\n"+line) {
				t.Errorf("no %q in\n%s", line, c.out.String())
			}
		}
	})
}

// A scenario that fails leaves the others as they are, and a cluster that is not as it was is given up once, when all have ended.
func TestTogetherWithOneThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, specs := newFixture(t), several("a", "b", "c")
		specs[0].Faults = []fault.Fault{staged{name: "A", panics: true}}
		witness := c.onCreate
		c.onCreate = func(fake *clustertest.Cluster) {
			witness(fake)
			specs[1].Faults = []fault.Fault{errand{name: "B", do: func(context.Context) error {
				fake.EditNode("wa1", func(n *corev1.Node) { n.Spec.Unschedulable = true })
				return nil
			}}}
		}
		if _, err := c.pool.get(t.Context(), specs[0].Cluster); err != nil { // so that the fault of b knows it
			t.Fatal(err)
		}
		got := c.together(t.Context(), specs)
		if got[0].outcome == verdict.Held || got[1].outcome != verdict.Held || got[2].outcome != verdict.Held {
			t.Errorf("got %+v", got)
		}
		closed := slices.DeleteFunc(slices.Clone(c.did), func(did string) bool { return !strings.HasPrefix(did, "close ") })
		if diff := cmp.Diff([]string{"close 0"}, closed); diff != "" || c.pool.cluster != nil {
			t.Errorf("given up (-want +got):\n%s", diff)
		}
		if c.did[len(c.did)-1] != "close 0" {
			t.Errorf("after it was given up: %q", c.did)
		}
		if n := strings.Count(c.out.String(), "is not as it was, and is given up"); n != 1 {
			t.Errorf("it is said %d times:\n%s", n, c.out.String())
		}
	})
}

// crashing is a promise of a user's own that panics when it is judged.
type crashing struct{}

func (crashing) String() string        { return "no crash" }
func (crashing) Needs() evidence.Needs { return evidence.Needs{} }
func (crashing) Judge(*evidence.Run, verdict.Missing) verdict.Verdict {
	panic("index out of range of the user's own")
}

// extended lets records hold the promise: once, for all repetitions of a test.
var extended = sync.OnceValue(invariant.Extend[crashing])

// A promise that panics is an error of its scenario, whose workload is cleared. The others keep their verdicts.
func TestTogetherWithAPromiseThatPanics(t *testing.T) {
	if err := extended(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c, specs := newFixture(t), several("a", "b", "c")
		specs[1].Promises = []invariant.Invariant{evenZones, crashing{}}
		for i, got := range c.together(t.Context(), specs) {
			switch {
			case i == 1:
				errtest.Check(t, got.err, "panic: index out of range of the user's own")
				if got.outcome != "" {
					t.Errorf("%s is judged %s", specs[i].Name, got.outcome)
				}
			case got.outcome != verdict.Held || got.err != nil:
				t.Errorf("%s: %+v", specs[i].Name, got)
			}
			if namespace := "/api/v1/namespaces/hf-" + strings.ReplaceAll(specs[i].Name, "/", "-"); c.created[0].Get(namespace) != nil {
				t.Errorf("%s is left", namespace)
			}
		}
		for _, kept := range c.kept().Scenarios {
			if failed := strings.HasPrefix(kept.Error, "panic: "); failed != (kept.Name == specs[1].Name) {
				t.Errorf("run.json has of %s the error %q", kept.Name, kept.Error)
			}
		}
	})
}

// shy is a promise of a user's own that has its evidence only where nothing runs beside; with Alone, not even there.
type shy struct{ Beside, Alone verdict.Outcome }

func (shy) String() string        { return "quiet" }
func (shy) Needs() evidence.Needs { return evidence.Needs{} }
func (s shy) Judge(run *evidence.Run, _ verdict.Missing) verdict.Verdict {
	if len(run.Record.Header.Beside) > 0 {
		return verdict.Verdict{Promise: s.String(), Kind: "shy", Outcome: s.Beside, Seen: "too loud"}
	}
	v := verdict.Verdict{Promise: s.String(), Kind: "shy", Outcome: verdict.Held, Seen: "it was quiet"}
	if s.Alone != "" {
		v.Outcome = s.Alone
	}
	return v
}

var extendedByShy = sync.OnceValue(invariant.Extend[shy])

// What is Unknown beside others runs again, alone, with a note that leads to the first record. What is broken beside others stays broken.
func TestAgainAlone(t *testing.T) {
	if err := extendedByShy(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c, specs := newFixture(t), several("a", "b", "c")
		specs[1].Promises = []invariant.Invariant{shy{Beside: verdict.Unknown}}
		specs[2].Promises = []invariant.Invariant{shy{Beside: verdict.Violated}}
		found, ran := c.takeTurn(t.Context(), specs)
		if !ran {
			t.Fatal("nothing ran")
		}
		for i, want := range []verdict.Outcome{verdict.Held, verdict.Held, verdict.Violated} {
			if found[i].outcome != want || found[i].err != nil {
				t.Errorf("%s: %+v, want %s", specs[i].Name, found[i], want)
			}
		}
		kept := map[string]string{}
		for _, s := range c.kept().Scenarios {
			kept[s.Name] += s.Outcome
		}
		if diff := cmp.Diff(map[string]string{"chaos/a": "held", "chaos/b": "held", "chaos/c": "violated"}, kept); diff != "" {
			t.Errorf("run.json (-want +got):\n%s", diff)
		}
		const note = "It ran beside chaos/a and chaos/c first, and was Unknown: quiet: too loud. That record is in set-aside-1/chaos/b."
		if r := c.recorded(specs[1]); !slices.Equal(r.Header.Notes, []string{note}) || len(r.Header.Beside) > 0 {
			t.Errorf("notes %q, beside %q", r.Header.Notes, r.Header.Beside)
		}
		first, err := history.Open(filepath.Join(c.settings.Dir, "set-aside-1", "chaos", "b"))
		if err != nil || len(first.Header.Beside) != 2 || first.Incomplete != "" {
			t.Errorf("the first record: %v, beside %q, %s", err, first.Header.Beside, first.Incomplete)
		}
		if len(specs[1].Notes) > 0 {
			t.Error("the scenario itself has the note")
		}
	})
}

// tired is a promise of a user's own, of a machine that is busy in the first run, or always. A second run has a note.
type tired struct{ Outcome, Again verdict.Outcome }

func (tired) String() string        { return "awake" }
func (tired) Needs() evidence.Needs { return evidence.Needs{} }
func (p tired) Judge(run *evidence.Run, _ verdict.Missing) verdict.Verdict {
	v := verdict.Verdict{Promise: p.String(), Kind: "tired", Outcome: p.Outcome, Seen: "busy"}
	if len(run.Record.Header.Notes) > 0 {
		v.Outcome = p.Again
	}
	v.Measure(evidence.BusyNumber, 1)
	return v
}

var extendedByTired = sync.OnceValue(invariant.Extend[tired])

// What is Unknown because the machine was busy runs again, once. Every other verdict stays.
func TestAgainAfterABusyMachine(t *testing.T) {
	if err := errors.Join(extendedByTired(), extendedByShy()); err != nil {
		t.Fatal(err)
	}
	const u, v, h = verdict.Unknown, verdict.Violated, verdict.Held
	const note = "It ran first while the machine was busy, and was Unknown: awake: busy. That record is in set-aside-1/chaos/a."
	for name, test := range map[string]struct {
		promise invariant.Invariant
		want    verdict.Outcome
		notes   []string
		resumed string // why a resumed run runs it again; empty: it does not
	}{
		"held the second time":   {tired{u, h}, h, []string{note}, ""},
		"broken the second time": {tired{u, v}, v, []string{note}, ""},
		"busy twice":             {tired{u, u}, u, []string{note}, ""},
		"broken":                 {tired{v, h}, v, nil, ""},
		"unknown otherwise":      {shy{Alone: u}, u, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, specs := newFixture(t), several("a")
				specs[0].Promises = []invariant.Invariant{test.promise}
				found, _ := c.takeTurn(t.Context(), specs)
				if len(found) != 1 || found[0].outcome != test.want || found[0].err != nil {
					t.Fatalf("%+v, want %s", found, test.want)
				}
				if kept := c.kept().Scenarios; len(kept) != 1 || kept[0].Outcome != string(test.want) {
					t.Errorf("run.json has %+v", kept)
				}
				if r := c.recorded(specs[0]); !slices.Equal(r.Header.Notes, test.notes) {
					t.Errorf("notes %q, want %q", r.Header.Notes, test.notes)
				}
				if _, why := c.check(c.kept().Scenarios[0]); why != test.resumed {
					t.Errorf("resumed, it runs again because %q, want %q", why, test.resumed)
				}
				if _, err := os.Stat(filepath.Join(c.settings.Dir, "set-aside-2")); err == nil {
					t.Error("it ran three times")
				}
			})
		})
	}
}

// After an interruption, or on a cluster that the group left changed, nothing runs again. A resumed run does it.
func TestNotAgainAlone(t *testing.T) {
	if err := extendedByShy(); err != nil {
		t.Fatal(err)
	}
	for name, prevent := range map[string]func(c *fixture, cancel func()){
		"interrupted": func(_ *fixture, cancel func()) { cancel() },
		"changed":     func(c *fixture, _ func()) { c.pool.broken = errors.New("node wa1 is cordoned") },
		"stopped":     func(c *fixture, _ func()) { c.stopFor(errors.New("the disk is full")) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, specs := newFixture(t), several("a", "b")
				specs[1].Promises = []invariant.Invariant{shy{Beside: verdict.Unknown}}
				found := c.together(t.Context(), specs)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				prevent(c, cancel)
				c.runAgainAlone(ctx, specs, found)
				all := c.kept().Scenarios
				if len(all) != 2 || found[1].outcome != verdict.Unknown || len(c.recorded(specs[1]).Header.Beside) != 1 {
					t.Fatalf("%d scenarios in run.json; b: %+v", len(all), found[1])
				}
				for _, one := range all {
					want := ""
					if one.Name == "chaos/b" {
						want = "it was Unknown beside other scenarios"
					}
					if _, why := c.check(one); why != want {
						t.Errorf("resumed, %s runs again because %q, want %q", one.Name, why, want)
					}
				}
			})
		})
	}
}

// An interruption ends all of them, and each is cleared.
func TestTogetherInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, specs := newFixture(t), several("a", "b")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(7*time.Second, func() { cancel(errors.New("a signal")) })
		for i, got := range c.together(ctx, specs) {
			if !got.interrupted || got.outcome != verdict.Unknown {
				t.Errorf("%s: %+v", specs[i].Name, got)
			}
			if r := c.recorded(specs[i]); r.Interrupted() == "" {
				t.Errorf("the record of %s does not tell", specs[i].Name)
			}
		}
		for _, name := range []string{"hf-chaos-a", "hf-chaos-b"} {
			if c.created[0].Get("/api/v1/namespaces/"+name) != nil {
				t.Errorf("namespace %s is left", name)
			}
		}
	})
}

// The cluster's Lease names the faults of all scenarios, until each is reverted.
func TestMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFixture(t)
		cluster, err := c.pool.get(t.Context(), quiet().Cluster)
		if err != nil {
			t.Fatal(err)
		}
		client, err := kubernetes.NewForConfig(cluster.Config())
		if err != nil {
			t.Fatal(err)
		}
		c.pool.hold, err = hold.Take(t.Context(), client, "r1", "holdfast run", hold.Options{Cluster: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.pool.hold.Release(t.Context()) }()
		a, b := c.pool.marks("chaos/a"), c.pool.marks("chaos/b")
		for _, step := range []struct {
			do          func()
			want, never string
		}{
			{func() { err = a.set(t.Context(), "drain 1 worker") }, "chaos/a: drain 1 worker", "chaos/b"},
			{func() { err = b.set(t.Context(), "rolling update") }, "chaos/a: drain 1 worker; chaos/b: rolling update", "none"},
			{func() { a.clear(t.Context()) }, "chaos/b: rolling update", "chaos/a"},
			{func() { b.clear(t.Context()); synctest.Wait() }, "", "chaos/"}, // it is written by another goroutine
		} {
			step.do()
			if err != nil {
				t.Fatal(err)
			}
			leases, err := client.CoordinationV1().Leases(hold.Namespace).List(t.Context(), metav1.ListOptions{})
			if err != nil || len(leases.Items) != 1 {
				t.Fatalf("%v, %v", leases, err)
			}
			text := leases.Items[0].String()
			if !strings.Contains(text, step.want) || strings.Contains(text, step.never) {
				t.Errorf("want %q and not %q in %s", step.want, step.never, text)
			}
		}
	})
}
