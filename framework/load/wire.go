package load

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// headerWorker marks every answer of a worker, as opposed to those of proxies. Its value identifies the process, so that a
// restarted worker, which has lost its rows, is detected.
const headerWorker = "X-Holdfast-Worker"

// Status is the status of a worker and its plan.
type Status struct {
	Worker string `json:"worker"`
	Plan   string `json:"plan,omitempty"` // the plan's id; empty if there is no plan
	// Finished: every request has its row, and the last segment is closed.
	Finished bool         `json:"finished"`
	Lanes    []LaneStatus `json:"lanes,omitempty"`
	// Held is the number of uncollected rows in memory.
	Held int `json:"held"`
}

// LaneStatus has a lane's counts so far. Planned - Sent - Unsent requests are in flight.
type LaneStatus struct {
	Lane    history.Lane `json:"lane"`
	Planned uint64       `json:"planned"` // requests that were due
	Sent    uint64       `json:"sent"`    // and have ended
	Unsent  uint64       `json:"unsent"`
	Failed  uint64       `json:"failed"` // of Sent, masked ones included
	Masked  uint64       `json:"masked"`
	// Lag is the time from due to sent: median, 99th percentile and maximum.
	LagP50 time.Duration `json:"lagP50"`
	LagP99 time.Duration `json:"lagP99"`
	LagMax time.Duration `json:"lagMax"`
	// Answered are the pods that gave a good answer within the last second, in any order.
	Answered []string `json:"answered,omitempty"`
}

// Clock is the current time on a worker's clock.
type Clock struct {
	Worker string         `json:"worker"`
	Now    history.Offset `json:"now"`
}

// Segment is a closed part of a worker's rows.
type Segment struct {
	N    int `json:"n"` // from 1
	Rows int `json:"rows"`
}
