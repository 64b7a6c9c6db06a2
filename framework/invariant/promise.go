package invariant

import (
	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// RequestInvariant is a promise about requests. All of them see the requests in the same single pass.
type RequestInvariant interface {
	Invariant
	Requests(*evidence.Run, *requests.Stats) RequestCheck
}

// EventInvariant is a promise that reads the events only.
type EventInvariant interface {
	Invariant
	Judge(*evidence.Run) verdict.Verdict
}

// RequestCheck is a streaming promise at work. It must not keep the request it is given.
type RequestCheck interface {
	// Take is given each request that was due under load.
	Take(*history.Request)
	// End is called after the last.
	End() verdict.Verdict
}

// Invariant is a promise that a run keeps or breaks.
type Invariant interface {
	// String is the promise in words.
	String() string
}
