package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// quiet is a scenario without traffic that holds on a cluster in memory.
func quiet() scenario.Spec {
	return scenario.Spec{
		Name: "chaos/quiet", Claim: "zones stay even", Steady: 5 * time.Second, Hold: 10 * time.Second,
		Faults:   []fault.Fault{staged{name: "A", takes: time.Second}},
		Promises: []invariant.Invariant{evenZones},
	}.WithDefaults()
}

var evenZones = invariant.Spread{TopologyKey: clusters.LabelZone, Max: 1}

func TestAScenarioThatHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newFixture(t), quiet()
		got := c.one(t.Context(), s)
		if got.outcome != verdict.Held || got.err != nil || !strings.Contains(got.why, "skew of at most 0 over 3 domains") {
			t.Errorf("got %+v", got)
		}
		r := c.recorded(s)
		all := []history.PhaseName{history.Deploy, history.Steady, history.Disturbed, history.Recovered, history.Drained}
		if diff := cmp.Diff(all, phases(r)); diff != "" || r.Incomplete != "" || len(r.Troubles()) > 0 {
			t.Errorf("the record is incomplete (%s), or has trouble %v; phases (-want +got):\n%s", r.Incomplete, troubles(r), diff)
		}
		if again := c.kept().Scenarios[0].Reproduce; again != "again chaos/quiet v1.37.0" {
			t.Errorf("reproduced by %q, want the version that the cluster runs", again)
		}
		const ns = "/api/v1/namespaces/hf-chaos-quiet"
		asked := []string{
			"POST /api/v1/namespaces", // with the watches begun before what follows
			"POST /apis/policy/v1/namespaces/hf-chaos-quiet/poddisruptionbudgets", "POST " + ns + "/services",
			"POST /apis/apps/v1/namespaces/hf-chaos-quiet/deployments",
			"DELETE " + ns, "DELETE " + ns + "/services/backend", "DELETE " + ns + "/pods",
		}
		if diff := cmp.Diff(asked, c.created[0].Asked()); diff != "" {
			t.Errorf("asked of the API server (-want +got):\n%s", diff)
		}
		bound := 0
		for _, e := range r.Events {
			if e.Pod != nil && e.Pod.Change != history.Listed && e.Pod.Ready {
				bound++
			}
		}
		if bound != 6 || (c.created[0].Get(ns) != nil) {
			t.Errorf("%d pods were seen to become ready, want 6; namespace left behind: %t", bound, (c.created[0].Get(ns) != nil))
		}
	})
}

// The record of an application of the user's own names it: its namespace, and the Service of the run's first probe.
func TestTheRecordNamesTheApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newFixture(t), quiet()
		s.App, s.Tested = &app.App{Namespace: "shop", Workloads: []app.Workload{{Controller: workloads.Controller{Name: "worker"}}}}, "worker"
		s.Load = []load.Lane{{Lane: history.LaneFresh, Rate: 1, Target: "http://web:8080/"}, {Lane: history.LaneReused, Rate: 1, Target: "http://cart/"}}
		c.onCreate = func(fake *clustertest.Cluster) {
			fake.OnLoad = func(clusters.Image) error { return errors.New("no room") }
		}
		c.one(t.Context(), s)
		if got := c.recorded(s).Header.Application; got != "shop/web" {
			t.Errorf("the application is %q", got)
		}
	})
}

