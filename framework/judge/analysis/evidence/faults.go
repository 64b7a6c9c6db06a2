package evidence

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// pressed are the nodes that had the taint of memory or disk pressure at some time from from (inclusive) to to (exclusive).
func pressed(run history.Run, from, to history.Offset) (names []string) {
	for _, e := range run.Events {
		if e.Node != nil && e.T >= from && e.T < to && e.Node.UnderPressure() && !slices.Contains(names, e.Node.Name) {
			names = append(names, e.Node.Name)
		}
	}
	return names
}

// DisturbedNodes are the nodes that stopped being ready, or were under pressure, from from (inclusive) to to (exclusive). Lost says that one
// of them was not under pressure.
func (f *Run) DisturbedNodes(from, to history.Offset) (names []string, lost bool) {
	names = pressed(f.Record, from, to)
	squeezed := len(names)
	for _, loss := range f.Timeline().NodeLosses(from, to) {
		if !slices.Contains(names, loss.Name) {
			names = append(names, loss.Name)
		}
	}
	lost = len(names) > squeezed
	slices.Sort(names)
	return names, lost
}

// InForce is the time from when the last fault was seen until the first revert began, or until the end of the record.
func (f *Run) InForce() (seen, until history.Offset, ok bool) {
	for _, fault := range f.Faults {
		if fault.Seen.OK {
			seen, ok = max(seen, fault.Seen.At), true
		}
	}
	until, undone := f.FirstRevert()
	if !undone {
		until = f.End()
	}
	return seen, until, ok
}

// PressureSince is when the node got the taint of the pressure that is the fault which was seen last, at the moment seen; if that
// fault is another one, it is seen itself.
func (f *Run) PressureSince(seen history.Offset) history.Offset {
	for _, fault := range f.Faults {
		if !fault.Seen.OK || fault.Seen.At != seen || !fault.Injecting.OK {
			continue
		}
		for _, e := range f.Record.Events {
			if e.Node != nil && e.T >= fault.Injecting.At && e.T < seen && e.Node.UnderPressure() && slices.Contains(fault.Nodes, e.Node.Name) {
				return e.T
			}
		}
	}
	return seen
}

// FirstRevert is when the first revert of a fault began.
func (f *Run) FirstRevert() (at history.Offset, ok bool) {
	for _, fault := range f.Faults {
		if fault.Healing.OK && (!ok || fault.Healing.At < at) {
			at, ok = fault.Healing.At, true
		}
	}
	return at, ok
}

