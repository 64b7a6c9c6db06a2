package load

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// headerWorker marks every answer of a worker, as opposed to those of what lies between. It names the process, so that
// one that was restarted, and lost its rows, is not taken for the one before.
const headerWorker = "X-Holdfast-Worker"

// Status is what a worker says of itself and its plan.
type Status struct {
	Worker string `json:"worker"`
	Plan   string `json:"plan,omitempty"` // its id; empty when there is none
	// Finished: every request has its row, and the last segment is closed.
	Finished bool         `json:"finished"`
	Lanes    []LaneStatus `json:"lanes,omitempty"`
	// Held rows are in memory, not yet collected.
	Held int `json:"held"`
}

// LaneStatus counts a lane's requests so far. Planned - Sent - Unsent are under way.
type LaneStatus struct {
	Lane    history.Lane `json:"lane"`
	Planned uint64       `json:"planned"` // were due
	Sent    uint64       `json:"sent"`    // and ended
	Unsent  uint64       `json:"unsent"`
	Failed  uint64       `json:"failed"` // of those sent; the masked ones too
	Masked  uint64       `json:"masked"`
	// Lag is by how much requests were sent later than they were due.
	LagP50 time.Duration `json:"lagP50"`
	LagP99 time.Duration `json:"lagP99"`
	LagMax time.Duration `json:"lagMax"`
	// Answered are the pods that gave a good answer within the last second, in any order.
	Answered []string `json:"answered,omitempty"`
}

// Clock is the present moment on a worker's clock.
type Clock struct {
	Worker string         `json:"worker"`
	Now    history.Offset `json:"now"`
}

// Segment is a closed piece of a worker's rows.
type Segment struct {
	N    int `json:"n"` // from 1
	Rows int `json:"rows"`
}
