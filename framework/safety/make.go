package disturb

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// Make plans what would be done to a cluster. Of several pods or nodes that a fault can be done to, it takes one of which no rule refuses
// anything, at random but repeatably.
func Make(r Request, s Snapshot) Plan {
	r.Limits = r.Limits.WithDefaults()
	v := newView(&s)
	p := Plan{Cluster: s.Cluster, Runs: v.runs(r.Home), Refusals: v.check(&r, nil), Own: owned(&r)}
	tested, missing := v.tested(&r)
	for _, o := range missing {
		p.Refusals = append(p.Refusals, Refusal{
			Rule: steadyFirst.Number, Object: o, Reason: "it is not there, or could not be read", Next: "see kubectl -n " + r.Namespace + " get deployments,statefulsets",
		})
	}
	for _, w := range tested {
		for _, f := range r.Faults {
			p.Steps = append(p.Steps, v.best(&r, w, f))
		}
	}
	return p
}

// tested are the workloads under test, and missing are those that do not exist or could not be read.
func (v *view) tested(r *Request) (all []*Workload, missing []Object) {
	for _, o := range r.Workloads {
		i := slices.IndexFunc(v.workloads, func(w *Workload) bool { return w.Namespace == r.Namespace && w.Kind == o.Kind && w.Name == o.Name })
		if i < 0 {
			missing = append(missing, Object{Kind: o.Kind, Namespace: r.Namespace, Name: o.Name})
			continue
		}
		all = append(all, v.workloads[i])
	}
	return all, missing
}

// Ending are the workloads whose pods may end, whichever pod or node is taken.
func Ending(r Request, s Snapshot) (all []Object) {
	v := newView(&s)
	tested, _ := v.tested(&r)
	for _, w := range tested {
		for _, f := range r.Faults {
			for _, step := range v.candidates(&r, w, f) {
				for _, p := range step.victims {
					if owner := v.ownerOf(p); owner != nil && !slices.Contains(all, owner.Object) {
						all = append(all, owner.Object)
					}
				}
			}
		}
	}
	return all
}

// Again is why a step that was planned on an older snapshot is refused now: by a rule, or because an object that it touches is another one.
func Again(r Request, s Snapshot, step Step) []Refusal {
	r.Limits = r.Limits.WithDefaults()
	r.Faults = []catalogue.Fault{step.Of}
	v := newView(&s)
	refused := v.check(&r, nil)
	tested, _ := v.tested(&r)
	for _, w := range tested {
		candidates := v.candidates(&r, w, step.Of)
		for i := range candidates {
			if slices.EqualFunc(candidates[i].Touches, step.Touches, func(a, b Touch) bool { return a.Object == b.Object && a.Does == b.Does }) {
				return append(refused, v.check(&r, &candidates[i])...)
			}
		}
	}
	return append(refused, Refusal{
		Rule: steadyFirst.Number, Object: step.Workload, Reason: "pods or nodes of it have changed since it was planned", Next: "begin again",
	})
}

// best is a step of which nothing is refused, or the first of those of which least is.
func (v *view) best(r *Request, w *Workload, f catalogue.Fault) Step {
	candidates := v.candidates(r, w, f)
	best := -1
	for i := range candidates {
		c := &candidates[i]
		c.Refusals = v.check(r, c)
		if best < 0 || len(c.Refusals) < len(candidates[best].Refusals) {
			best = i
		}
		if len(c.Refusals) == 0 {
			break
		}
	}
	step := candidates[best]
	if n := len(candidates) - 1; n > 0 && len(step.Refusals) > 0 {
		step.Notes = append(step.Notes, fmt.Sprintf("it could be done to %s as well, and each is refused", prose.Count(n, "other")))
	}
	return step
}

// candidates are a fault in a workload, for each pod or node that it could be done to. There is at least one.
func (v *view) candidates(r *Request, w *Workload, f catalogue.Fault) (all []Step) {
	base := Step{Fault: f.Name, Does: f.Does, Workload: w.Object, Box: metav1.Duration{Duration: r.Limits.Duration}, Of: f, target: w, Notes: w.lasts(f)}
	switch {
	case f.OnNode:
		all = v.onNodes(base)
	case f.Evicts:
		all = onPods(base)
	default:
		base.victims = w.pods
		base.Touches = []Touch{v.edit(base)}
		return []Step{base}
	}
	if len(all) == 0 {
		return []Step{base} // rule 13 says that the workload has no pod that is ready
	}
	shuffle := random(r.Seed, f.Name+" "+w.String())
	shuffle.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// onPods is the eviction of each ready pod.
func onPods(base Step) (all []Step) {
	for _, p := range base.target.ready() {
		one := base
		one.victims = append(one.victims, p)
		one.Touches = []Touch{evict(p)}
		all = append(all, one)
	}
	return all
}

// onNodes is what is done to each node that has a ready pod of the workload.
func (v *view) onNodes(base Step) (all []Step) {
	var seen []string
	for _, p := range base.target.ready() {
		node := v.nodes[p.Spec.NodeName]
		if node == nil || slices.Contains(seen, node.Name) {
			continue
		}
		seen = append(seen, node.Name)
		one := base
		one.node, one.Node = node, new(nodeObject(node))
		if one.Touches = []Touch{cordon(node)}; base.Of.ByHook {
			one.Touches = []Touch{note(node)}
		}
		if base.Of.EndsPods {
			one.victims = v.on(node.Name)
		}
		if base.Of.Evicts {
			for _, p := range one.victims {
				one.Touches = append(one.Touches, evict(p))
			}
		}
		all = append(all, one)
	}
	return all
}

// random is a source of random numbers that depends on a seed and on what it is for.
func random(seed uint64, what string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(what)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
