package parts

import (
	"encoding/json"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// rules are the parts of history.Pod.Rules that are about other pods. Selectors count with their matchLabels alone, which match more.
type rules struct {
	Spread   []struct{ LabelSelector labelSelector } `json:"topologySpreadConstraints"`
	Affinity struct {
		With    terms `json:"podAffinity"`
		Without terms `json:"podAntiAffinity"`
	} `json:"affinity"`
}

type labelSelector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

type terms struct {
	Required []struct{ LabelSelector labelSelector } `json:"requiredDuringSchedulingIgnoredDuringExecution"`
}

// joinByRules joins each pod with those that its scheduling rules are about. The rules of each text are read once in each namespace.
func (g *groups) joinByRules(events []history.Event) {
	by := newSelectors()
	read := make(map[history.Key]item) // the pod that stands for all of a namespace with the same rules
	for i := range events {
		p := events[i].Pod
		if p == nil || len(p.Rules) == 0 {
			continue
		}
		of := itemOf(pod, p.Namespace, p.Name)
		key := history.Key{Namespace: p.Namespace, Name: string(p.Rules)}
		if first, known := read[key]; known {
			if by.items[first] {
				g.join(first, of)
			}
			continue
		}
		read[key] = of
		for _, labels := range aboutOthers(p.Rules) {
			by.add(of, labels)
		}
	}
	g.joinSelected(events, by)
}

// aboutOthers are the labels of the pods that rules are about. Rules that cannot be read are about none; whoever judges them says so.
func aboutOthers(raw json.RawMessage) (list []map[string]string) {
	var r rules
	if json.Unmarshal(raw, &r) != nil {
		return nil
	}
	for _, c := range r.Spread {
		list = append(list, c.LabelSelector.MatchLabels)
	}
	for _, of := range []terms{r.Affinity.With, r.Affinity.Without} {
		for _, t := range of.Required {
			list = append(list, t.LabelSelector.MatchLabels)
		}
	}
	return list
}
