package timeline

import (
	"cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// zoneLabel is the label that names a node's zone.
const zoneLabel = "topology.kubernetes.io/zone"

// Node is the timeline of one node. A node that was deleted and created again under its name has one timeline.
type Node struct {
	Name    string
	Zone    string // the last one that was reported; empty if there was none
	Reports Series[*history.Node]

	wasReady bool              // in the last report
	labels   map[string]string // when it was last ready
	loss     int               // index of the current loss in Timeline.losses; negative: there is none
}

// NodeLoss is a time in which a node that had been Ready was not.
type NodeLoss struct {
	Name   string
	Labels map[string]string // the last ones before the loss
	At     history.Offset    // when the node was first seen not Ready
	// Ready is the status that was seen: False, Unknown, or empty if the node object was deleted.
	Ready string
	// Back is when the node was seen Ready again; not OK if it never was.
	Back history.Moment
}

// node adds a report to the node's timeline.
func (t *Timeline) node(at history.Offset, seen *history.Node) {
	n := t.Nodes[seen.Name]
	if n == nil {
		n = &Node{Name: seen.Name, loss: -1}
		t.Nodes[n.Name] = n
	}
	n.Zone = cmp.Or(seen.Labels[zoneLabel], n.Zone)
	n.Reports = append(n.Reports, Point[*history.Node]{at, seen})
	switch {
	case !Lost(seen):
		if n.loss >= 0 {
			t.losses[n.loss].Back = history.Moment{At: at, OK: true}
		}
		n.wasReady, n.labels, n.loss = true, seen.Labels, -1
	case n.wasReady:
		n.wasReady, n.loss = false, len(t.losses)
		loss := NodeLoss{Name: n.Name, Labels: n.labels, At: at, Ready: seen.Ready}
		if seen.Change == history.Deleted {
			loss.Ready = ""
		}
		t.losses = append(t.losses, loss)
	}
}

// Lost reports whether a node is not Ready or does not exist, according to a report.
func Lost(n *history.Node) bool { return n.Change == history.Deleted || n.Ready != "True" }

// LostAt reports whether a node was lost at a moment. A node that had not been reported by then was not.
func (t *Timeline) LostAt(node string, at history.Offset) bool {
	n := t.Nodes[node]
	if n == nil {
		return false
	}
	seen, ok := n.Reports.At(at)
	return ok && Lost(seen)
}

// NodeState is what a node was good for.
type NodeState string

// The states of a node, until its object is deleted.
const (
	NodeReady    NodeState = "ready"
	NodeCordoned NodeState = "cordoned" // Ready, and unschedulable
	NodeNotReady NodeState = "not ready"
)

// Spans are the times between the changes of the node's state, until end, which is that of the record. A node whose object does
// not exist is in no state.
func (n *Node) Spans(end history.Offset) []Span[NodeState] {
	return spans(n.Reports, end, func(seen *history.Node) (NodeState, bool) {
		switch {
		case seen.Change == history.Deleted:
			return "", false
		case Lost(seen):
			return NodeNotReady, true
		case seen.Unschedulable:
			return NodeCordoned, true
		}
		return NodeReady, true
	})
}