// What was asked of a scenario stands in its record, and what was found in run.json.
func TestTheRecordSaysWhatWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newFixture(t), quiet()
		s.Load, s.Notes = scenario.DefaultLoad, []string{"Volumes belong to a node."}
		front := history.Front{Name: "Ingress shop", Entries: []string{"edge"}, Backends: []string{"web"}}
		s.Fronts = map[history.Lane]history.Front{history.LaneReused: front}
		s.Mutant = &history.Mutant{Removed: "spreading", CaughtBy: "Spread", Twin: "chaos/loud"}
		c.settings.Kubernetes, c.settings.Profile = "v1.36.3", clusters.Stock
		c.onCreate = func(fake *clustertest.Cluster) {
			fake.OnLoad = func(clusters.Image) error { return errors.New("no room") }
		}
		c.one(t.Context(), s)
		promise, err := invariant.Encode(evenZones)
		if err != nil {
			t.Fatal(err)
		}
		want := history.Header{
			Format: history.FormatVersion, RunID: "r1", Scenario: s.Name, Claim: s.Claim, Seed: 4711, Holdfast: "v1.2.3",
			Cluster: history.ClusterInfo{
				Name: "0", Kubernetes: "v1.36.3", Provider: "fake", Engine: "memory", Image: "none",
				Profile: "stock", ProxyMode: "nftables", Timings: history.Timings(clusters.Stock.Timings()),
			},
			Promises: []history.Promise{promise}, Mutant: s.Mutant, Samples: history.SamplesOfItself, Notes: s.Notes,
			Plan: &history.Plan{Lanes: []history.LanePlan{
				{Lane: history.LaneFresh, RatePerSecond: 100}, {Lane: history.LaneReused, RatePerSecond: 100, Front: &front},
				{Lane: history.LaneControl, RatePerSecond: 20},
			}},
		}
		if diff := cmp.Diff(want, c.recorded(s).Header, cmpopts.IgnoreFields(history.Header{}, "Base")); diff != "" {
			t.Errorf("header (-want +got):\n%s", diff)
		}
		kept := c.kept().Scenarios
		var got verdict.Verdict
		if len(kept) != 1 || len(kept[0].Verdicts) != 1 || json.Unmarshal(kept[0].Verdicts[0], &got) != nil {
			t.Fatalf("run.json: %+v", kept)
		}
		if got.Kind != "Spread" || got.Outcome != verdict.Unknown {
			t.Errorf("verdict: %+v", got)
		}
		var caught verdict.Verdict
		if json.Unmarshal(kept[0].Caught, &caught) != nil || caught.Kind != "Caught" || caught.Outcome != verdict.Unknown {
			t.Errorf("the verdict on the mutant: %+v", caught)
		}
		kept[0].Verdicts, kept[0].Caught = nil, nil
		result := runfolder.ScenarioResult{
			Name: s.Name, Dir: s.Name, Claim: s.Claim, Outcome: "unknown", Reproduce: "again chaos/quiet v1.36.3", Mutant: s.Mutant,
		}
		if diff := cmp.Diff(result, kept[0]); diff != "" {
			t.Errorf("run.json (-want +got):\n%s", diff)
		}
	})
}

