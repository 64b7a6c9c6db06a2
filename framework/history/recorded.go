package history

import "time"

// Recorded says that a record is a recording: holdfast watched a cluster that it did not make. What disturbed the cluster, holdfast or another, is read
// from the record (package disturbances), and takes the place of the faults of other records. It is what was asked for.
//
// A recording has the phases Steady, from when everything was watched and the load flowed, and Drained, from when the load had ended.
type Recorded struct {
	// Command was run while the cluster was recorded, with its arguments; empty: none was. A Step of the name CommandStep says when.
	Command []string `json:"command,omitempty"`
	// Does are the kinds of disturbances (package disturbances) as which the watches may see what holdfast itself does in the time of the command, with the
	// node or workload: "drain of w1", "rollout of shop/web"; older records have the kinds alone. If they see none of them then, it had no effect. Empty:
	// holdfast does nothing.
	Does []string `json:"does,omitempty"`
	// For is how long the cluster was to be recorded; zero: until the command ended, or until somebody ended the recording.
	For time.Duration `json:"for,omitempty"`
	// Namespaces are those that were watched; empty: all.
	Namespaces []string `json:"namespaces,omitempty"`
	// Load is where load was sent from; empty: none was sent.
	Load LoadFrom `json:"load,omitempty"`
	// Services are those behind which the requests end, as namespace/name. Only what disturbs their pods can show something about the
	// requests. Empty: unknown, and then no promise about requests can be held.
	Services []string `json:"services,omitempty"`
	// NotWatched are the kinds of objects that were not watched, although a record usually has them.
	NotWatched []NotWatched `json:"notWatched,omitempty"`
}

// NotWatched is a kind of objects of which a record has no events, and why.
type NotWatched struct {
	What string `json:"what"` // as in Gap.What: pods, nodes, poddisruptionbudgets, ...
	Why  string `json:"why"`  // for example that the user must not list them
}

// LoadFrom is where the load of a recording was sent from.
type LoadFrom string

// The places. A difference between what was seen from inside and from outside is the front door's.
const (
	LoadInside  LoadFrom = "inside"  // from pods of the cluster
	LoadOutside LoadFrom = "outside" // from where holdfast ran
	LoadBoth    LoadFrom = "both"
)

// CommandStep is the Step.What of the command of a recording.
const CommandStep = "command"

// Resumed means that the recorder of a recording was away between Since and the event's T, for example because it was killed, and then
// continued the record. A Gap of the same time says that nothing was watched.
type Resumed struct {
	Since Offset `json:"since"`
	// Workers are the load workers that ended with the recorder. They have no totals, and sent nothing afterwards.
	Workers []string `json:"workers,omitempty"`
}

// Server is the API server as it described itself. It is recorded at the beginning, and whenever it differs.
type Server struct {
	Version string `json:"version"` // v1.37.0
}

// Fact is something that was found out about a cluster that holdfast did not make, such as what scales its nodes.
type Fact struct {
	Name string `json:"name"` // "API server", "zones", "GitOps", ...
	// Is is what was found. Empty: not known.
	Is string `json:"is,omitempty"`
	// Why is why nothing is known, or what a reader must know of the fact.
	Why string `json:"why,omitempty"`
}
