package schedulercheck

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// answer is how Placement judges a binding.
type answer int

const (
	legal answer = iota
	illegal
	unclear // the record does not decide it, which must not happen here
	refused // the rules are about pods that a record does not hold
)

func (a answer) String() string { return []string{"legal", "illegal", "unclear", "not weighed"}[a] }

// The times of the recorded events. What leads to the state that the scheduler finds is recorded so long before the binding, and
// later changes so long after it, that the order is certain.
const (
	listedAt = 2 * time.Second
	before   = 4 * time.Second // the earliest of the events before the binding; the last is at 8 s
	boundAt  = 12 * time.Second
	after    = 15 * time.Second
)

// ask lets Placement judge the record of a run in which the cluster's pod was bound to a node.
func (c *cluster) ask(node string) (answer, verdict.Verdict) {
	v := judge.Check(c.record(node), invariant.Placement{})
	of := func(name string) int { return int(v.Numbers[name]) }
	switch {
	case strings.Contains(strings.Join(append(v.Evidence, v.Seen), "\n"), "other namespaces"):
		return refused, v
	case of("bindings") == 1 && of("brokenBindings") == 1 && of("openBindings") == 0:
		return illegal, v
	case of("bindings") == 1 && of("certainBindings") == 1 && of("brokenBindings")+of("openBindings") == 0:
		return legal, v
	}
	return unclear, v
}

// record returns a random history that leads to the cluster, and continues after the binding.
func (c *cluster) record(node string) history.Run {
	d := newDice(c.path, 0)
	b := historytest.New().Phase(history.Provision, 0).Phase(history.Deploy, time.Second).Phase(history.Steady, 9*time.Second)
	b.Phase(history.Disturbed, 10*time.Second).Phase(history.Recovered, 20*time.Second).Phase(history.Drained, 21*time.Second)
	for i, stage := range []history.FaultStage{history.Injecting, history.Seen, history.Healing, history.Healed} {
		b.Fault(time.Duration(10+2*i)*time.Second, history.FaultMark{Name: "scale", Stage: stage})
	}
	// A Deployment selects the pod, so that it is judged whatever its labels are.
	b.Workload(listedAt, history.Workload{
		Change: history.Listed, Namespace: home, Name: "all", Selector: map[string]string{"record": "this"}, Observed: true,
	})
	for _, n := range c.nodes {
		addNode(d, b, n)
	}
	for _, p := range c.pods {
		addPod(d, b, p)
	}
	addGone(d, b, c)
	p := podOf(c.incoming, history.Added)
	b.Pod(before+d.within(4*time.Second), p)
	p.Change, p.Rules, p.Node = history.Modified, nil, node
	return b.Pod(boundAt, p).Run()
}

func (d dice) within(span time.Duration) time.Duration { return time.Duration(d.Int64N(int64(span))) }

// addNode records a node that has its state from the beginning or gets it before the binding, and may change after it.
func addNode(d dice, b *historytest.Builder, n *corev1.Node) {
	is := nodeOf(n, history.Listed)
	if d.in(4) {
		was := is
		was.Labels = maps.Clone(is.Labels)
		was.Labels[zoneKey], was.Unschedulable = "elsewhere", !is.Unschedulable
		if d.in(2) {
			was.Taints = []string{"new:NoSchedule"}
		}
		b.Node(listedAt, was)
		is.Change = pick(d, history.Modified, history.Listed)
		b.Node(before+d.within(4*time.Second), is)
	} else if d.in(6) {
		is.Change = history.Added
		b.Node(before+d.within(4*time.Second), is)
	} else {
		b.Node(listedAt, is)
	}
	if d.in(6) { // later changes do not matter
		will := is
		will.Change, will.Labels, will.Taints = pick(d, history.Modified, history.Deleted), map[string]string{hostKey: n.Name}, nil
		b.Node(after+d.within(time.Second), will)
	}
}

