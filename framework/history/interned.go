package history

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// internEvent replaces the texts, the labels and the rules of an event by shared ones: those of a pod are the same in each of its events.
func internEvent(n *internPool, e *Event) {
	switch {
	case e.Pod != nil:
		p := e.Pod
		n.Texts((*string)(&p.Change), &p.Namespace, &p.Name, &p.UID, (*string)(&p.Owner), &p.Node, &p.IP, &p.Phase, &p.CPU, &p.Disruption, &p.Unschedulable, &p.Waiting)
		p.Labels, p.Rules = n.Set(p.Labels), n.JSON(p.Rules)
	case e.Node != nil:
		m := e.Node
		n.Texts((*string)(&m.Change), &m.Name, &m.Ready, &m.Kubelet)
		m.Labels = n.Set(m.Labels)
		for i := range m.Taints {
			n.Texts(&m.Taints[i])
		}
	case e.Workload != nil:
		w := e.Workload
		n.Texts((*string)(&w.Change), &w.Namespace, &w.Name, &w.SelectsBy, &w.Template, &w.Overdue, &w.Refused)
		w.Selector, w.NodeSelector, w.Spread = n.Set(w.Selector), n.Set(w.NodeSelector), n.JSON(w.Spread)
	case e.Slice != nil:
		n.Texts((*string)(&e.Slice.Change), &e.Slice.Namespace, &e.Slice.Name, &e.Slice.Service)
		for i := range e.Slice.Endpoints {
			n.Texts(&e.Slice.Endpoints[i].IP, &e.Slice.Endpoints[i].Pod, &e.Slice.Endpoints[i].Node)
		}
		e.Slice.Endpoints = slices.Clip(e.Slice.Endpoints)
	case e.Budget != nil:
		b := e.Budget
		n.Texts((*string)(&b.Change), &b.Namespace, &b.Name, &b.SelectsBy, &b.MinAvailable, &b.MaxUnavailable, &b.UnhealthyPodEvictionPolicy)
		b.Selector = n.Set(b.Selector)
	case e.KubeNote != nil:
		k := e.KubeNote
		n.Texts(&k.Namespace, &k.Kind, &k.Name, &k.Type, &k.Reason, &k.Message, &k.Source)
	case e.Noise != nil:
		n.Texts(&e.Noise.Of)
	case e.Clock != nil:
		n.Texts(&e.Clock.Worker)
	}
}

// internPool has the copies. The zero value is ready. It is not safe for use by several goroutines.
type internPool struct {
	texts map[string]string
	sets  map[string]map[string]string
	raw   map[string]json.RawMessage
}

// Texts replaces texts by shared ones.
func (p *internPool) Texts(texts ...*string) {
	for _, t := range texts {
		shared, known := p.texts[*t]
		if !known {
			shared = strings.Clone(*t)
			intern(&p.texts, shared, shared)
		}
		*t = shared
	}
}

// Set is a shared map of the same content. It is read-only.
func (p *internPool) Set(of map[string]string) map[string]string {
	if len(of) == 0 {
		return of
	}
	var key strings.Builder
	for _, k := range slices.Sorted(maps.Keys(of)) {
		key.WriteString(k + "\x00" + of[k] + "\x00")
	}
	if shared, known := p.sets[key.String()]; known {
		return shared
	}
	shared := make(map[string]string, len(of))
	for k, v := range of {
		p.Texts(&k, &v)
		shared[k] = v
	}
	intern(&p.sets, key.String(), shared)
	return shared
}

// JSON is a shared message of the same content. It is read-only.
func (p *internPool) JSON(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	if shared, known := p.raw[string(raw)]; known {
		return shared
	}
	shared := slices.Clip(slices.Clone(raw))
	intern(&p.raw, string(raw), shared)
	return shared
}

func intern[V any](in *map[string]V, key string, value V) {
	if *in == nil {
		*in = make(map[string]V)
	}
	(*in)[key] = value
}
