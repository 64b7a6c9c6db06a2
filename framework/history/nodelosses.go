package history

// NodeLoss is a time in which a node that had been ready was not.
type NodeLoss struct {
	Name   string
	Labels map[string]string // as they were last before
	At     Offset            // when it was first seen as not ready
	// Ready is what it was seen as: False, Unknown, or empty when the node object was deleted.
	Ready string
	// Back is when it was seen as ready again; not OK if it never was.
	Back Moment
}

// NodeLosses lists the losses that began at or after from and before to, in that order. A node that was never seen as
// ready cannot be lost.
func (r Run) NodeLosses(from, to Offset) []NodeLoss {
	var losses []NodeLoss
	ready := make(map[string]bool)
	lost := make(map[string]int) // the open loss of a node, in losses
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
