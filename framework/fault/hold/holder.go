package hold

import (
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/output"
	"github.com/holdfast-ha/holdfast/framework/base/process"
)

// Holder describes who uses a cluster, and what may be wrong with the cluster.
type Holder struct {
	// Run names the run, such as "run 20261122-183000", and Command is its command line.
	Run     string `json:"run"`
	Command string `json:"command"`
	process.Process
	Since time.Time `json:"since"`
	// Token distinguishes two holds by the same process.
	Token string `json:"token"`
	// Namespaces are those in which the run changes workloads; see Options.
	Namespaces []string `json:"namespaces,omitempty"`
	// Fault is the fault in force. It is recorded before it is injected. Empty means no fault.
	Fault string `json:"fault,omitempty"`
	// Left describes what the run did not restore. Empty means that the cluster is as the run found it.
	Left string `json:"left,omitempty"`
	// Healed describes what a healer has undone, after which it has given the cluster back. Empty: the holder is no healer, or is at work.
	Healed string `json:"healed,omitempty"`
}

// over reports whether the holder has recorded that it uses the cluster no more.
func (h Holder) over() bool { return h.Left != "" || h.Healed != "" }

// seen is a holder as read from the Lease or from its copy.
type seen struct {
	Holder
	renewed time.Time // zero when read from the copy
}

// abandoned reports whether the holder will never release the cluster: its process has ended, or it has recorded Left. A holder
// on another machine, whose process cannot be checked, also counts as gone when its Lease is older than Silence. That is good enough for a
// message, and no reason to take the cluster: see Watch.
func (s seen) abandoned(now time.Time) bool {
	switch s.Life() {
	case process.Ended:
		return true
	case process.Elsewhere:
		return s.over() || !s.renewed.IsZero() && now.Sub(s.renewed) > Silence
	}
	return s.over()
}

// HeldError means that another process uses the cluster.
type HeldError struct {
	Cluster string
	Holder
	Foreign bool // holdfast cannot make another one like it
}

func (e *HeldError) Error() string {
	next := "wait until it ends, or make another cluster with 'holdfast up NAME'"
	if e.Foreign {
		next = "wait until it ends"
	}
	return output.Line(fmt.Sprintf("cluster %s is in use since %s by %s (%s; %s): %s", e.Cluster, e.Since.Format(time.TimeOnly), e.Run, e.Command, e.Process, next))
}

// AbandonedError means that a run has ended without restoring the cluster.
type AbandonedError struct {
	Cluster string
	Holder
	Healing string // the command that heals the cluster
}

func (e *AbandonedError) Error() string {
	return output.Line(e.what()) + ": run '" + e.Healing + "' first"
}

func (e *AbandonedError) what() string {
	switch who := fmt.Sprintf("%s (%s)", e.Run, e.Process); {
	case e.Healed != "":
		return fmt.Sprintf("%s has undone in cluster %s %s", who, e.Cluster, e.Healed)
	case e.Left != "":
		return fmt.Sprintf("%s did not leave cluster %s as it was: %s", who, e.Cluster, e.Left)
	case e.Fault != "":
		return fmt.Sprintf("%s was killed in the middle of a fault, which was not undone on cluster %s: %s", who, e.Cluster, e.Fault)
	default:
		return fmt.Sprintf("%s was killed while it used cluster %s, and may have left something there", who, e.Cluster)
	}
}

// UnreachableError means that the API server could not be asked who uses the cluster.
type UnreachableError struct {
	Cluster string
	Cause   error
	Healing string // the command that heals the cluster
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the API server of cluster %s does not answer: if a run was killed in the middle of a fault, run '%s': %v", e.Cluster, e.Healing, e.Cause)
}

func (e *UnreachableError) Unwrap() error { return e.Cause }
