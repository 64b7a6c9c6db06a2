package existing

import "strings"

// AutoscalerStatus is the ConfigMap in kube-system in which the cluster autoscaler writes what it does.
const AutoscalerStatus = autoscalerStatus

// Groups are the API groups of the tools that a fact is about, such as FactChaos.
func Groups(fact string) (all []string) {
	for _, t := range known {
		if t.fact == fact && !strings.Contains(t.group, "*") {
			all = append(all, t.group)
		}
	}
	return all
}
