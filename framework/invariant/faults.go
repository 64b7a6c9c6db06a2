package invariant

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// pressed are the nodes that were seen with the taint of memory or disk pressure at or after from and before to.
func pressed(run history.Run, from, to history.Offset) (names []string) {
	for _, e := range run.Events {
		if e.Node != nil && e.T >= from && e.T < to && e.Node.UnderPressure() && !slices.Contains(names, e.Node.Name) {
			names = append(names, e.Node.Name)
		}
	}
	return names
}

// taken are the nodes that stopped being ready, or were under pressure, at or after from and before to; lost, that
// one of them was not under pressure.
func taken(run history.Run, from, to history.Offset) (names []string, lost bool) {
	names = pressed(run, from, to)
	squeezed := len(names)
	for _, loss := range run.NodeLosses(from, to) {
		if !slices.Contains(names, loss.Name) {
			names = append(names, loss.Name)
		}
	}
	lost = len(names) > squeezed
	slices.Sort(names)
	return names, lost
}

// inForce is the time from when the last fault was seen until the first undo, or the end of the record.
func (f *facts) inForce() (seen, until history.Offset, ok bool) {
	for _, fault := range f.faults {
		if fault.Seen.OK {
			seen, ok = max(seen, fault.Seen.At), true
		}
	}
	until, undone := f.firstUndo()
	if !undone {
		until = f.end()
	}
	return seen, until, ok
}

// pressedSince is the moment at which the node was tainted whose pressure is the fault that was seen last, at the moment seen;
// seen itself, if that fault is another.
func (f *facts) pressedSince(seen history.Offset) history.Offset {
	for _, fault := range f.faults {
		if !fault.Seen.OK || fault.Seen.At != seen || !fault.Injecting.OK {
			continue
		}
		for _, e := range f.run.Events {
			if e.Node != nil && e.T >= fault.Injecting.At && e.T < seen && e.Node.UnderPressure() && slices.Contains(fault.Nodes, e.Node.Name) {
				return e.T
			}
		}
	}
	return seen
}

// firstUndo is when the first undo of a fault began.
func (f *facts) firstUndo() (at history.Offset, ok bool) {
	for _, fault := range f.faults {
		if fault.Healing.OK && (!ok || fault.Healing.At < at) {
			at, ok = fault.Healing.At, true
		}
	}
	return at, ok
}

// lastUndo is when the undo of the last fault began, or when it was seen if nobody undid it.
func (f *facts) lastUndo() (at history.Offset, ok bool) {
	for _, fault := range f.faults {
		m := fault.Healing
		if !m.OK {
			m = fault.Seen
		}
		if m.OK {
			at, ok = max(at, m.At), true
		}
	}
	return at, ok
}

// undone tells whether every fault that was seen was undone, too.
func (f *facts) undone() bool {
	return !slices.ContainsFunc(f.faults, func(fault history.FaultLife) bool { return fault.Seen.OK && !fault.Healing.OK })
}

// firstInjecting is when the first fault began to be injected.
func (f *facts) firstInjecting() (at history.Offset, ok bool) {
	for _, fault := range f.faults {
		if m := fault.Injecting; m.OK && (!ok || m.At < at) {
			at, ok = m.At, true
		}
	}
	return at, ok
}

// faultsOn is the time from the first fault's beginning to the last heal, or to the end if one was never healed.
func (f *facts) faultsOn() (from, to history.Offset) {
	from = f.end()
	for _, fault := range f.faults {
		if fault.Injecting.OK {
			from = min(from, fault.Injecting.At)
		}
		healed := fault.Healed.At
		if !fault.Healed.OK {
			healed = f.end()
		}
		to = max(to, healed)
	}
	return from, to
}

// lastFault is when the fault that was seen last had begun, and when it was seen.
func (f *facts) lastFault() (began, seen history.Offset, ok bool) {
	for _, fault := range f.faults {
		if fault.Injecting.OK && fault.Seen.OK && fault.Seen.At >= seen {
			began, seen, ok = fault.Injecting.At, fault.Seen.At, true
		}
	}
	return began, seen, ok
}

