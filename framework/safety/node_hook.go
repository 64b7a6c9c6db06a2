package disturb

var nodeHook = Rule{
	Number: 22, ID: "node-hook",
	Promise: "a node is taken away only by a command of the user's own that has an undo, and the node has a note of it",
	step: func(s *sight) {
		if !s.fault().ByHook {
			return
		}
		switch {
		case s.Hook.Command == "":
			s.refuse(s.step.target.Object, "say in the file how: disturb: {nodeKill: {command: ..., undo: ...}}", "holdfast has no way of its own to take a node of this cluster away")
		case s.Hook.Undo == "":
			s.refuse(s.step.target.Object, "give disturb.nodeKill.undo in the file", "there is no command that brings the node back, and who cannot undo may not do")
		}
	},
}
