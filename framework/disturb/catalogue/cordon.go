package catalogue

// Cordon cordons one node. Its pods stay.
var Cordon = Fault{
	Name:   "cordon",
	Does:   "a node is cordoned, and its pods stay",
	OnNode: true, changes: closing(),
}