// firstFault is when the first fault began.
func (f *facts) firstFault() (first history.Moment) {
	for _, fault := range f.faults {
		if fault.Injecting.OK && (!first.OK || fault.Injecting.At < first.At) {
			first = fault.Injecting
		}
	}
	return first
}

// faultsBit doubts faults that were not seen to be in force between the moment they were injected and the moment they
// were undone. Unless mustHeal, a fault that nobody tried to undo is as good as one that was.
func (f *facts) faultsBit(mustHeal bool) (d doubts) {
	if len(f.faults) == 0 {
		d.add("no fault was injected")
	}
	for _, fault := range f.faults {
		switch {
		case len(fault.Errors) > 0:
			d.add("%s went wrong: %s", fault.Name, fault.Errors[0])
		case !fault.Injecting.OK:
			d.add("%s has no beginning in the record", fault.Name)
		case !fault.Seen.OK:
			d.add("%s was never seen to bite", fault.Name)
		case !fault.Healed.OK && (mustHeal || fault.Healing.OK):
			d.add("%s was never seen to be healed", fault.Name)
		default:
			f.lasted(fault, &d)
		}
	}
	return d
}

// lasted doubts a fault that was over before the harness undid it.
func (f *facts) lasted(fault history.FaultLife, d *doubts) {
	undone := fault.Healing
	if !undone.OK {
		undone = history.Moment{At: f.end(), OK: true}
	}
	switch healed := f.firstHealed(fault.ID); {
	case fault.Seen.At < fault.Injecting.At:
		d.add("%s was seen at %s, before it was injected at %s", fault.Name, moment(fault.Seen.At), moment(fault.Injecting.At))
	case fault.Seen.At > undone.At:
		d.add("%s was seen at %s, after its undo began at %s", fault.Name, moment(fault.Seen.At), moment(undone.At))
	case healed.OK && !fault.Healing.OK:
		d.add("%s healed by itself at %s: no undo is in the record", fault.Name, moment(healed.At))
	case healed.OK && healed.At < undone.At:
		d.add("%s healed too early: at %s, before its undo began", fault.Name, moment(healed.At))
	}
	for _, node := range fault.Nodes {
		if back := f.backEarly(node, fault.Injecting.At, undone.At); back.OK {
			d.add("%s healed too early: %s was back at %s, before its undo began at %s",
				fault.Name, node, moment(back.At), moment(undone.At))
		}
	}
}

// firstHealed is the first time a fault was seen as healed; FaultLife has the last.
func (f *facts) firstHealed(id int) history.Moment {
	for _, e := range f.run.Events {
		if e.Fault != nil && e.Fault.ID == id && e.Fault.Stage == history.Healed && e.Fault.Error == "" {
			return history.Moment{At: e.T, OK: true}
		}
	}
	return history.Moment{}
}

// backEarly is when a node that had been taken away, closed to new pods or put under pressure after from was usable again
// before to. Of one that was put under pressure nothing else counts: its kubelet is restarted for that, and may not be ready
// for a moment.
func (f *facts) backEarly(name string, from, to history.Offset) history.Moment {
	taken, squeezed := false, slices.Contains(pressed(f.run, from, to), name)
	for _, e := range f.run.Events {
		n := e.Node
		if n == nil || n.Name != name || e.T < from || e.T >= to {
			continue
		}
		usable := n.Change != history.Deleted && n.Ready == "True" && !n.Unschedulable
		if squeezed {
			usable = !n.UnderPressure()
		}
		if taken && usable {
			return history.Moment{At: e.T, OK: true}
		}
		taken = taken || !usable
	}
	return history.Moment{}
}

// tookNodes tells whether a fault had taken nodes by a moment.
func (f *facts) tookNodes(at history.Offset) bool {
	return slices.ContainsFunc(f.faults, func(fault history.FaultLife) bool { return len(fault.Nodes) > 0 && fault.Injecting.At <= at })
}
