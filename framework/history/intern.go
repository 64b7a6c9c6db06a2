package history

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// interned shares what many events of a record have in common, so that a long record fits into memory: the names, the labels and the rules of
// a pod are the same in each of its events. The zero value is ready.
type interned struct {
	texts map[string]string
	sets  map[string]map[string]string
	raw   map[string]json.RawMessage
}

// event replaces the texts and the labels of an event by shared ones.
func (n *interned) event(e *Event) {
	if n.texts == nil {
		n.texts, n.sets, n.raw = make(map[string]string), make(map[string]map[string]string), make(map[string]json.RawMessage)
	}
	switch {
	case e.Pod != nil:
		p := e.Pod
		n.all((*string)(&p.Change), &p.Namespace, &p.Name, &p.UID, &p.Node, &p.IP, &p.Phase, &p.CPU, &p.Disruption, &p.Unschedulable, &p.Waiting)
		p.Labels, p.Rules = n.set(p.Labels), n.json(p.Rules)
	case e.Node != nil:
		m := e.Node
		n.all((*string)(&m.Change), &m.Name, &m.Ready, &m.Kubelet)
		m.Labels = n.set(m.Labels)
		for i := range m.Taints {
			n.all(&m.Taints[i])
		}
	case e.Workload != nil:
		w := e.Workload
		n.all((*string)(&w.Change), &w.Namespace, &w.Name, &w.SelectsBy, &w.Template)
		w.Selector, w.NodeSelector, w.Spread = n.set(w.Selector), n.set(w.NodeSelector), n.json(w.Spread)
	case e.Slice != nil:
		n.all((*string)(&e.Slice.Change), &e.Slice.Namespace, &e.Slice.Name, &e.Slice.Service)
		for i := range e.Slice.Endpoints {
			n.all(&e.Slice.Endpoints[i].IP, &e.Slice.Endpoints[i].Pod, &e.Slice.Endpoints[i].Node)
		}
		e.Slice.Endpoints = slices.Clip(e.Slice.Endpoints)
	case e.Budget != nil:
		b := e.Budget
		n.all((*string)(&b.Change), &b.Namespace, &b.Name, &b.SelectsBy, &b.MinAvailable, &b.MaxUnavailable, &b.UnhealthyPodEvictionPolicy)
		b.Selector = n.set(b.Selector)
	case e.KubeNote != nil:
		k := e.KubeNote
		n.all(&k.Namespace, &k.Kind, &k.Name, &k.Type, &k.Reason, &k.Message, &k.Source)
	case e.Noise != nil:
		n.all(&e.Noise.Of)
	case e.Clock != nil:
		n.all(&e.Clock.Worker)
	}
}

func (n *interned) all(texts ...*string) {
	for _, t := range texts {
		shared, known := n.texts[*t]
		if !known {
			shared = strings.Clone(*t)
			n.texts[shared] = shared
		}
		*t = shared
	}
}

func (n *interned) set(of map[string]string) map[string]string {
	if len(of) == 0 {
		return of
	}
	var key strings.Builder
	for _, k := range slices.Sorted(maps.Keys(of)) {
		key.WriteString(k + "\x00" + of[k] + "\x00")
	}
	if shared, known := n.sets[key.String()]; known {
		return shared
	}
	shared := make(map[string]string, len(of))
	for k, v := range of {
		n.all(&k, &v)
		shared[k] = v
	}
	n.sets[key.String()] = shared
	return shared
}

func (n *interned) json(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	if shared, known := n.raw[string(raw)]; known {
		return shared
	}
	shared := slices.Clip(slices.Clone(raw))
	n.raw[string(raw)] = shared
	return shared
}
