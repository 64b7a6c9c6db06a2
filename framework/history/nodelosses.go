package history

// NodeLoss is a time in which a node that had been Ready was not.
type NodeLoss struct {
	Name   string
	Labels map[string]string // the last ones before the loss
	At     Offset            // when the node was first seen not Ready
	// Ready is the status that was seen: False, Unknown, or empty if the node object was deleted.
	Ready string
	// Back is when the node was seen Ready again; not OK if it never was.
	Back Moment
}

// NodeLosses lists the losses that began within [from, to), ordered by when they began. A node that was never seen Ready
// cannot be lost.
func (r Run) NodeLosses(from, to Offset) []NodeLoss {
	var losses []NodeLoss
	ready := make(map[string]bool)
	lost := make(map[string]int) // index of a node's current loss
	labels := make(map[string]map[string]string)
	for _, e := range r.Events {
		n := e.Node
		if n == nil {
			continue
		}
		status := n.Ready
		if n.Change == Deleted {
			status = ""
		}
		switch is := status == "True"; {
		case is:
			if i, open := lost[n.Name]; open {
				losses[i].Back.first(e.T)
				delete(lost, n.Name)
			}
			ready[n.Name], labels[n.Name] = true, n.Labels
		case ready[n.Name]:
			ready[n.Name] = false
			lost[n.Name] = len(losses)
			losses = append(losses, NodeLoss{Name: n.Name, Labels: labels[n.Name], At: e.T, Ready: status})
		}
	}
	within := losses[:0]
	for _, loss := range losses {
		if loss.At >= from && loss.At < to {
			within = append(within, loss)
		}
	}
	return within
}
