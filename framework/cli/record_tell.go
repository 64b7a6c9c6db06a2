package cli

import (
	"cmp"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/run/recording"
)

// tellRecorded says which cluster is recorded, as whom, what was found out about it, and what cannot be watched.
func tellRecorded(say func(string, ...any), access *existing.Access, s recording.Survey) {
	who := cmp.Or(s.Identity.User, "a user whom the API server does not name")
	say("cluster %s, read as %s", access, who)
	if s.Identity.UID != "" {
		say("  %-14s %s", "UID", s.Identity.UID)
	}
	for _, f := range s.Facts {
		say("  %-14s %s", f.Name, f)
	}
	for _, n := range s.NotWatched {
		say("not watched: %s: %s", n.What, n.Why)
	}
}
