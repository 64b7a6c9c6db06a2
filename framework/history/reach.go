package history

import "time"

// Way is how the API server is reached.
type Way string

// The ways. Balanced: as clients reach it, through the load balancer in front of several control planes. In a kind cluster
// that is kind's own load balancer, so losses on this way may be caused by kind as well as by Kubernetes. Direct: one API
// server at its own address. Control: the kubelet on the probing node itself. No fault touches that node, and no network is
// involved, so losses on this way mean that the probing node had no time.
const (
	Balanced Way = "balanced"
	Direct   Way = "direct"
	Control  Way = "control"
)

// Reach is how well the API server could be reached on one way during a fault of the control plane. A node that no fault
// touches sends requests repeatedly, each on a new connection, for something that the API server reads from etcd with
// quorum. A good answer is a 200 within Wait.
type Reach struct {
	Fault int    `json:"fault"` // number of the fault in the scenario, see FaultMark.ID
	Way   Way    `json:"way"`
	Host  string `json:"host"` // the node of the API server, or the name of the balancer, or the probing node
	// Returning: the numbers cover the time from the start of reverting the fault until the revert was seen. Otherwise they
	// cover the time before that, from just before the injection.
	Returning bool `json:"returning,omitempty"`
	// Asked is the number of requests in that time, Failed the number of requests without a good answer.
	Asked  int `json:"asked"`
	Failed int `json:"failed"`
	// Longest is the longest time from one good answer to the next; if there was no further good answer, to the end.
	Longest time.Duration `json:"longest"`
	// Failing is the longest period of failures: from the first failed request to the end of the last one, with at most
	// FailuresApart between two of them. Zero: no request failed. A balancer that still sends every third connection to a
	// dead server has a long Failing but no long Longest.
	Failing time.Duration `json:"failing,omitempty"`
	// Before is Longest before the fault, when BeforeFailed of BeforeAsked requests failed. A Longest that does not exceed
	// it on this machine is not a gap.
	Before       time.Duration `json:"before"`
	BeforeAsked  int           `json:"beforeAsked"`
	BeforeFailed int           `json:"beforeFailed,omitempty"`
	// Wait is the time-out of a request.
	Wait time.Duration `json:"wait"`
}

// FailuresApart is the maximum time between two failed requests that belong to the same period of failures.
const FailuresApart = 5 * time.Second

// Reaches lists all recorded Reach events, in order.
func (r Run) Reaches() []Reach { return all(r, func(e Event) *Reach { return e.Reach }) }
