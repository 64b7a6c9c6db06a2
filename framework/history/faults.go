package history

import "slices"

// Moment is a moment that may not have come.
type Moment struct {
	At Offset // when; zero unless OK
	OK bool
}

// Within tells whether the moment came, and at or after from and before to.
func (m Moment) Within(from, to Offset) bool { return m.OK && m.At >= from && m.At < to }

// FaultLife is what became of one fault.
type FaultLife struct {
	ID   int
	Name string
	// The stages that were reached. Where a stage was recorded more than once, Healed is the last time, and the others
	// are the first.
	Injecting, Seen, Lasting, Healing, Healed Moment
	// Nodes and Pods are all that it bit.
	Nodes, Pods []string
	// Hit is how many of the witness's probes it hit, of a fault that takes nothing away.
	Hit int
	// Processes is how many of a component its witness saw gone.
	Processes int
	// Witness is what was seen, in the order in which it was.
	Witness []string
	// Errors say why stages were not reached.
	Errors []string
}

// Faults lists the faults, in the order in which they were first mentioned.
func (r Run) Faults() []FaultLife {
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

func (f *FaultLife) add(at Offset, mark FaultMark) {
	f.Nodes = union(f.Nodes, mark.Nodes)
	f.Pods = union(f.Pods, mark.Pods)
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
	case Injecting:
		f.Injecting.first(at)
	case Seen:
		f.Seen.first(at)
	case Lasting:
		f.Lasting.first(at)
	case Healing:
		f.Healing.first(at)
	case Healed:
		f.Healed = Moment{At: at, OK: true}
	}
}

func (m *Moment) first(at Offset) {
	if !m.OK {
		*m = Moment{At: at, OK: true}
	}
}

// union appends to list what is new in more.
func union(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
