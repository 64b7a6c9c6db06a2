package catalogue

import (
	"github.com/holdfast-ha/holdfast/framework/fault/undo"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
)

// Scale changes the number of replicas: one more, one less than before, and back.
var Scale = Fault{
	Name:     "scale",
	Does:     "one replica more, then one less than before",
	EndsPods: true,
	Edits:    string(undo.Replicas),
	Seen:     []disturbances.Kind{disturbances.Scale},
	injects:  edits, undoes: putsBack,
}
