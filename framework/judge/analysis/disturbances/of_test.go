package disturbances_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
)

const s = time.Second

// cluster has workers w1 to w3, and the pods a-1 to a-3 of shop/a, one on each.
func cluster() *ht.Builder {
	b := ht.New().Phase(history.Steady, 2*s).Phase(history.Drained, 1000*s)
	for i := range 3 {
		node(b, s, fmt.Sprintf("w%d", i+1), nil)
		pod(b, s, fmt.Sprintf("a-%d", i+1), fmt.Sprintf("w%d", i+1), func(p *history.Pod) { p.Change = history.Listed })
	}
	workload(b, s, 3, "t1")
	return b
}

func node(b *ht.Builder, at history.Offset, name string, edit func(*history.Node)) {
	n := history.Node{Change: history.Modified, Name: name, Ready: "True", Kubelet: "v1.36.3"}
	if at <= s {
		n.Change = history.Listed
	}
	if edit != nil {
		edit(&n)
	}
	b.Node(at, n)
}

func pod(b *ht.Builder, at history.Offset, name, on string, edit func(*history.Pod)) {
	p := history.Pod{
		Change: history.Modified, Namespace: "shop", Name: name, UID: "uid-" + name, Node: on, Phase: "Running", Ready: true, IP: "10.0.0.1",
		Labels: map[string]string{"app": "a", ht.RevisionLabel: "r1"},
	}
	if edit != nil {
		edit(&p)
	}
	b.Pod(at, p)
}

func workload(b *ht.Builder, at history.Offset, replicas int, template string) {
	b.Workload(at, history.Workload{
		Change: history.Modified, Namespace: "shop", Name: "a", Selector: map[string]string{"app": "a"}, Template: template,
		Replicas: replicas, Updated: replicas, Ready: replicas, Available: replicas, Total: replicas, Observed: true,
	})
}

// ends tells a pod to end for a reason, and takes it away three seconds later.
func ends(b *ht.Builder, at history.Offset, name, on, reason string) {
	pod(b, at, name, on, func(p *history.Pod) { p.Deleting, p.Disruption = true, reason })
	pod(b, at+3*s, name, on, func(p *history.Pod) {
		p.Change, p.Deleting, p.Disruption, p.Ready = history.Deleted, true, reason, false
	})
}

// born is a new pod, of a revision.
func born(b *ht.Builder, at history.Offset, name, on, revision string) {
	pod(b, at, name, on, func(p *history.Pod) {
		p.Change, p.Labels = history.Added, map[string]string{"app": "a", ht.RevisionLabel: revision}
	})
}

func cordoned(n *history.Node) { n.Unschedulable = true }
func unknown(n *history.Node)  { n.Ready = "Unknown" }

