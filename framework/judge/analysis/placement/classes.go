package placement

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// podClass holds the pods of a batch between which no rule of the batch distinguishes, in the order in which they were bound:
// they are of one kind, on nodes with the same domains, and saw the same surroundings. If one of them may be the next, the first
// of them may be, so a search only needs to know how many pods of each class were placed.
type podClass struct {
	pods  []*PlacedPod
	views []*batchView // nil: the pod is not suspect
}

// batchView is the scheduling view of a pod of a batch.
type batchView struct {
	*schedulingView
	members []member // for each of the view's pods
}

// member is a pod's index in its class; a class of -1: the pod is not of the batch.
type member struct{ class, nth int }

// classify divides the pods of a batch into classes.
func (l *Ledger) classify(pods []*PlacedPod, suspect func(*PlacedPod) bool) (classes []*podClass) {
	views := make([]*schedulingView, len(pods))
	in := make(map[*PlacedPod]member, len(pods))
	for i, p := range pods {
		in[p] = member{}
		if suspect(p) {
			views[i] = l.view(p, evidence.WatchSkew)
		}
	}
	r := rulesOf(pods)
	nodes := r.nodeClasses(l.names, views)
	index := make(map[string]int)
	for i, p := range pods {
		kind := fmt.Sprintf("%s\non %q", p.kind(), nodes[p.Node])
		kind += "\nends " + p.endings(views)
		if views[i] != nil {
			kind += "\naround " + r.surroundings(views[i], in)
		}
		n, seen := index[kind]
		if !seen {
			n = len(classes)
			index[kind] = n
			classes = append(classes, &podClass{})
		}
		in[p] = member{n, len(classes[n].pods)}
		classes[n].pods = append(classes[n].pods, p)
		classes[n].views = append(classes[n].views, nil)
	}
	for i, p := range pods {
		if views[i] == nil {
			continue
		}
		b := &batchView{schedulingView: views[i]}
		for _, q := range b.pods {
			m, ok := in[q.PlacedPod]
			if !ok {
				m.class = -1
			}
			b.members = append(b.members, m)
		}
		classes[in[p].class].views[in[p].nth] = b
	}
	return classes
}

// endings describes, for each view, whether the pod was terminating and whether it had ended.
func (p *PlacedPod) endings(views []*schedulingView) string {
	return runLengths(len(views), func(i int) string {
		if views[i] == nil {
			return "-"
		}
		return p.endedIn(views[i])
	})
}

// endedIn describes whether the pod was terminating, and whether it had ended, in a view.
func (p *PlacedPod) endedIn(v *schedulingView) string {
	return fmt.Sprintf("%d%d", p.going.EndedBefore(v.pod.Bound, evidence.WatchSkew), p.over.EndedBefore(v.pod.Bound, evidence.WatchSkew))
}

// runLengths joins the descriptions of n things, and leaves out those that are equal to the one before.
func runLengths(n int, describe func(i int) string) string {
	var text strings.Builder
	last := ""
	for i := range n {
		if d := describe(i); i == 0 || d != last {
			fmt.Fprintf(&text, "%d:%s;", i, d)
			last = d
		}
	}
	return text.String()
}

// batchRules are the different rules of a batch. Only what they depend on makes a difference between nodes.
type batchRules struct {
	rules []*podRules
	keys  []string // their topology keys
}

func rulesOf(pods []*PlacedPod) (r batchRules) {
	seen := make(map[string]bool)
	for _, p := range pods {
		if seen[p.rulesText] {
			continue
		}
		seen[p.rulesText] = true
		r.rules = append(r.rules, p.Rules)
		r.keys = append(r.keys, p.Rules.topologyKeys()...)
	}
	slices.Sort(r.keys)
	r.keys = slices.Compact(r.keys)
	return r
}

// state describes everything about a node that the rules depend on.
func (r batchRules) state(n *corev1.Node) string {
	var text strings.Builder
	for _, key := range r.keys {
		value, has := n.Labels[key]
		fmt.Fprintf(&text, "%q %t,", value, has)
	}
	for _, rules := range r.rules {
		fit := rules.fit(n)
		fmt.Fprintf(&text, "%t %t,", fit.Admitted, fit.Untolerated == nil)
	}
	fmt.Fprintf(&text, "%t", n.Spec.Unschedulable)
	return text.String()
}

// states describes everything that the rules depend on about a node as the scheduler may have seen it. single is true if it can
// have seen one state only.
func (r batchRules) states(v *nodeView) (text string, single bool) {
	var states []string
	for _, n := range v.states {
		if state := r.state(n); !slices.Contains(states, state) {
			states = append(states, state)
		}
	}
	return fmt.Sprintf("%t %s", v.gone, strings.Join(states, "|")), len(states) == 1 && !v.gone
}

// nodeClasses gives equal texts to nodes that are equivalent in every view. A node that may have been seen in several states is in
// a class of its own, because a pod shares the domain of its own node in each of these states.
func (r batchRules) nodeClasses(names []string, views []*schedulingView) map[string]string {
	classes := make(map[string]string, len(names))
	for _, name := range names {
		classes[name] = runLengths(len(views), func(i int) string {
			if views[i] == nil {
				return "-"
			}
			at := slices.IndexFunc(views[i].nodes, func(v *nodeView) bool { return v.name == name })
			if at < 0 {
				return "absent"
			}
			text, single := r.states(views[i].nodes[at])
			if !single {
				text += " of " + name
			}
			return text
		})
	}
	return classes
}

// surroundings describes everything in a view that the rules depend on, except which pods of the batch were placed before.
func (r batchRules) surroundings(v *schedulingView, batch map[*PlacedPod]member) string {
	var text strings.Builder
	for _, n := range v.nodes {
		states, _ := r.states(n)
		fmt.Fprintf(&text, "%s: %s;", n.name, states)
	}
	for _, q := range v.pods {
		if _, in := batch[q.PlacedPod]; !in {
			fmt.Fprintf(&text, "%s %d%d;", q.UID, q.counted, q.there)
		} else if ended := q.endedIn(v); ended != "00" {
			fmt.Fprintf(&text, "%s ended %s;", q.UID, ended)
		}
	}
	return text.String()
}
