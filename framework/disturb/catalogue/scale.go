package catalogue

// Scale changes the number of replicas: one more, one less than before, and back.
var Scale = Fault{
	Name:     "scale",
	Does:     "one replica more, then one less than before",
	Undone:   "the number of replicas gets its former value",
	EndsPods: true,
	Edits:    "spec.replicas",
	Inject:   rights(App, Apps, "deployments/scale statefulsets/scale", "get patch"),
	Undo:     rights(App, Apps, "deployments/scale statefulsets/scale", "get patch"),
}
