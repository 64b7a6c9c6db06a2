// Package cpu is what a record says of the processor time of control groups.
package cpu

import "time"

// Groups is how much processor time control groups used, in processors, if it was at least a hundredth of one, and how long a CPU quota held
// the nodes back, of which no process inside of a node sees anything.
type Groups struct {
	// Unknown is why nothing is known of them, in the first sample.
	Unknown    string             `json:"unknown,omitempty"`
	Processors int                `json:"processors,omitempty"` // of the machine
	Pods       map[string]float64 `json:"pods,omitempty"`       // by UID
	Nodes      map[string]float64 `json:"nodes,omitempty"`      // what a node used besides these pods, by name
	Harness    float64            `json:"harness,omitempty"`    // this process, and the commands that it ran
	Quota      *Quota             `json:"quota,omitempty"`      // that held nodes back most; nil: none did
}

// Quota is the CPU quota of a control group that contains nodes, or is one.
type Quota struct {
	Group string `json:"group"` // its path
	// Held is for how long it kept processors from running what was ready to run, and Used how long they ran it; sums over all processors.
	Held time.Duration `json:"held"`
	Used time.Duration `json:"used"`
}
