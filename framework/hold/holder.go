package hold

import (
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/clusters/process"
)

// Holder says who uses a cluster, and what may be wrong with it.
type Holder struct {
	// Run names the run, such as "run 20261122-183000", and Command is its command line.
	Run     string `json:"run"`
	Command string `json:"command"`
	process.Process
	Since time.Time `json:"since"`
	// Token tells two holds of one process apart.
	Token string `json:"token"`
	// Fault is what is done to the cluster; it is written down before it is done. Empty: nothing is.
	Fault string `json:"fault,omitempty"`
	// Left says in which state the run has left the cluster, if not in that in which it found it.
	Left string `json:"left,omitempty"`
}

// seen is a holder as the Lease, or its copy, shows it.
type seen struct {
	Holder
	renewed time.Time // zero: the copy does not tell
}

// abandoned tells whether the holder will never release the cluster. Of one on another machine only the Lease's age can tell.
func (s seen) abandoned(now time.Time) bool {
	switch s.Life() {
	case process.Ended:
		return true
	case process.Elsewhere:
		return s.Left != "" || !s.renewed.IsZero() && now.Sub(s.renewed) > Duration
	}
	return s.Left != ""
}

// HeldError says that somebody else uses the cluster.
type HeldError struct {
	Cluster string
	Holder
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("cluster %s is in use since %s by %s (%s; %s): wait until it ends, or make another cluster with 'holdfast up NAME'",
		e.Cluster, e.Since.Format(time.TimeOnly), e.Run, e.Command, e.Process)
}

// AbandonedError says that a run has ended without giving the cluster back as it was.
type AbandonedError struct {
	Cluster string
	Holder
}

func (e *AbandonedError) Error() string {
	return e.what() + ": run 'holdfast heal " + e.Cluster + "' first"
}

func (e *AbandonedError) what() string {
	switch who := fmt.Sprintf("%s (%s)", e.Run, e.Process); {
	case e.Left != "":
		return fmt.Sprintf("%s did not leave cluster %s as it was: %s", who, e.Cluster, e.Left)
	case e.Fault != "":
		return fmt.Sprintf("%s was killed in the middle of a fault, which was not undone on cluster %s: %s", who, e.Cluster, e.Fault)
	default:
		return fmt.Sprintf("%s was killed while it used cluster %s, and may have left something there", who, e.Cluster)
	}
}

// UnreachableError says that the API server did not tell whether anybody uses the cluster.
type UnreachableError struct {
	Cluster string
	Cause   error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the API server of cluster %s does not answer: if a run was killed in the middle of a fault, run 'holdfast heal %s': %v",
		e.Cluster, e.Cluster, e.Cause)
}

func (e *UnreachableError) Unwrap() error { return e.Cause }
