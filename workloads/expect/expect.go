// Package expect describes the answers that a good workload gives. The load compares real answers with it.
//
// It does not judge a run: package invariant does.
package expect

import (
	"fmt"
	"time"
)

// The limits of what can be expected.
const (
	// MaxContains is the longest text that an answer can be searched for, in bytes.
	MaxContains = 4096
	// MaxWithin is the longest time that an answer may take. A request that waits for longer would outlast the load.
	MaxWithin = 10 * time.Minute
)

// Answer is the expected answer to every request of a lane. The zero Answer is the one of the sample backend: status 200, a body
// that repeats the request's ID, and headers that name the server.
//
// With any other Answer nothing is known about which server answered.
type Answer struct {
	// Status lists the HTTP statuses of a good answer.
	Status []int `json:"status,omitempty"`
	// Codes lists the statuses of good answers to gRPC calls, by their names; none: OK. Contains and JSON are then about the answer as JSON.
	Codes []string `json:"codes,omitempty"`
	// Contains is a text in the body of a good answer; empty: any body is good.
	Contains string `json:"contains,omitempty"`
	// JSON is a value in the body of a good answer; nil: the body need not be JSON.
	JSON *JSON `json:"json,omitempty"`
	// Within is how long after the request was sent a good answer is complete; 0: at any time before the request's time-out.
	Within time.Duration `json:"within,omitempty"`
	// Serving: the answer is that of a gRPC health check, and says SERVING.
	//
	// Source: https://github.com/grpc/grpc/blob/master/doc/health-checking.md
	Serving bool `json:"serving,omitempty"`
}

// Echo reports whether the sample backend's answer is expected.
func (a Answer) Echo() bool {
	return len(a.Status) == 0 && len(a.Codes) == 0 && a.Contains == "" && a.JSON == nil && a.Within == 0 && !a.Serving
}

// Validate returns an error for an answer that no server could give, and for one that any server would.
func (a Answer) Validate() error {
	if a.Echo() {
		return nil
	}
	if len(a.Status) == 0 {
		return fmt.Errorf("expect an answer with %q in the body: no status", a.Contains)
	}
	for _, s := range a.Status {
		if s < 200 || s > 599 {
			return fmt.Errorf("expect status %d: want 200 to 599", s)
		}
	}
	if len(a.Contains) > MaxContains {
		return fmt.Errorf("expect a text of %d bytes in the body: want at most %d", len(a.Contains), MaxContains)
	}
	if a.Within < 0 || a.Within > MaxWithin {
		return fmt.Errorf("expect an answer within %s: want at most %s", a.Within, MaxWithin)
	}
	if a.JSON != nil {
		if _, err := a.JSON.Compile(); err != nil {
			return err
		}
	}
	return a.validateCodes()
}
