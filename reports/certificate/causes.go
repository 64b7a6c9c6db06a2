package certificate

import (
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
)

// CauseInWords is "; cause: " and the cause with its explanation, to follow what it explains; empty if the cause is not known.
func CauseInWords(cause string) string {
	if cause == "" {
		return ""
	}
	words := attribution.Cause(cause).Words()
	for _, known := range failureCauses {
		if known.cause == cause {
			words = known.words
		}
	}
	if words == cause {
		return "; cause: " + cause
	}
	return fmt.Sprintf("; cause: %s (%s)", cause, words)
}

// failureCauses are why a step of an upgrade fails, and the text by which Kubernetes says so.
var failureCauses = []struct{ cause, words, says string }{
	// k8s.io/apiserver/pkg/admission/plugin/webhook/errors
	{"webhook-unreachable", "an admission webhook with failurePolicy Fail could not be called, so its objects could not be changed", "failed calling webhook"},
	{"webhook-denied", "an admission webhook refused it", "admission webhook"},
	// k8s.io/kubernetes/pkg/registry/core/pod/storage/eviction.go
	{"budget-refuses", "a disruption budget allowed no eviction", "would violate the pod's disruption budget"},
	{"image-missing", "an image was neither in the node nor could be pulled", "ErrImagePull"},
	{"image-missing", "an image was neither in the node nor could be pulled", "ImagePullBackOff"},
}

// CauseOf is the cause of a failed step, from its error; empty if it is not known.
func CauseOf(why string) string {
	for _, known := range failureCauses {
		if strings.Contains(why, known.says) {
			return known.cause
		}
	}
	return ""
}
