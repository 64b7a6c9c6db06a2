package audit

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

var offersUnreadyPods = Rule{
	ID: "offers-unready-pods", Severity: Warning,
	Title: "its Service offers pods that are not ready",
	Why: "With publishNotReadyAddresses, clients are sent to pods that have not started and to pods that are ending, whatever their readiness " +
		"probes and preStop hooks do. The field is meant for peers that look for each other. A Service without an address of its own " +
		"(clusterIP None) is taken for one of those, and left alone.",
	Doc: docService, needs: []Resource{Services}, check: checkOffersUnreadyPods,
}

func checkOffersUnreadyPods(s *subject) {
	for _, service := range s.inside(s.Namespace).services {
		selects := len(service.Spec.Selector) > 0 && includes(s.Template.Labels, service.Spec.Selector)
		if !selects || !service.Spec.PublishNotReadyAddresses || forPeers(service) || service.Spec.Type == corev1.ServiceTypeExternalName {
			continue
		}
		at := Target{Kind: "Service", Namespace: service.Namespace, Name: service.Name}
		s.find(Finding{
			Evidence: fmt.Sprintf("Service %s sends requests to its pods whether they are ready or not (publishNotReadyAddresses)", service.Name),
			Fix:      []Step{s.patch(at, MergePatch, object{"spec": object{"publishNotReadyAddresses": false}})},
			Caution:  "if its pods find each other by this Service, give them a second one with clusterIP None first",
		})
	}
}
