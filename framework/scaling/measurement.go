package scaling

import "time"

// Measurement is what a run at one size took.
type Measurement struct {
	At       time.Time `json:"at"`
	Scenario string    `json:"scenario"`
	Timings  string    `json:"timings"`
	Nodes    int       `json:"nodes"` // simulated ones
	Pods     int       `json:"pods"`  // on simulated nodes
	Outcome  string    `json:"outcome"`
	// Of the process that ran the scenario and judged it: how long it took, its processor time, and the most that was resident.
	RunSeconds float64 `json:"runSeconds"`
	RunCPU     float64 `json:"runCPUSeconds"`
	RunBytes   int64   `json:"runBytes"`
	// Of the process that judged the record again.
	JudgeSeconds float64 `json:"judgeSeconds"`
	JudgeCPU     float64 `json:"judgeCPUSeconds"`
	JudgeBytes   int64   `json:"judgeBytes"`
	Events       int     `json:"events"`
	Gaps         int     `json:"gaps"` // in which a watch may have missed something, each marked in the record
	RecordBytes  int64   `json:"recordBytes"`
	// Of the scheduler during the run: pods that it bound, the mean of a successful attempt, and that of the time from the queue to the binding.
	Bound          int     `json:"bound"`
	AttemptSeconds float64 `json:"attemptSeconds"`
	BindSeconds    float64 `json:"bindSeconds"`
	// Resident is how much of each program of the control plane was resident after the run, in bytes.
	Resident map[string]int64 `json:"resident,omitempty"`
}

const mib = 1 << 20

// clusterCourses are the figures of clusters over one of their sizes.
func clusterCourses(all []Measurement, size func(Measurement) int) []Course {
	return coursesOf(all, func(m Measurement) float64 { return float64(size(m)) }, []figure[Measurement]{
		{"memory of the run", "MiB", func(m Measurement) float64 { return float64(m.RunBytes) / mib }},
		{"processor time of the run", "s", func(m Measurement) float64 { return m.RunCPU }},
		{"events", "", func(m Measurement) float64 { return float64(m.Events) }},
		{"record", "MiB", func(m Measurement) float64 { return float64(m.RecordBytes) / mib }},
		{"processor time to judge", "s", func(m Measurement) float64 { return m.JudgeCPU }},
		{"memory to judge", "MiB", func(m Measurement) float64 { return float64(m.JudgeBytes) / mib }},
		{"scheduling attempt", "ms", func(m Measurement) float64 { return 1000 * m.AttemptSeconds }},
		{"queue to bound", "s", func(m Measurement) float64 { return m.BindSeconds }},
		{"kube-apiserver", "MiB", func(m Measurement) float64 { return float64(m.Resident["kube-apiserver"]) / mib }},
		{"etcd", "MiB", func(m Measurement) float64 { return float64(m.Resident["etcd"]) / mib }},
		{"kwok", "MiB", func(m Measurement) float64 { return float64(m.Resident["kwok"]) / mib }},
	})
}
