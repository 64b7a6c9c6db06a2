package invariant

import "github.com/holdfast-ha/holdfast/framework/history"

// streaming is a promise about requests. All of them see the requests in the same single pass.
type streaming interface {
	Invariant
	start(*facts, *tally) judgement
}

// still is a promise that reads the events only.
type still interface {
	Invariant
	judge(*facts) Verdict
}

// judgement is a streaming promise at work. It must not keep the request it is given.
type judgement interface {
	// take is given each request that was due under load.
	take(*history.Request)
	// end is called after the last.
	end() Verdict
}

// Invariant is a promise that a run keeps or breaks.
type Invariant interface {
	// String is the promise in words.
	String() string
}
