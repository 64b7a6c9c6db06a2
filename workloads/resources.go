package workloads

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Resources of one pod. CPU has no limit by default: throttling would be an outage that holdfast itself causes.
type Resources struct {
	// CPU and Memory are requests.
	CPU    string `json:"cpu,omitempty"`
	Memory string `json:"memory,omitempty"`
	// CPULimit is the CPU limit; empty: none. A container that has used up its quota stands still.
	CPULimit string `json:"cpuLimit,omitempty"`
	// MemoryLimit is the memory limit: it stops a leaking server before its node suffers.
	MemoryLimit string `json:"memoryLimit,omitempty"`
}

func (r Resources) withDefaults(cpu, memory, limit string) Resources {
	defaultTo(&r.CPU, cpu)
	defaultTo(&r.Memory, memory)
	defaultTo(&r.MemoryLimit, limit)
	return r
}

func (r Resources) validate() error {
	for _, q := range []string{r.CPU, r.Memory, r.MemoryLimit, cmp.Or(r.CPULimit, "0")} {
		if _, err := resource.ParseQuantity(q); err != nil {
			return fmt.Errorf("resources: %q: %w", q, err)
		}
	}
	return nil
}

// requirements converts valid resources.
func (r Resources) requirements() corev1.ResourceRequirements {
	all := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(r.CPU), corev1.ResourceMemory: resource.MustParse(r.Memory),
		},
		Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(r.MemoryLimit)},
	}
	if r.CPULimit != "" {
		all.Limits[corev1.ResourceCPU] = resource.MustParse(r.CPULimit)
	}
	return all
}

// softLimit is the value for GOMEMLIMIT in bytes, 3/4 of the memory limit: near it Go's garbage collector runs more often.
func (r Resources) softLimit() int64 {
	limit := resource.MustParse(r.MemoryLimit)
	return limit.Value() / 4 * 3
}
