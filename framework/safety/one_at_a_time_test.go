package disturb

import "testing"

func TestOneAtATime(t *testing.T) {
	refuses(t, oneAtATime, map[string]try{
		"another run":              {change: func(w *world) { w.Holder = "in use since 10:00:00 by run 7" }, reason: "in use since 10:00:00 by run 7"},
		"the Lease cannot be read": {change: func(w *world) { w.Unread = append(w.Unread, Unread{Resource: "leases", Why: "forbidden"}) }, reason: "leases could not be read: forbidden"},
	})
}