// TestOf has a history for each kind, and what is said of it.
func TestOf(t *testing.T) {
	for name, test := range map[string]struct {
		play func(*ht.Builder)
		want []string // kind, from, over and words
	}{
		"nothing": {func(*ht.Builder) {}, nil},
		"heartbeats and labels are nothing": {func(b *ht.Builder) {
			node(b, 10*s, "w1", func(n *history.Node) { n.Labels = map[string]string{"rack": "7"} })
			workload(b, 11*s, 3, "t1")
		}, nil},
		"a drain": {func(b *ht.Builder) {
			node(b, 12*s, "w2", cordoned)
			ends(b, 13*s, "a-2", "w2", "EvictionByEvictionAPI")
			born(b, 13*s, "a-4", "w1", "r1")
			node(b, 64*s, "w2", nil)
		}, []string{"drain 12s-13s: node w2 was drained: cordoned at 12s, 1 pod evicted until 13s, uncordoned at 1m4s"}},
		"a drain that was begun before the record": {func(b *ht.Builder) {
			b.EditEvents(func(e *history.Event) {
				if e.Node != nil && e.Node.Name == "w2" {
					e.Node.Unschedulable = true
				}
			})
			node(b, 12*s, "w2", cordoned)
			ends(b, 13*s, "a-2", "w2", "EvictionByEvictionAPI")
		}, []string{"drain 13s-13s: node w2 was drained: cordoned before the record began, 1 pod evicted until 13s"}},
		"a drain without evictions": {func(b *ht.Builder) {
			node(b, 12*s, "w2", cordoned)
			ends(b, 13*s, "a-2", "w2", "")
			born(b, 13*s, "a-4", "w1", "r1")
		}, []string{"drain 12s-13s: node w2 was drained: cordoned at 12s, 1 pod deleted until 13s"}},
		"a drain by a taint": {func(b *ht.Builder) {
			node(b, 12*s, "w2", func(n *history.Node) { n.Taints = []string{"karpenter.sh/disrupted:NoSchedule"} })
			ends(b, 13*s, "a-2", "w2", "EvictionByEvictionAPI")
			node(b, 20*s, "w2", func(n *history.Node) { n.Change = history.Deleted })
			node(b, 15*s, "w9", func(n *history.Node) { n.Change, n.Ready = history.Added, "False" })
		}, []string{"drain 12s-13s: node w2 was replaced: tainted at 12s, 1 pod evicted until 13s, node w9 was added at 15s in its place, deleted at 20s"}},
		"a node that is always tainted": {func(b *ht.Builder) {
			always := func(n *history.Node) { n.Taints = []string{"dedicated=shop:NoSchedule"} }
			b.EditEvents(func(e *history.Event) {
				if e.Node != nil && e.Node.Name == "w2" {
					always(e.Node)
				}
			})
			node(b, 12*s, "w2", always)
		}, nil},
		"a cordon": {func(b *ht.Builder) {
			node(b, 12*s, "w2", cordoned)
			node(b, 20*s, "w2", nil)
		}, []string{"cordon 12s-12s: node w2 was cordoned: cordoned at 12s, uncordoned at 20s"}},
		"a lost node": {func(b *ht.Builder) {
			node(b, 120*s, "w2", unknown)
			ends(b, 420*s, "a-2", "w2", "DeletionByTaintManager")
			born(b, 420*s, "a-4", "w1", "r1")
			node(b, 500*s, "w2", nil)
		}, []string{"node-lost 1m54s-7m0s: node w2 was lost: not Ready (Unknown) at 2m0s, 1 recorded pod on it, " +
			"1 pod deleted as the node was lost until 7m0s, Ready again at 8m20s"}},
		"a node that is lost for a moment": {func(b *ht.Builder) {
			node(b, 120*s, "w2", unknown)
			node(b, 140*s, "w2", nil)
		}, []string{"node-lost 1m54s-2m20s: node w2 was lost: not Ready (Unknown) at 2m0s, 1 recorded pod on it, Ready again at 2m20s"}},
		"a node that is lost and stays so, with its pod": {func(b *ht.Builder) {
			node(b, 120*s, "w2", unknown)
		}, []string{"node-lost 1m54s-open: node w2 was lost: not Ready (Unknown) at 2m0s, 1 recorded pod on it"}},
		"a node without recorded pods that is lost": {func(b *ht.Builder) {
			node(b, s, "w4", nil)
			node(b, 120*s, "w4", unknown)
			node(b, 140*s, "w4", nil)
		}, []string{"node-unready 2m0s-2m0s: node w4 was not Ready: not Ready (Unknown) at 2m0s, Ready again at 2m20s"}},
		"a node that is deleted with its pod": {func(b *ht.Builder) {
			node(b, 120*s, "w2", func(n *history.Node) { n.Change = history.Deleted })
			ends(b, 160*s, "a-2", "w2", "DeletionByPodGC")
			node(b, 130*s, "w9", func(n *history.Node) { n.Change = history.Added })
		}, []string{"node-lost 1m58s-2m40s: node w2 was lost: deleted at 2m0s, 1 recorded pod on it, node w9 was added at 2m10s in its place, " +
			"1 pod deleted as the node was lost until 2m40s"}},
		"an upgrade of a node": {func(b *ht.Builder) {
			node(b, 12*s, "w2", cordoned)
			ends(b, 13*s, "a-2", "w2", "EvictionByEvictionAPI")
			node(b, 20*s, "w2", func(n *history.Node) { n.Unschedulable, n.Ready = true, "False" })
			node(b, 30*s, "w2", func(n *history.Node) { n.Unschedulable, n.Kubelet = true, "v1.37.0" })
			node(b, 31*s, "w2", func(n *history.Node) { n.Kubelet = "v1.37.0" })
		}, []string{"drain 12s-13s: node w2 was drained: cordoned at 12s, 1 pod evicted until 13s, not Ready (False) at 20s, Ready again at 30s, " +
			"its kubelet changed from v1.36.3 to v1.37.0 at 30s, uncordoned at 31s"}},
		"an upgrade of a kubelet with its pods in place": {func(b *ht.Builder) {
			node(b, 30*s, "w2", func(n *history.Node) { n.Kubelet = "v1.37.0" })
		}, []string{"node-upgrade 30s-30s: node w2 was upgraded: its kubelet changed from v1.36.3 to v1.37.0 at 30s"}},
		"a node that restarts with its pods": {func(b *ht.Builder) {
			node(b, 30*s, "w2", func(n *history.Node) { n.Ready = "False" })
			pod(b, 50*s, "a-2", "w2", func(p *history.Pod) { p.Restarts, p.Ready = 1, false })
			node(b, 51*s, "w2", nil)
			pod(b, 55*s, "a-2", "w2", func(p *history.Pod) { p.Restarts = 1 })
		}, []string{"node-lost 28s-51s: node w2 was lost: not Ready (False) at 30s, 1 recorded pod on it, 1 container restarted until 50s, Ready again at 51s"}},
		"a node that is added": {func(b *ht.Builder) {
			node(b, 30*s, "w9", func(n *history.Node) { n.Change, n.Ready = history.Added, "False" })
			node(b, 31*s, "w9", nil)
		}, []string{"node-added 30s-30s: node w9 was added at 30s"}},
		"a rollout": {func(b *ht.Builder) {
			workload(b, 12*s, 3, "t2")
			for i := range 3 {
				at := 14*s + time.Duration(i)*5*s
				born(b, at-s, fmt.Sprintf("b-%d", i), "w1", "r2")
				ends(b, at, fmt.Sprintf("a-%d", i+1), fmt.Sprintf("w%d", i+1), "")
			}
			workload(b, 30*s, 3, "t2")
		}, []string{"rollout 12s-24s: shop/a was rolled out at 12s: 3 pods replaced until 24s"}},
		"a rollout that goes nowhere": {func(b *ht.Builder) {
			b.Workload(12*s, history.Workload{Change: history.Modified, Namespace: "shop", Name: "a", Selector: map[string]string{"app": "a"},
				Template: "t2", Replicas: 3, Updated: 1, Ready: 3, Available: 3, Total: 4, Observed: true})
			born(b, 13*s, "b-1", "w1", "r2")
		}, []string{"rollout 12s-open: shop/a was rolled out at 12s: no pod was ended, and it was not complete when the record ended"}},
		"two rollouts": {func(b *ht.Builder) {
			workload(b, 12*s, 3, "t2")
			born(b, 13*s, "b-1", "w1", "r2")
			ends(b, 14*s, "a-1", "w1", "")
			workload(b, 40*s, 3, "t3")
			born(b, 41*s, "c-1", "w1", "r3")
			ends(b, 42*s, "a-2", "w2", "")
			workload(b, 50*s, 3, "t3")
		}, []string{
			"rollout 12s-14s: shop/a was rolled out at 12s: 1 pod replaced until 14s",
			"rollout 40s-42s: shop/a was rolled out at 40s: 1 pod replaced until 42s",
		}},
		"a rollout in an older record": {func(b *ht.Builder) {
			b.EditEvents(func(e *history.Event) {
				if e.Workload != nil {
					e.Workload.Template = ""
				}
			})
			workload(b, 12*s, 3, "")
			born(b, 13*s, "b-1", "w1", "r2")
			ends(b, 14*s, "a-1", "w1", "")
			born(b, 18*s, "b-2", "w1", "r2")
			ends(b, 19*s, "a-2", "w2", "")
		}, []string{"rollout 14s-19s: shop/a was rolled out: 2 pods replaced from 14s to 19s"}},
		"a scale-down": {func(b *ht.Builder) {
			workload(b, 12*s, 1, "t1")
			ends(b, 12500*time.Millisecond, "a-1", "w1", "")
			ends(b, 13*s, "a-2", "w2", "")
		}, []string{"scale 12s-13s: shop/a was scaled from 3 to 1 at 12s: 2 pods ended until 13s"}},
		"a scale-up": {func(b *ht.Builder) {
			workload(b, 12*s, 5, "t1")
			born(b, 12*s, "a-4", "w1", "r1")
			born(b, 13*s, "a-5", "w1", "r1")
		}, []string{"scale 12s-13s: shop/a was scaled from 3 to 5 at 12s: 2 pods created until 13s"}},
		"evictions": {func(b *ht.Builder) {
			ends(b, 12*s, "a-1", "w1", "EvictionByEvictionAPI")
			ends(b, 15*s, "a-2", "w2", "EvictionByEvictionAPI")
			ends(b, 80*s, "a-3", "w3", "EvictionByEvictionAPI")
		}, []string{
			"eviction 12s-15s: 2 pods of shop/a were evicted through the API from 12s to 15s",
			"eviction 1m20s-1m20s: 1 pod of shop/a was evicted through the API at 1m20s",
		}},
		"a deletion": {func(b *ht.Builder) {
			ends(b, 12*s, "a-1", "w1", "")
			born(b, 12*s, "a-4", "w1", "r1")
		}, []string{"deletion 12s-12s: 1 pod of shop/a was deleted at 12s"}},
		"a preemption": {func(b *ht.Builder) { ends(b, 12*s, "a-1", "w1", "PreemptionByScheduler") },
			[]string{"preemption 12s-12s: 1 pod of shop/a was preempted for pods of a higher priority at 12s"}},
		"the taint manager on a node that is there": {func(b *ht.Builder) { ends(b, 12*s, "a-1", "w1", "DeletionByTaintManager") },
			[]string{"taint-eviction 12s-12s: 1 pod of shop/a was evicted by the taint manager at 12s"}},
		"a kubelet under pressure": {func(b *ht.Builder) {
			b.Event(history.Event{T: 11 * s, KubeNote: &history.KubeNote{Namespace: "shop", Kind: "Pod", Name: "a-1", Reason: "Evicted"}})
			pod(b, 15*s, "a-1", "w1", func(p *history.Pod) { p.Phase, p.Ready, p.Disruption = "Failed", false, "TerminationByKubelet" })
			pod(b, 90*s, "a-1", "w1", func(p *history.Pod) { p.Change, p.Phase = history.Deleted, "Failed" })
		}, []string{"pressure 8s-11s: node w1 was short of a resource: its kubelet evicted 1 pod at 11s"}},
		"a kubelet that is shut down": {func(b *ht.Builder) {
			pod(b, 30*s, "a-1", "w1", func(p *history.Pod) { p.Phase, p.Ready, p.Disruption = "Failed", false, "TerminationByKubelet" })
			node(b, 31*s, "w1", func(n *history.Node) { n.Ready = "False" })
		}, []string{"node-lost 31s-31s: node w1 was lost: 1 pod ended by the kubelet until 30s, not Ready (False) at 31s"}},
		"a container that restarts": {func(b *ht.Builder) {
			pod(b, 2*s, "a-1", "w1", nil)
			pod(b, 20*s, "a-1", "w1", func(p *history.Pod) { p.Restarts, p.Ready = 1, false })
			pod(b, 22*s, "a-1", "w1", func(p *history.Pod) { p.Restarts = 1 })
		}, []string{"restart 17s-20s: 1 container of shop/a was restarted at 20s"}},
		"a pod that never starts": {func(b *ht.Builder) {
			pod(b, 12*s, "a-4", "w1", func(p *history.Pod) { p.Change, p.Ready = history.Added, false })
			pod(b, 20*s, "a-4", "w1", func(p *history.Pod) { p.Restarts, p.Ready = 1, false })
			pod(b, 30*s, "a-4", "w1", func(p *history.Pod) { p.Restarts, p.Ready = 2, false })
		}, nil},
		"a pod that fails": {func(b *ht.Builder) {
			pod(b, 20*s, "a-1", "w1", func(p *history.Pod) { p.Phase, p.Ready = "Failed", false })
		}, []string{"failure 17s-20s: 1 pod of shop/a was seen to fail at 20s"}},
		"a Job that is done, and removed": {func(b *ht.Builder) {
			job := func(p *history.Pod) { p.Labels = map[string]string{"job-name": "j"} }
			pod(b, 12*s, "j-1", "w1", func(p *history.Pod) { job(p); p.Change = history.Added })
			pod(b, 20*s, "j-1", "w1", func(p *history.Pod) { job(p); p.Phase, p.Ready = "Succeeded", false })
			pod(b, 30*s, "j-1", "w1", func(p *history.Pod) { job(p); p.Phase, p.Change = "Succeeded", history.Deleted })
		}, nil},
		"a pod that nobody owns is deleted": {func(b *ht.Builder) {
			bare := func(p *history.Pod) { p.Labels = nil }
			pod(b, 2*s, "j-1", "w1", bare)
			pod(b, 20*s, "j-1", "w1", func(p *history.Pod) { bare(p); p.Deleting = true })
		}, []string{"deletion 20s-20s: 1 pod of no Deployment or StatefulSet was deleted at 20s"}},
		"the API server's version": {func(b *ht.Builder) {
			for at, v := range map[history.Offset]string{s: "v1.36.3", 100 * s: "v1.36.3", 200 * s: "v1.37.0"} {
				b.Event(history.Event{T: at, Server: &history.Server{Version: v}})
			}
		}, []string{"server-upgrade 3m20s-3m20s: the API server's version changed from v1.36.3 to v1.37.0 at 3m20s"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := cluster()
			test.play(b)
			var got []string
			for _, d := range disturbances.Of(b.Run()) {
				got = append(got, described(d))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func described(d disturbances.Disturbance) string {
	over := d.Over.Round(time.Millisecond).String()
	if d.Open {
		over = "open"
	}
	return fmt.Sprintf("%s %s-%s: %s", d.Kind, d.From.Round(time.Millisecond), over, d.Words)
}

// TestEveryPodEndsOnce: no pod is taken by two disturbances, whatever happens at the same time, and none is forgotten.
func TestEveryPodEndsOnce(t *testing.T) {
	b := cluster()
	node(b, 12*s, "w2", cordoned)
	workload(b, 12*s, 3, "t2")
	born(b, 13*s, "b-1", "w1", "r2")
	ends(b, 14*s, "a-1", "w1", "")                      // the rollout
	ends(b, 14*s, "a-2", "w2", "EvictionByEvictionAPI") // the drain
	node(b, 15*s, "w3", unknown)
	ends(b, 20*s, "a-3", "w3", "DeletionByTaintManager")
	times := make(map[string]int)
	for _, d := range disturbances.Of(b.Run()) {
		for _, p := range d.Pods {
			times[p.Name]++
		}
	}
	if diff := cmp.Diff(map[string]int{"a-1": 1, "a-2": 1, "a-3": 1}, times); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOrderOfEventsOfOneMoment: what is read does not depend on the order in which a record has events of one moment.
func TestOrderOfEventsOfOneMoment(t *testing.T) {
	build := func() *ht.Builder {
		b := cluster()
		node(b, 12*s, "w2", cordoned)
		ends(b, 12*s, "a-2", "w2", "EvictionByEvictionAPI")
		born(b, 12*s, "a-4", "w1", "r1")
		return b
	}
	run := build().Run()
	want := fmt.Sprint(disturbances.Of(run))
	slices.Reverse(run.Events[1:])
	slices.SortStableFunc(run.Events, func(a, b history.Event) int { return int(a.T - b.T) })
	if got := fmt.Sprint(disturbances.Of(run)); got != want || !strings.Contains(got, "was drained") {
		t.Errorf("%s\nand the other way round\n%s", want, got)
	}
}
