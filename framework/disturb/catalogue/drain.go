package catalogue

// Drain cordons one node and evicts its pods. Nothing is forced: see rule 9.
var Drain = Fault{
	Name:     "drain",
	Does:     "a node is cordoned and its pods are evicted",
	Undone:   "the node is uncordoned",
	EndsPods: true, Evicts: true, OnNode: true,
	Inject: append(append(rights(Everywhere, "", "nodes", "patch"), rights(App, "", "pods/eviction", "create")...),
		rights(Beside, "", "pods/eviction", "create")...),
	Undo: rights(Everywhere, "", "nodes", "patch"),
}
