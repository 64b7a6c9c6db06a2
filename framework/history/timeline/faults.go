package timeline

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// FaultLife is the recorded life of one fault.
type FaultLife struct {
	ID   int
	Name string
	// The stages that were reached. If a stage was recorded more than once, Healed is the last time, and the others are the
	// first.
	Injecting, Seen, Lasting, Healing, Healed history.Moment
	// Nodes and Pods are everything that the fault affected.
	Nodes, Pods []string
	// Hit is the number of the witness's probes that were affected; see history.FaultMark.
	Hit int
	// Processes is the number of processes that the witness saw gone; see history.FaultMark.
	Processes int
	// Voluntary is history.FaultMark's.
	Voluntary bool
	// Witness is what the witness saw, in order.
	Witness []string
	// Errors are the errors of stages that were not reached.
	Errors []string
}

// Faults lists the faults, in the order of their first events.
func Faults(r history.Run) []FaultLife {
	var lives []FaultLife
	for _, e := range r.Events {
		if e.Fault == nil {
			continue
		}
		i := slices.IndexFunc(lives, func(l FaultLife) bool { return l.ID == e.Fault.ID })
		if i < 0 {
			i = len(lives)
			lives = append(lives, FaultLife{ID: e.Fault.ID, Name: e.Fault.Name})
		}
		lives[i].add(e.T, *e.Fault)
	}
	return lives
}

func (f *FaultLife) add(at history.Offset, mark history.FaultMark) {
	f.Nodes = union(f.Nodes, mark.Nodes)
	f.Pods = union(f.Pods, mark.Pods)
	f.Voluntary = f.Voluntary || mark.Voluntary
	f.Hit = max(f.Hit, mark.Hit)
	f.Processes = max(f.Processes, mark.Processes)
	if mark.Witness != "" {
		f.Witness = append(f.Witness, mark.Witness)
	}
	if mark.Error != "" {
		f.Errors = append(f.Errors, string(mark.Stage)+": "+mark.Error)
		return
	}
	switch mark.Stage {
	case history.Injecting:
		f.Injecting.First(at)
	case history.Seen:
		f.Seen.First(at)
	case history.Lasting:
		f.Lasting.First(at)
	case history.Healing:
		f.Healing.First(at)
	case history.Healed:
		f.Healed = history.Moment{At: at, OK: true}
	}
}

// union appends the new elements of more to list.
func union(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// StepLife is a step with its beginning and its end.
type StepLife struct {
	ID         int
	What, Node string
	From, To   string
	Begin, End history.Moment // End is not OK if the step never ended
	Error      string
}

// Steps lists the steps in the order of their first events. If a step's beginning was not recorded, Begin is not OK.
func Steps(r history.Run) []StepLife {
	var lives []StepLife
	index := make(map[int]int) // by ID
	for _, e := range r.Events {
		s := e.Step
		if s == nil {
			continue
		}
		i, known := index[s.ID]
		if !known {
			i = len(lives)
			index[s.ID] = i
			lives = append(lives, StepLife{ID: s.ID, What: s.What, Node: s.Node, From: s.From, To: s.To})
		}
		switch l := &lives[i]; s.Stage {
		case history.StepBegin:
			l.Begin.First(e.T)
		case history.StepEnd:
			l.End.First(e.T)
			if s.Error != "" {
				l.Error = s.Error
			}
		}
	}
	return lives
}
