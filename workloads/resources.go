package workloads

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Resources of one pod. CPU is not limited: throttling would be an outage of our own making.
type Resources struct {
	// CPU and Memory are requested.
	CPU    string `json:"cpu,omitempty"`
	Memory string `json:"memory,omitempty"`
	// CPULimit is a quota of CPU; empty: none. What has used it up stands still.
	CPULimit string `json:"cpuLimit,omitempty"`
	// MemoryLimit stops a server that leaks before its node suffers.
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

// requirements of a container, from resources that are valid.
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

// softLimit is where Go's collector begins to work harder: 3/4 of the hard one, in bytes.
func (r Resources) softLimit() int64 {
	limit := resource.MustParse(r.MemoryLimit)
	return limit.Value() / 4 * 3
}