// LastRevert is when the revert of the last fault began, or when that fault was seen if it was not reverted.
func (f *Run) LastRevert() (at history.Offset, ok bool) {
	for _, fault := range f.Faults {
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

// AllReverted says whether every fault that was seen was also reverted.
func (f *Run) AllReverted() bool {
	return !slices.ContainsFunc(f.Faults, func(fault timeline.FaultLife) bool { return fault.Seen.OK && !fault.Healing.OK })
}

// FirstInjecting is when the first fault began to be applied.
func (f *Run) FirstInjecting() (at history.Offset, ok bool) {
	for _, fault := range f.Faults {
		if m := fault.Injecting; m.OK && (!ok || m.At < at) {
			at, ok = m.At, true
		}
	}
	return at, ok
}

// FaultsOn is the time from the start of the first fault to the end of the last revert, or to the end of the record if a fault was
// never reverted.
func (f *Run) FaultsOn() (from, to history.Offset) {
	from = f.End()
	for _, fault := range f.Faults {
		if fault.Injecting.OK {
			from = min(from, fault.Injecting.At)
		}
		healed := fault.Healed.At
		if !fault.Healed.OK {
			healed = f.End()
		}
		to = max(to, healed)
	}
	return from, to
}

// LastFault is when the fault that was seen last began, and when it was seen.
func (f *Run) LastFault() (began, seen history.Offset, ok bool) {
	for _, fault := range f.Faults {
		if fault.Injecting.OK && fault.Seen.OK && fault.Seen.At >= seen {
			began, seen, ok = fault.Injecting.At, fault.Seen.At, true
		}
	}
	return began, seen, ok
}

// FirstFault is when the first fault began.
func (f *Run) FirstFault() (first history.Moment) {
	for _, fault := range f.Faults {
		if fault.Injecting.OK && (!first.OK || fault.Injecting.At < first.At) {
			first = fault.Injecting
		}
	}
	return first
}

// FaultsActive reports faults that were not seen to be active from their application to their revert. Unless mustHeal, a fault
// whose revert was not attempted counts like one that was reverted. What disturbed a recording only has to be over.
func (f *Run) FaultsActive(mustHeal bool) (d verdict.Missing) {
	recorded := f.Record.Header.Recorded != nil
	switch {
	case len(f.Faults) > 0:
	case recorded:
		d.Add("nothing was disturbed: nothing was shown")
	default:
		d.Add("no fault was injected")
	}
	for _, fault := range f.Faults {
		switch {
		case len(fault.Errors) > 0:
			d.Add("%s went wrong: %s", fault.Name, fault.Errors[0])
		case !fault.Injecting.OK:
			d.Add("%s has no start in the record", fault.Name)
		case !fault.Seen.OK:
			d.Add("%s was never seen in effect", fault.Name)
		case !fault.Healed.OK && recorded:
			d.Add("%s was not over when the recording ended", fault.Name)
		case !fault.Healed.OK && (mustHeal || fault.Healing.OK):
			d.Add("%s was never seen to be reverted", fault.Name)
		case recorded: // nobody had to keep it up until a revert
		default:
			f.lasted(fault, &d)
		}
	}
	return d
}

// lasted reports a fault that was over before the harness reverted it.
func (f *Run) lasted(fault timeline.FaultLife, d *verdict.Missing) {
	undone := fault.Healing
	if !undone.OK {
		undone = history.Moment{At: f.End(), OK: true}
	}
	switch healed := f.firstHealed(fault.ID); {
	case fault.Seen.At < fault.Injecting.At:
		d.Add("%s was seen at %s, before it was applied at %s", fault.Name, prose.Moment(fault.Seen.At), prose.Moment(fault.Injecting.At))
	case fault.Seen.At > undone.At:
		d.Add("%s was seen at %s, after its revert began at %s", fault.Name, prose.Moment(fault.Seen.At), prose.Moment(undone.At))
	case healed.OK && !fault.Healing.OK:
		d.Add("%s ended by itself at %s: the record has no revert", fault.Name, prose.Moment(healed.At))
	case healed.OK && healed.At < undone.At:
		d.Add("%s ended too early: at %s, before its revert began", fault.Name, prose.Moment(healed.At))
	}
	for _, node := range fault.Nodes {
		if back := f.backEarly(node, fault.Injecting.At, undone.At); back.OK {
			d.Add("%s ended too early: %s was back at %s, before its revert began at %s",
				fault.Name, node, prose.Moment(back.At), prose.Moment(undone.At))
		}
	}
}

// firstHealed is when a fault was first seen to be reverted; FaultLife has the last time.
func (f *Run) firstHealed(id int) history.Moment {
	for _, e := range f.Record.Events {
		if e.Fault != nil && e.Fault.ID == id && e.Fault.Stage == history.Healed && e.Fault.Error == "" {
			return history.Moment{At: e.T, OK: true}
		}
	}
	return history.Moment{}
}

// backEarly is when a node that had been lost, cordoned or put under pressure after from was usable again before to. Of a node
// under pressure only the pressure counts: its kubelet restarts for that fault, and may not be ready for a moment.
func (f *Run) backEarly(name string, from, to history.Offset) history.Moment {
	taken, squeezed := false, slices.Contains(pressed(f.Record, from, to), name)
	for _, e := range f.Record.Events {
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
