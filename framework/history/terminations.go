package history

// Termination is the end of a pod.
type Termination struct {
	Namespace, Name, UID string
	Node                 string            // empty if it was never bound
	Labels               map[string]string // as they were last
	// Requested is when it was first seen as being deleted; not OK if it vanished without that being seen.
	Requested Moment
	// Ended is when it was first seen as having ended, be it that the object stays. So it is with what a kubelet evicts: nobody
	// asks for its deletion.
	Ended Moment
	// Gone is when it had vanished; not OK if it was there until the end.
	Gone Moment
	// Disruption is the reason of its DisruptionTarget condition, see Pod.
	Disruption string
}

// Began is when the end began, as far as it was seen.
func (t Termination) Began() Offset {
	switch {
	case t.Requested.OK:
		return t.Requested.At
	case t.Ended.OK:
		return t.Ended.At
	}
	return t.Gone.At
}

// Terminations lists the pods whose end began at or after from and before to, in that order.
func (r Run) Terminations(from, to Offset) []Termination {
	var ends []Termination
	byUID := make(map[string]int) // of those that are in ends
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