// Whatever goes wrong is trouble in the record, and no verdict; the faults are undone, and the cluster is cleared, but
// not before it was judged and its logs are kept.
func TestAScenarioThatGoesWrong(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		spoil   func(context.CancelFunc, *scenario.Spec, *clustertest.Cluster)
		trouble string   // in the record
		healed  []string // what the record says was undone
		unmade  bool     // it never made a namespace, so it removes none: it would be another run's
	}{
		"a fault fails": {
			spoil: func(_ context.CancelFunc, s *scenario.Spec, _ *clustertest.Cluster) {
				s.Faults = append(s.Faults, staged{name: "B", err: boom}, staged{name: "C"})
			},
			trouble: "B: boom", healed: []string{"B", "A"},
		},
		"an undo fails": {
			spoil: func(_ context.CancelFunc, s *scenario.Spec, _ *clustertest.Cluster) {
				s.Faults = append(s.Faults, staged{name: "B", revertErr: boom})
			},
			trouble: "undo B: boom", healed: []string{"A"},
		},
		"the caller gives up": {
			spoil: func(cancel context.CancelFunc, _ *scenario.Spec, _ *clustertest.Cluster) {
				time.AfterFunc(8*time.Second, cancel)
			},
			trouble: "context canceled", healed: []string{"A"},
		},
		"the image cannot be loaded": {
			spoil: func(_ context.CancelFunc, _ *scenario.Spec, t *clustertest.Cluster) {
				t.OnLoad = func(clusters.Image) error { return boom }
			},
			trouble: "load holdfast.local/holdfast:", unmade: true,
		},
		"a bug in the provider": {
			spoil: func(_ context.CancelFunc, _ *scenario.Spec, t *clustertest.Cluster) {
				t.OnLoad = func(clusters.Image) error { panic("a bug in LoadImage") }
			},
			trouble: "panic: a bug in LoadImage", unmade: true,
		},
		"an object is refused": {
			spoil: func(_ context.CancelFunc, _ *scenario.Spec, t *clustertest.Cluster) {
				witness := t.Refuse
				t.Refuse = func(method, path string) *apierrors.StatusError {
					if strings.HasSuffix(path, "/deployments") && method == "POST" {
						return apierrors.NewBadRequest("no such field")
					}
					return witness(method, path)
				}
			},
			trouble: "create Deployment backend: no such field",
		},
		"the cluster cannot be watched": {
			spoil: func(_ context.CancelFunc, _ *scenario.Spec, t *clustertest.Cluster) {
				witness := t.Refuse
				t.Refuse = func(method, path string) *apierrors.StatusError {
					if strings.HasSuffix(path, "/endpointslices") {
						return apierrors.NewForbidden(discoverySlices, "", boom)
					}
					return witness(method, path)
				}
			},
			trouble: `watch the cluster: list endpointslices: endpointslices.discovery.k8s.io is forbidden: boom`,
		},
		"the backend makes no sense": {
			spoil:   func(_ context.CancelFunc, s *scenario.Spec, _ *clustertest.Cluster) { s.Backend.NodePort = 80 },
			trouble: "backend backend: node port 80: want 30000 to 32767",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := newFixture(t), quiet()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c.onCreate = func(fake *clustertest.Cluster) {
					c.witness(fake)
					test.spoil(cancel, &s, fake)
				}
				if _, err := c.pool.get(ctx, s.Cluster); err != nil { // now, so that spoil reaches s
					t.Fatal(err)
				}
				got := c.one(ctx, s)
				r := c.recorded(s)
				if got.err != nil || got.outcome != verdict.Unknown {
					t.Errorf("got %+v, want Unknown", got)
				}
				if all := strings.Join(troubles(r), "\n"); !strings.Contains(all, test.trouble) || r.Incomplete != "" {
					t.Errorf("the record (incomplete: %q) has trouble %s\nwant %s", r.Incomplete, all, test.trouble)
				}
				var healed []string
				for _, e := range r.Events {
					if e.Fault != nil && e.Fault.Stage == history.Healed && e.Fault.Error == "" {
						healed = append(healed, e.Fault.Name)
					}
				}
				if diff := cmp.Diff(test.healed, healed); diff != "" {
					t.Errorf("undone (-want +got):\n%s", diff)
				}
				word := "unknown"
				if name == "the caller gives up" {
					word = "interrupted in the phase disturbed"
				}
				did := []string{"open 0", "keep logs/chaos/quiet of what is " + word, "clear hf-chaos-quiet, " + word}
				if test.unmade {
					did = did[:2]
				}
				if diff := cmp.Diff(did, c.did); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if c.created[0].Get("/api/v1/namespaces/hf-chaos-quiet") != nil {
					t.Error("the namespace is still there")
				}
			})
		})
	}
}

// The watches outlive an interrupted scenario: what its undos do is in the record.
func TestUndosAreWatchedAfterCtrlC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newFixture(t), quiet()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c.onCreate = func(fake *clustertest.Cluster) { s.Faults = []fault.Fault{cordon{fake, cancel}} }
		if _, err := c.pool.get(ctx, s.Cluster); err != nil {
			t.Fatal(err)
		}
		c.one(ctx, s)
		var seen []string
		for _, e := range c.recorded(s).Events {
			if e.Node != nil && e.Node.Name == "wa1" {
				seen = append(seen, fmt.Sprintf("%s unschedulable=%t", e.Node.Change, e.Node.Unschedulable))
			}
		}
		want := []string{"listed unschedulable=false", "modified unschedulable=true", "modified unschedulable=false"}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// cordon is a fault that is interrupted once it bit.
type cordon struct {
	fake      *clustertest.Cluster
	interrupt func()
}

func (cordon) String() string { return "cordon wa1" }

