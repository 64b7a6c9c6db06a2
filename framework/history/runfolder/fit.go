package runfolder

import (
	"slices"
	"time"
)

// Fit is what the machine of a cluster's nodes carried beside the cluster, before any load, and what was chosen for it.
type Fit struct {
	Cluster    string        `json:"cluster"`
	Processors float64       `json:"processors"`        // that endless loops on a node got
	Requests   float64       `json:"requestsPerSecond"` // that loops on a node sent to its kubelet, on new connections, and that were answered
	PodStart   time.Duration `json:"podStart"`          // nanoseconds, until a pod was ready

	Rate             float64       `json:"rate"`                       // the share of the scenarios' own rates at which requests are sent
	LoadWorkers      int           `json:"loadWorkers,omitempty"`      // the most that a scenario has; 0: as many as it asks for
	NodeMonitorGrace time.Duration `json:"nodeMonitorGrace,omitempty"` // nanoseconds, in place of that of the timings; 0: as they are
}

// AddFit adds what was measured on a cluster, once.
func (f *File) AddFit(one Fit) {
	if one.Cluster != "" && !slices.Contains(f.Fits, one) {
		f.Fits = append(f.Fits, one)
	}
}
