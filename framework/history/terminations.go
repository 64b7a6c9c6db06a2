package history

// Termination is the end of a pod.
type Termination struct {
	Namespace, Name, UID string
	Node                 string            // empty if it was never bound
	Labels               map[string]string // as last seen
	// Requested is when the pod was first seen with a deletionTimestamp; not OK if it vanished without one being seen.
	Requested Moment
	// Ended is when the pod was first seen in a final phase. The pod object may still exist: a kubelet eviction fails the
	// pod without deleting it.
	Ended Moment
	// Gone is when the object was deleted; not OK if it existed until the end of the record.
	Gone Moment
	// Disruption is the reason of the pod's DisruptionTarget condition, see Pod.
	Disruption string
}

// Began is the first sign of the pod's end that was seen.
func (t Termination) Began() Offset {
	switch {
	case t.Requested.OK:
		return t.Requested.At
	case t.Ended.OK:
		return t.Ended.At
	}
	return t.Gone.At
}

// Terminations lists the pods whose end began within [from, to), ordered by when it began.
func (r Run) Terminations(from, to Offset) []Termination {
	var ends []Termination
	byUID := make(map[string]int) // indices into ends
	for _, e := range r.Events {
		p := e.Pod
		if p == nil || !p.Deleting && !p.Ended() && p.Change != Deleted {
			continue
		}
		i, known := byUID[p.UID]
		if !known {
			i = len(ends)
			byUID[p.UID] = i
			ends = append(ends, Termination{Namespace: p.Namespace, Name: p.Name, UID: p.UID})
		}
		ends[i].add(e.T, *p)
	}
	within := ends[:0]
	for _, end := range ends {
		if began := end.Began(); began >= from && began < to {
			within = append(within, end)
		}
	}
	return within
}

func (t *Termination) add(at Offset, p Pod) {
	if p.Node != "" {
		t.Node = p.Node
	}
	if p.Disruption != "" {
		t.Disruption = p.Disruption
	}
	t.Labels = p.Labels
	if p.Change == Deleted {
		t.Gone.first(at)
		return
	}
	if p.Deleting {
		t.Requested.first(at)
	}
	if p.Ended() {
		t.Ended.first(at)
	}
}