func (f cordon) Plan(context.Context, fault.Target) (fault.Disruption, error) {
	closed := false
	set := func(now bool) {
		closed = now
		f.fake.EditNode("wa1", func(n *corev1.Node) { n.Spec.Unschedulable = now })
		synctest.Wait() // until the watches have it
	}
	return &fault.Effect{
		Do: func(context.Context) error { set(true); return nil },
		See: func(context.Context) (bool, fault.Observation, error) {
			return closed, fault.Observation{Nodes: []string{"wa1"}, Witness: "cordoned"}, nil
		},
		Then:    func(context.Context) error { f.interrupt(); return nil },
		Undo:    func(context.Context) error { set(false); return nil },
		Restore: func(context.Context) (string, error) { return "open", nil },
		Over:    "nobody is asked",
	}, nil
}

// What failed before there was a record is an error, not a verdict; the cluster is kept for the next scenario.
func TestAHarnessThatFailsBeforeItCanRecord(t *testing.T) {
	for want, test := range map[string]struct {
		spoil func(*fixture, *scenario.Spec)
		did   []string
	}{
		"provision a cluster: no engine": {
			spoil: func(c *fixture, _ *scenario.Spec) { c.openErr = errors.New("no engine") },
			did:   []string{"open 0", "open 0-2"}, // one that could not be made is tried again
		},
		// Its verdict would be that of another run: two that began in the same second, for example.
		"holds one already: choose another folder": {
			spoil: func(c *fixture, s *scenario.Spec) {
				promise, err := invariant.Encode(invariant.NoFailedRequests{})
				held := historytest.Healthy().Header(func(h *history.Header) { h.Promises = []history.Promise{promise} })
				if err = errors.Join(err, held.Write(filepath.Join(c.settings.Dir, s.Name))); err != nil {
					c.t.Fatal(err)
				}
			},
			did: []string{"open 0"},
		},
		"write down the promise \"always\": encode promise": {
			spoil: func(_ *fixture, s *scenario.Spec) { s.Promises = []invariant.Invariant{foreign{}} },
			did:   []string{"open 0"},
		},
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := newFixture(t), quiet()
				c.settings.Kubernetes = "v1.36.3"
				test.spoil(c, &s)
				got := c.one(t.Context(), s)
				kept := c.kept().Scenarios[0]
				if got.err == nil || !strings.Contains(got.err.Error(), want) || kept.Error != got.err.Error() || kept.Outcome != "" {
					t.Errorf("got %+v and in run.json %+v; want an error with %q", got, kept, want)
				}
				if kept.Reproduce != "again chaos/quiet v1.36.3" {
					t.Errorf("reproduce: %q, want the version that was asked for", kept.Reproduce)
				}
				if !strings.Contains(c.out.String(), "  FAILED in 0s: ") {
					t.Errorf("said:\n%s", c.out.String())
				}
				c.one(t.Context(), s)
				if diff := cmp.Diff(test.did, c.did); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Somebody who builds the executable anew while it runs changes nothing: all scenarios of a run are of one build. What
// could not be built is built for the next one.
func TestAllScenariosOfARunHaveOneImage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFixture(t)
		again := func(program []byte) {
			t.Helper()
			if err := os.WriteFile(c.settings.Executable, program, 0o700); err != nil {
				t.Fatal(err)
			}
			s := quiet()
			s.Name += strings.Repeat("-again", len(c.file.Scenarios))
			c.one(t.Context(), s)
		}
		whole, err := os.ReadFile(c.settings.Executable)
		if err != nil {
			t.Fatal(err)
		}
		again([]byte("not yet"))
		again(whole)
		again(append(whole, 0))
		loaded := c.created[0].Loaded()
		if len(loaded) != 2 || loaded[0].Ref == "" || loaded[0] != loaded[1] {
			t.Errorf("loaded %+v, want one image, by the second and the third scenario", loaded)
		}
	})
}

// foreign is a promise that no record can hold.
type foreign struct{ invariant.Invariant }

func (foreign) String() string { return "always" }

