package disturb

import "testing"

func TestNoSecrets(t *testing.T) {
	refuses(t, noSecrets, map[string]try{
		"a header from a Secret": {change: func(w *world) { w.Load[0].Secret = true }, reason: "probe fresh has a header from a Secret"},
	})
}
