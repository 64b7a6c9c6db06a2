package history

import "time"

// NoiseHarness is Noise.Of for the process that writes the record.
const NoiseHarness = "harness"

// Noise is how badly a part of the harness ran between Since and the event's own moment, by its own measurement. What goes
// wrong at such a time may be the harness's doing, and not that of the system under test.
type Noise struct {
	Of    string `json:"of"` // NoiseHarness, or a load worker's name
	Since Offset `json:"since"`
	// Pause is by how much the process woke up late from a short sleep, at the worst: what stops it shows here, whatever the cause.
	Pause time.Duration `json:"pause"`
	// GC is the longest that a collection of garbage stopped everything, Sched the longest that a goroutine that could run had to wait
	// for a thread that does, both rounded up to the bounds of the runtime's own buckets.
	GC    time.Duration `json:"gc"`
	Sched time.Duration `json:"sched"`
	// Throttled is for how long its control group had used up its quota.
	Throttled time.Duration `json:"throttled,omitempty"`
	// Steal is the share of its machine's processor time, 0 to 1, that a hypervisor gave to others.
	Steal float64 `json:"steal,omitempty"`
	// Waits are the shares of time, 0 to 1, in which something on its machine waited for a resource.
	Waits
}

// Waits are pressure stall information, the lines "some". A kernel that does not tell leaves them zero.
//
// Source: https://docs.kernel.org/accounting/psi.html
type Waits struct {
	CPU    float64 `json:"waitCPU,omitempty"`
	Memory float64 `json:"waitMemory,omitempty"`
	IO     float64 `json:"waitIO,omitempty"`
}

// Echo is the harness's own change of an object, come back to it by a watch at the event's moment: by how much later than they
// happened it learns of changes.
type Echo struct {
	Sent Offset `json:"sent"`
	// Taken is how long the API server took to answer that it had made the change, or not to. Zero in a record that is older
	// than this.
	Taken Offset `json:"taken,omitempty"`
	// Error says that the change was not made, and why: then nothing came back, and the event's moment is when that was known.
	Error string `json:"error,omitempty"`
}