// addPod records a pod that was bound before the record begins, or before the binding that is judged.
func addPod(d dice, b *historytest.Builder, p *corev1.Pod) {
	is := podOf(p, history.Listed)
	is.Node = p.Spec.NodeName
	going := p.DeletionTimestamp != nil
	at := listedAt
	if d.in(2) {
		at = before + d.within(2*time.Second)
		is.Change = history.Added
		added := is
		added.Node = ""
		b.Pod(at, added)
		at += d.within(time.Second)
		is.Change, is.Rules = history.Modified, nil
	}
	is.Deleting = going && is.Change == history.Listed && d.in(2)
	b.Pod(at, is)
	is.Change, is.Rules = history.Modified, nil
	if going && !is.Deleting {
		is.Deleting = true
		b.Pod(at+d.within(time.Second), is)
	}
	switch d.IntN(8) { // later changes do not matter
	case 0:
		is.Deleting = true
		b.Pod(after, is)
	case 1:
		is.Change = history.Deleted
		b.Pod(after, is)
	}
}

// addGone records pods that have gone before the binding that is judged, and one that comes after it. None of them counts.
func addGone(d dice, b *historytest.Builder, c *cluster) {
	for i := range d.IntN(3) {
		p := podOf(c.incoming, history.Listed)
		p.Name = "gone-" + string(rune('a'+i))
		p.UID, p.Node = p.Name, pick(d, c.nodes...).Name
		b.Pod(listedAt, p)
		p.Rules = nil
		if d.in(2) {
			p.Change = history.Deleted
		} else {
			p.Change, p.Phase = history.Modified, pick(d, "Failed", "Succeeded")
		}
		b.Pod(before+d.within(4*time.Second), p)
	}
	if d.in(4) { // a pod that comes later
		p := podOf(c.incoming, history.Added)
		p.Name, p.UID = "later", "later"
		p.Labels = maps.Clone(p.Labels)
		delete(p.Labels, "record") // it is not judged
		b.Pod(after, p)
		p.Change, p.Rules, p.Node = history.Modified, nil, pick(d, c.nodes...).Name
		b.Pod(after+d.within(time.Second), p)
	}
}

func nodeOf(n *corev1.Node, change history.Change) history.Node {
	node := history.Node{Change: change, Name: n.Name, Labels: n.Labels, Ready: "True", Unschedulable: n.Spec.Unschedulable}
	for _, taint := range n.Spec.Taints {
		node.Taints = append(node.Taints, taint.ToString())
	}
	return node
}

// podOf returns a pod as package observe records it, without a node. The incoming pod has one more label, by which the Deployment
// of the record selects it.
func podOf(p *corev1.Pod, change history.Change) history.Pod {
	labels := maps.Clone(p.Labels)
	if labels == nil {
		labels = make(map[string]string)
	}
	if p.Name == "incoming" {
		labels["record"] = "this"
	}
	return history.Pod{
		Change: change, Namespace: p.Namespace, Name: p.Name, UID: p.Name, Labels: labels, Phase: "Running", Rules: rulesOf(p.Spec),
	}
}

func rulesOf(spec corev1.PodSpec) json.RawMessage {
	raw, err := json.Marshal(struct {
		NodeSelector map[string]string                 `json:"nodeSelector,omitempty"`
		Affinity     *corev1.Affinity                  `json:"affinity,omitempty"`
		Tolerations  []corev1.Toleration               `json:"tolerations,omitempty"`
		Spread       []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	}{spec.NodeSelector, spec.Affinity, spec.Tolerations, spec.TopologySpreadConstraints})
	if err != nil {
		panic(err) // plain API types always marshal
	}
	return raw
}

// aboutElsewhere reports whether a rule is about pods of other namespaces than its own. A record does not hold those pods.
func (c *cluster) aboutElsewhere() bool {
	return slices.ContainsFunc(append(slices.Clone(c.pods), c.incoming), func(p *corev1.Pod) bool {
		var terms []corev1.PodAffinityTerm
		if a := p.Spec.Affinity; a != nil && a.PodAffinity != nil {
			terms = append(terms, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution...)
		}
		if a := p.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
			terms = append(terms, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution...)
		}
		return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool {
			return t.NamespaceSelector != nil || slices.ContainsFunc(t.Namespaces, func(n string) bool { return n != p.Namespace })
		})
	})
}
