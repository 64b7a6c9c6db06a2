package history

import "time"

// Way says how the API server is reached.
type Way string

// The ways. Balanced: as clients reach it, through what stands before several control planes; of a kind cluster that is kind's
// own load balancer, so that what is lost on this way is kind's as much as Kubernetes'. Direct: one API server at its own address.
// Control: the kubelet of the node that asks, which no fault touches and which needs no network: what is missing there, the
// asking node itself had no time for.
const (
	Balanced Way = "balanced"
	Direct   Way = "direct"
	Control  Way = "control"
)

// Reach is how the API server was reached by one way while a fault of the control plane was on. It was asked from a node that no
// fault touches, again and again, on a new connection each time, for something that it reads from etcd, where a majority of
// the members has to agree. Good is an answer of 200 within Wait.
type Reach struct {
	Fault int    `json:"fault"` // numbers the scenario's faults, as FaultMark.ID does
	Way   Way    `json:"way"`
	Host  string `json:"host"` // the node of the API server, or the name of the balancer, or the node that asks
	// Returning tells of the time from the beginning of the undo until it was seen; otherwise it is the time before that, from just
	// before the fault was injected.
	Returning bool `json:"returning,omitempty"`
	// Asked are the requests of that time; Failed had no good answer.
	Asked  int `json:"asked"`
	Failed int `json:"failed"`
	// Longest is the longest time from one good answer to the next; if there was none, to the end.
	Longest time.Duration `json:"longest"`
	// Failing is the longest time in which requests failed: from the first to the end of the last one, with never more than
	// FailuresApart from one to the next. Zero: none failed. A balancer that still sends every third connection to a dead server
	// fails for long, and is never away for long.
	Failing time.Duration `json:"failing,omitempty"`
	// Before is what Longest was before the fault, when BeforeFailed of BeforeAsked requests failed: what is no more than that
	// on this machine is no gap.
	Before       time.Duration `json:"before"`
	BeforeAsked  int           `json:"beforeAsked"`
	BeforeFailed int           `json:"beforeFailed,omitempty"`
	// Wait is how long an answer was waited for.
	Wait time.Duration `json:"wait"`
}

// FailuresApart is how far apart two requests may fail that count as one time of failing.
const FailuresApart = 5 * time.Second

// Reaches are all that were written down, in order.
func (r Run) Reaches() (all []Reach) {
	for _, e := range r.Events {
		if e.Reach != nil {
			all = append(all, *e.Reach)
		}
	}
	return all
}