func TestLogsAreKeptOfWhatDidNotHoldOrWhenAsked(t *testing.T) {
	for name, test := range map[string]struct {
		crowd, all bool
		want       []string
	}{
		"held":                {want: []string{"open 0", "clear hf-chaos-quiet, held"}},
		"held, all are asked": {all: true, want: []string{"open 0", "keep logs/chaos/quiet of what is held", "clear hf-chaos-quiet, held"}},
		"violated": {crowd: true, want: []string{
			"open 0", "keep logs/chaos/quiet of what is violated", "clear hf-chaos-quiet, violated",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newFixture(t)
				c.settings.KeepLogs = test.all
				c.onCreate = func(fake *clustertest.Cluster) {
					c.witness(fake)
					fake.Crowd = test.crowd
				}
				c.one(t.Context(), quiet())
				if diff := cmp.Diff(test.want, c.did); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A cluster that a scenario left in another state than it found it is given back, and the next one gets a new one. That
// takes nothing from the verdict.
func TestAClusterThatIsNotAsItWasIsGivenBack(t *testing.T) {
	for name, spoil := range map[string]func(*clustertest.Cluster){
		"a node is not ready": func(t *clustertest.Cluster) {
			t.EditNode("wa1", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown })
		},
		"a machine is frozen":         func(t *clustertest.Cluster) { t.Machines[2].SetState(clusters.Paused) },
		"a Service does not go":       func(t *clustertest.Cluster) { t.Keep = true },
		"and its logs never come too": func(t *clustertest.Cluster) { t.Keep, t.OnLogs = true, hang },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := newFixture(t), quiet()
				c.settings.KeepLogs = true
				c.onCreate = func(fake *clustertest.Cluster) {
					s.Faults = []fault.Fault{staged{name: "A"}, errand{name: "B", do: func(context.Context) error {
						spoil(fake)
						return nil
					}}}
				}
				if _, err := c.pool.get(t.Context(), s.Cluster); err != nil {
					t.Fatal(err)
				}
				if got := c.one(t.Context(), s); got.outcome != verdict.Held {
					t.Errorf("got %+v", got)
				}
				if _, err := c.pool.get(t.Context(), s.Cluster); err != nil {
					t.Fatal(err)
				}
				then := []string{"open 0", "close 0", "open 0-2"}
				if diff := cmp.Diff(then, c.did); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// hang is a collecting of logs that has no end of its own.
func hang(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

// errand is a fault that does something once, and leaves it so.
type errand struct {
	name string
	do   func(context.Context) error
	undo func()
}

func (e errand) String() string { return e.name }

func (e errand) Plan(context.Context, fault.Target) (fault.Disruption, error) {
	return e.effect("left so"), nil
}

func (e errand) effect(after string) *fault.Effect {
	done := false
	return &fault.Effect{
		Do: func(ctx context.Context) (err error) {
			if e.do != nil {
				err = e.do(ctx)
			}
			done = err == nil
			return err
		},
		See: func(context.Context) (bool, fault.Observation, error) {
			return done, fault.Observation{Witness: "done"}, nil
		},
		Undo: func(context.Context) error {
			if e.undo != nil {
				e.undo()
			}
			return nil
		},
		Restore: func(context.Context) (string, error) { return after, nil },
		Over:    "it was done once",
	}
}

// What a fault waits for is said while it waits.
func TestProgressOfARunSaysWhatIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newFixture(t), quiet()
		s.Faults = []fault.Fault{errand{name: "A", do: func(ctx context.Context) error {
			began := time.Now()
			return poll.Until(ctx, "node w9 to be Ready", time.Hour, func(context.Context) (bool, string, error) {
				return time.Since(began) > 90*time.Second, "Ready=False", nil
			})
		}}}
		got := c.one(t.Context(), s)
		const want = "; waiting for node w9 to be Ready: Ready=False; for "
		if !strings.Contains(c.out.String(), want) || got.err != nil {
			t.Errorf("it does not say what is awaited (%v):\n%s", got.err, c.out.String())
		}
	})
}

// Logs that never come cost neither the verdict nor the cluster.
func TestLogsThatHangAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFixture(t)
		c.settings.KeepLogs = true
		c.onCreate = func(fake *clustertest.Cluster) {
			fake.OnLogs = hang
		}
		for range 2 {
			s := quiet()
			s.Name += strings.Repeat("-again", len(c.file.Scenarios))
			if got := c.one(t.Context(), s); got.outcome != verdict.Held {
				t.Errorf("got %+v", got)
			}
		}
		if want := []string{"open 0"}; !slices.Equal(c.did, want) || (c.created[0].Get("/api/v1/namespaces/hf-chaos-quiet") != nil) {
			t.Errorf("did %v, want %v: the cluster is as it was", c.did, want)
		}
	})
}

var discoverySlices = schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
