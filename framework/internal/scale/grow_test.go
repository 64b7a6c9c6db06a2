package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// small is a record of the healthy run on a cluster that also has three simulated nodes, and on them two filling pods; one of them is replaced.
func small(t *testing.T, promises ...invariant.Invariant) string {
	t.Helper()
	b := ht.Healthy().Header(func(h *history.Header) {
		for _, i := range promises {
			p, err := invariant.Encode(i)
			if err != nil {
				t.Fatal(err)
			}
			h.Promises = append(h.Promises, p)
		}
	})
	for _, name := range []string{"sim-00000", "sim-00001", "sim-00002"} {
		b.Node(2*time.Second, ht.ReadyNode(name, "s"))
	}
	selector := map[string]string{"app.kubernetes.io/name": "fill-1"}
	b.Workload(3*time.Second, history.Workload{
		Change: history.Listed, Name: "fill-1", Selector: selector, Replicas: 2, Updated: 2, Ready: 2, Available: 2, Total: 2, Observed: true,
	})
	pod := func(at time.Duration, name, node string, change history.Change) {
		p := ht.ReadyPod(name, node, change)
		p.Labels = selector
		b.Pod(at, p)
	}
	pod(3*time.Second, "fill-1-a", "sim-00000", history.Listed)
	pod(3*time.Second, "fill-1-b", "sim-00002", history.Listed)
	pod(18*time.Second, "fill-1-b", "sim-00002", history.Deleted)
	pod(18*time.Second, "fill-1-c", "sim-00001", history.Added)
	dir := filepath.Join(t.TempDir(), "small")
	if err := b.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// counts are how many simulated nodes, filling pods and their Deployments a whole record is about, and how many nodes such pods were on.
func counts(t *testing.T, run history.Run) (nodes, pods, workloads, used int) {
	t.Helper()
	if run.Incomplete != "" {
		t.Fatalf("the record is incomplete: %s", run.Incomplete)
	}
	ofNodes, ofPods, ofWorkloads, on := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, e := range run.Events {
		switch {
		case e.Node != nil && strings.HasPrefix(e.Node.Name, "sim-"):
			ofNodes[e.Node.Name] = true
			if e.Node.Labels[ht.HostLabel] != e.Node.Name {
				t.Errorf("node %s has the host name %s", e.Node.Name, e.Node.Labels[ht.HostLabel])
			}
		case e.Pod != nil && strings.HasPrefix(e.Pod.Name, "fill-"):
			ofPods[e.Pod.UID+" "+e.Pod.Name] = true
			on[e.Pod.Node] = true
			if !strings.HasPrefix(e.Pod.Name, e.Pod.Labels["app.kubernetes.io/name"]+"-") {
				t.Errorf("pod %s belongs to %s", e.Pod.Name, e.Pod.Labels["app.kubernetes.io/name"])
			}
		case e.Workload != nil && strings.HasPrefix(e.Workload.Name, "fill-"):
			ofWorkloads[e.Workload.Name] = true
			if e.Workload.Selector["app.kubernetes.io/name"] != e.Workload.Name {
				t.Errorf("Deployment %s selects %v", e.Workload.Name, e.Workload.Selector)
			}
		}
	}
	for name := range on {
		if !ofNodes[name] {
			t.Errorf("pods are on node %s, which the record does not know", name)
		}
	}
	return len(ofNodes), len(ofPods), len(ofWorkloads), len(on)
}

func open(t *testing.T, dir string) history.Run {
	t.Helper()
	run, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// TestAGrownRecord has so many times the nodes and pods, each an object of its own, and is judged as the original: what was held is held with the
// same words, and what was broken is broken.
func TestAGrownRecord(t *testing.T) {
	promises := []invariant.Invariant{
		invariant.NoFailedRequests{}, invariant.Spread{TopologyKey: ht.ZoneLabel, Max: 1, Workload: ht.Deployment},
		invariant.RecoversWithin{Limit: time.Nanosecond, Workload: ht.Deployment}, invariant.BudgetHonoured{},
	}
	dir := small(t, promises...)
	before := open(t, dir)
	want := judge.Judge(before)
	seen := map[verdict.Outcome]bool{}
	for _, v := range want {
		seen[v.Outcome] = true
	}
	if !seen[verdict.Held] || !seen[verdict.Violated] {
		t.Fatalf("the original shows too little: %+v", want)
	}
	for _, by := range [][2]string{{"1", "1"}, {"4", "1"}, {"1", "5"}, {"3", "7"}, {"7", "3"}} {
		t.Run(by[0]+" times the nodes, "+by[1]+" times the pods", func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "grown")
			if err := grow([]string{dir, by[0], by[1], to}); err != nil {
				t.Fatal(err)
			}
			grown := open(t, to)
			nodes, pods, workloads, used := counts(t, grown)
			timesNodes, timesPods := int(by[0][0]-'0'), int(by[1][0]-'0')
			if nodes != 3*timesNodes || pods != 3*timesPods || workloads != timesPods || used != 3*min(timesNodes, timesPods) {
				t.Errorf("%d nodes, %d pods on %d of them, %d Deployments", nodes, pods, used, workloads)
			}
			got := judge.Judge(grown)
			if diff := cmp.Diff(outcomesOf(want), outcomesOf(got)); diff != "" {
				t.Errorf("judged otherwise (-want +got):\n%s", diff)
			}
		})
	}
}

func outcomesOf(all []verdict.Verdict) (list []string) {
	for _, v := range all {
		list = append(list, string(v.Outcome)+" "+v.Seen)
	}
	return list
}

func TestWhatCannotGrow(t *testing.T) {
	dir := small(t)
	cut := filepath.Join(t.TempDir(), "cut")
	if err := os.CopyFS(cut, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	events := filepath.Join(cut, history.EventsFile)
	text, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if err := os.WriteFile(events, []byte(strings.Join(lines[:len(lines)-2], "")), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string // the new folder is added
		want string
	}{
		"no nodes":      {[]string{dir, "0", "2"}, "want at least 1"},
		"fewer pods":    {[]string{dir, "2", "-1"}, "want at least 1"},
		"half":          {[]string{dir, "1.5", "2"}, `"1.5": invalid syntax`},
		"both wrong":    {[]string{dir, "x", "y"}, `"y": invalid syntax`},
		"too few words": {[]string{dir, "2"}, "want the folder of a scenario's record"},
		"too many":      {[]string{dir, "2", "2", "2"}, "want the folder of a scenario's record"},
		"no record":     {[]string{filepath.Join(dir, "none"), "2", "2"}, "no such file"},
		"no end":        {[]string{cut, "2", "2"}, "the record has no end"},
	} {
		to := filepath.Join(t.TempDir(), "new")
		errtest.Check(t, grow(append(test.args, to)), test.want)
		if run, err := history.Open(to); err == nil && run.Incomplete == "" {
			t.Errorf("%s: there is a whole record", name)
		}
	}
}
