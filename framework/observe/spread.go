package observe

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// spreadJSON is the constraints in Kubernetes' JSON; nil if there are none. Marshalling plain API types never fails.
func spreadJSON(constraints []corev1.TopologySpreadConstraint) json.RawMessage {
	if len(constraints) == 0 {
		return nil
	}
	raw, err := json.Marshal(constraints)
	if err != nil {
		return nil
	}
	return raw
}
