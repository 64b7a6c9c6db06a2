package collect

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/noise"
	"github.com/holdfast-ha/holdfast/framework/load"
)

// headerWorker marks every answer of a worker, as opposed to those of proxies. Its value identifies the process, so that a
// restarted worker, which has lost its rows, is detected.
const headerWorker = "X-Holdfast-Worker"

// Status is the status of a worker and its plan.
type Status struct {
	Worker string `json:"worker"`
	Plan   string `json:"plan,omitempty"` // the plan's id; empty if there is no plan
	// Finished: every request has its row, and the last segment is closed.
	Finished bool `json:"finished"`
	// Yielded: a server has said that there are too many requests. Untended: no request about the plan has arrived for as long as the plan
	// allows. Either has ended the load.
	Yielded  bool              `json:"yielded,omitempty"`
	Untended bool              `json:"untended,omitempty"`
	Lanes    []load.LaneStatus `json:"lanes,omitempty"`
	// Held is the number of uncollected rows in memory, and Spilled of those on disk.
	Held    int `json:"held"`
	Spilled int `json:"spilled,omitempty"`
}

// Clock is the current time on a worker's clock.
type Clock struct {
	Worker string         `json:"worker"`
	Now    history.Offset `json:"now"`
}

// Report is what is new at a worker. Its Now is read when the rest is known.
type Report struct {
	Status
	Now history.Offset `json:"now"`
	// Segments are closed and not yet stored elsewhere, the first of them at most.
	Segments []Segment `json:"segments,omitempty"`
	// Noise are samples that were not asked for before, the first of them at most.
	Noise []noise.Sample `json:"noise,omitempty"`
}

// Segment is a closed part of a worker's rows.
type Segment struct {
	N    int `json:"n"` // from 1
	Rows int `json:"rows"`
}
