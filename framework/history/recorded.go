package history

// Recorded says that the harness watched a cluster while somebody else may have disturbed it, as `holdfast record` does. What was disturbed
// is read from the events of the record, because no fault of the harness says so.
type Recorded struct {
	// Command is the command line that ran meanwhile, word by word. None: the cluster was watched for a time.
	Command []string `json:"command,omitempty"`
	// Namespaces are those whose objects were watched, sorted. None: all namespaces.
	Namespaces []string `json:"namespaces,omitempty"`
	// NotWatched are the kinds of objects that were not watched, although a record usually has them.
	NotWatched []NotWatched `json:"notWatched,omitempty"`
}

// NotWatched is a kind of objects of which a record has no events, and why.
type NotWatched struct {
	What string `json:"what"` // as in Gap.What: pods, nodes, poddisruptionbudgets, ...
	Why  string `json:"why"`  // for example that the user must not list them
}

// Fact is something that was found out about a cluster that holdfast did not make, such as its version or what scales its nodes.
type Fact struct {
	Name string `json:"name"` // "server", "zones", "GitOps", ...
	// Is is what was found. Empty: not known.
	Is string `json:"is,omitempty"`
	// Why is why nothing is known, or what a reader must know of the fact.
	Why string `json:"why,omitempty"`
}
