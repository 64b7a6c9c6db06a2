package observe

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
)

// templateHash is a text that changes whenever a pod template does. Marshalling plain API types never fails.
func templateHash(template corev1.PodTemplateSpec) string {
	raw, err := json.Marshal(template)
	if err != nil {
		return ""
	}
	sum := fnv.New64a()
	_, _ = sum.Write(raw) // never returns an error
	return fmt.Sprintf("%016x", sum.Sum64())
}
