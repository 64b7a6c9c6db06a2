package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// fold is a number of pods of a burst between which no rule of the burst can tell, in the order in which they were bound:
// of one kind, on nodes that make the same domains, and with the same around them. Where one of them may be the next,
// so may the first of them; so a search need only know how many of each fold were placed.
type fold struct {
	pods   []*PlacedPod
	scenes []*burstScene // nil: not accused
}

// burstScene is the scene of a pod of a burst.
type burstScene struct {
	*scene
	folds []foldPlace // of each of the scene's pods
}

// foldPlace is which pod of which fold a pod is; a fold of -1: it is not of the burst.
type foldPlace struct{ fold, nth int }

// folded folds the pods of a burst.
func (l *PlacementLedger) folded(pods []*PlacedPod, accused func(*PlacedPod) bool) (folds []*fold) {
	scenes := make([]*scene, len(pods))
	in := make(map[*PlacedPod]foldPlace, len(pods))
	for i, p := range pods {
		in[p] = foldPlace{}
		if accused(p) {
			scenes[i] = l.scene(p, evidence.WatchSkew)
		}
	}
	r := foldRulesOf(pods)
	nodes := r.alike(l.names, scenes)
	known := make(map[string]int)
	for i, p := range pods {
		kind := fmt.Sprintf("%s\non %q", p.kind(), nodes[p.Node])
		kind += "\nends " + p.endings(scenes)
		if scenes[i] != nil {
			kind += "\naround " + r.around(scenes[i], in)
		}
		n, old := known[kind]
		if !old {
			n = len(folds)
			known[kind] = n
			folds = append(folds, &fold{})
		}
		in[p] = foldPlace{n, len(folds[n].pods)}
		folds[n].pods = append(folds[n].pods, p)
		folds[n].scenes = append(folds[n].scenes, nil)
	}
	for i, p := range pods {
		if scenes[i] == nil {
			continue
		}
		b := &burstScene{scene: scenes[i]}
		for _, q := range b.pods {
			at, is := in[q.PlacedPod]
			if !is {
				at.fold = -1
			}
			b.folds = append(b.folds, at)
		}
		folds[in[p].fold].scenes[in[p].nth] = b
	}
	return folds
}

// endings says for which of the scenes the pod had begun to go, or ended, and for which it may have.
func (p *PlacedPod) endings(scenes []*scene) string {
	return runs(len(scenes), func(i int) string {
		if scenes[i] == nil {
			return "-"
		}
		return p.endedIn(scenes[i])
	})
}

// endedIn says whether the pod had begun to go, and had ended, in a scene, or may have.
func (p *PlacedPod) endedIn(s *scene) string {
	return fmt.Sprintf("%d%d", p.going.EndedBefore(s.pod.Bound, evidence.WatchSkew), p.over.EndedBefore(s.pod.Bound, evidence.WatchSkew))
}

// runs joins what is said of each of n things, and says what is said again only when it changes.
func runs(n int, say func(i int) string) string {
	var text strings.Builder
	last := ""
	for i := range n {
		if said := say(i); i == 0 || said != last {
			fmt.Fprintf(&text, "%d:%s;", i, said)
			last = said
		}
	}
	return text.String()
}

// foldRules are the rules of a burst, each once: what they do not ask for makes no difference between nodes.
type foldRules struct {
	rules []*podRules
	keys  []string // topologies that they speak of
}

func foldRulesOf(pods []*PlacedPod) (r foldRules) {
	seen := make(map[string]bool)
	for _, p := range pods {
		if seen[p.rulesText] {
			continue
		}
		seen[p.rulesText] = true
		r.rules = append(r.rules, p.Rules)
		for _, c := range p.Rules.Spread {
			r.keys = append(r.keys, c.TopologyKey)
		}
		for _, t := range slices.Concat(p.Rules.Affinity.Pod.Required, p.Rules.Affinity.Anti.Required) {
			r.keys = append(r.keys, t.TopologyKey)
		}
	}
	slices.Sort(r.keys)
	r.keys = slices.Compact(r.keys)
	return r
}

// state says all that the rules can ask of a node.
func (r foldRules) state(n history.Node) string {
	var text strings.Builder
	for _, key := range r.keys {
		value, has := n.Labels[key]
		fmt.Fprintf(&text, "%q %t,", value, has)
	}
	for _, rules := range r.rules {
		fmt.Fprintf(&text, "%t %t,", rules.chooses(n), rules.untolerated(n) == "")
	}
	fmt.Fprintf(&text, "%t", n.Unschedulable)
	return text.String()
}

// view says all that the rules can ask of a node as it may have been seen.
func (r foldRules) view(v *nodeView) (text string, single bool) {
	var states []string
	for _, n := range v.states {
		if said := r.state(n); !slices.Contains(states, said) {
			states = append(states, said)
		}
	}
	return fmt.Sprintf("%t %s", v.gone, strings.Join(states, "|")), len(states) == 1 && !v.gone
}

// alike gives each node a text that it shares with those that are as good as it in every scene. A node that may have been
// seen in several states is like no other: a pod shares its own node's domain whatever that is.
func (r foldRules) alike(names []string, scenes []*scene) map[string]string {
	texts := make(map[string]string, len(names))
	for _, name := range names {
		texts[name] = runs(len(scenes), func(i int) string {
			if scenes[i] == nil {
				return "-"
			}
			at := slices.IndexFunc(scenes[i].nodes, func(v *nodeView) bool { return v.name == name })
			if at < 0 {
				return "not there"
			}
			text, single := r.view(scenes[i].nodes[at])
			if !single {
				text += " of " + name
			}
			return text
		})
	}
	return texts
}

// around says all that the rules can ask of what is in a scene, but for which pods of the burst were placed before.
func (r foldRules) around(s *scene, burst map[*PlacedPod]foldPlace) string {
	var text strings.Builder
	for _, v := range s.nodes {
		said, _ := r.view(v)
		fmt.Fprintf(&text, "%s: %s;", v.name, said)
	}
	for _, q := range s.pods {
		if _, in := burst[q.PlacedPod]; !in {
			fmt.Fprintf(&text, "%s %d%d;", q.UID, q.counted, q.there)
		} else if left := q.endedIn(s); left != "00" {
			fmt.Fprintf(&text, "%s ended %s;", q.UID, left)
		}
	}
	return text.String()
}
