package history

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history/intern"
)

// internEvent replaces the texts, the labels and the rules of an event by shared ones: those of a pod are the same in each of its events.
func internEvent(n *intern.Pool, e *Event) {
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
