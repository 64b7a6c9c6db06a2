package observe

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// spreadJSON keeps the constraints as Kubernetes writes them, nil when there are none. Plain API types always marshal.
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
