package history

import "time"

// NoiseHarness is Noise.Of for the process that writes the record.
const NoiseHarness = "harness"

// Noise is how badly a part of the harness ran between Since and the event's T, measured by that part itself. Failures in
// that time may be caused by the harness instead of the system under test.
type Noise struct {
	Of    string `json:"of"` // NoiseHarness, or a load worker's name
	Since Offset `json:"since"`
	// Pause is the largest delay with which the process woke up from a short sleep. Whatever stops the process shows up
	// here.
	Pause time.Duration `json:"pause"`
	// Throttled is how long the control group had used up its CPU quota.
	Throttled time.Duration `json:"throttled,omitempty"`
	// Steal is the share of the machine's CPU time, 0 to 1, that the hypervisor gave to other machines.
	Steal float64 `json:"steal,omitempty"`
	// Used is the share of the machine's CPU time, 0 to 1, that was not idle. Waiting for input or output is idle, stolen time is not.
	// Zero in older records.
	Used float64 `json:"used,omitempty"`
	// CPU is the share of time, 0 to 1, in which a task on the machine waited for a processor: pressure stall information, the line "some"; zero if
	// the kernel does not provide it.
	//
	// Source: https://docs.kernel.org/accounting/psi.html
	CPU float64 `json:"waitCPU,omitempty"`
	// Groups are the control groups of the nodes, which NoiseHarness reads where it runs on their machine; nil elsewhere and in older records.
	Groups *CPUGroups `json:"groups,omitempty"`
}

// Echo is the harness's own change of an object, reported back by a watch at the event's T: it measures how late the
// harness hears of changes.
type Echo struct {
	Sent Offset `json:"sent"`
	// Taken is how long the API server took to respond to the change. Zero in older records.
	Taken Offset `json:"taken,omitempty"`
	// Error is why the change was not made. No watch reports the change then, and the event's T is when the error was
	// known.
	Error string `json:"error,omitempty"`
}

// CPUGroups is how much processor time control groups used, in processors, if it was at least a hundredth of one, and how long a CPU quota held
// the nodes back, of which no process inside of a node sees anything.
type CPUGroups struct {
	// Unknown is why nothing is known of them, in the first sample.
	Unknown    string             `json:"unknown,omitempty"`
	Processors int                `json:"processors,omitempty"` // of the machine
	Pods       map[string]float64 `json:"pods,omitempty"`       // by UID
	Nodes      map[string]float64 `json:"nodes,omitempty"`      // what a node used besides these pods, by name
	Harness    float64            `json:"harness,omitempty"`    // this process, and the commands that it ran
	Quota      *CPUQuota          `json:"quota,omitempty"`      // that held nodes back most; nil: none did
}

// CPUQuota is the CPU quota of a control group that contains nodes, or is one.
type CPUQuota struct {
	Group string `json:"group"` // its path
	// Held is for how long it kept processors from running what was ready to run, and Used how long they ran it; sums over all processors.
	Held time.Duration `json:"held"`
	Used time.Duration `json:"used"`
}
