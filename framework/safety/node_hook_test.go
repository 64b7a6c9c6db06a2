package disturb

import "testing"

func TestNodeHook(t *testing.T) {
	refuses(t, nodeHook, map[string]try{
		"no command":     {faults: "node-kill", change: func(w *world) { w.Hook = Hook{} }, reason: "holdfast has no way of its own"},
		"no undo":        {faults: "node-kill", change: func(w *world) { w.Hook.Undo = "" }, reason: "who cannot undo may not do"},
		"none is needed": {faults: "drain", change: func(w *world) { w.Hook = Hook{} }},
	})
}
