package audit

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// sliceController manages the EndpointSlices of Services with a selector.
const sliceController = "endpointslice-controller.k8s.io"

// mirror is the controller that copies Endpoints created by hand into EndpointSlices. It deletes its slices when the Service
// gets a selector.
const mirror = "endpointslicemirroring-controller.k8s.io"

// handMade reports whether an EndpointSlice of a Service was created by hand.
func handMade(s *discoveryv1.EndpointSlice) bool {
	return s.Labels[discoveryv1.LabelServiceName] != "" && s.Labels[discoveryv1.LabelManagedBy] != sliceController
}

// checkHandMade finds Services whose hand-made endpoints are node ports of the subject.
func (s *subject) checkHandMade() {
	for _, slice := range s.cluster.Slices {
		front := s.service(slice.Namespace, slice.Labels[discoveryv1.LabelServiceName])
		if front == nil || len(front.Spec.Selector) > 0 {
			continue
		}
		behind, on := s.nodePortsOf(slice)
		if behind == nil || behind.service.Namespace != s.Namespace || !includes(s.Template.Labels, behind.service.Spec.Selector) {
			continue
		}
		f := Finding{Evidence: fmt.Sprintf("the endpoints of Service %s/%s were created by hand (EndpointSlice %s): node port %d of %s",
			front.Namespace, front.Name, slice.Name, behind.port.NodePort, listNames(on))}
		if front.Namespace == s.Namespace {
			f.Fix = s.follow(front, slice, *behind)
		} else {
			f.Caution = fmt.Sprintf("a Service selects pods of its own namespace only: let its clients name %s.%s.svc", behind.service.Name, s.Namespace)
		}
		s.find(f)
	}
}

// service returns a Service by name; nil if it was not read.
func (v *view) service(namespace, name string) *corev1.Service {
	for _, s := range v.inside(namespace).services {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// nodePortsOf returns the Service behind a slice's endpoints, if they are node ports, and the nodes that the endpoints name.
func (v *view) nodePortsOf(slice discoveryv1.EndpointSlice) (behind *offered, on []string) {
	for _, p := range slice.Ports {
		if p.Port == nil {
			continue
		}
		if o, known := v.ports[*p.Port]; known && len(o.service.Spec.Selector) > 0 {
			behind = &o
		}
	}
	if behind == nil {
		return nil, nil
	}
	for _, e := range slice.Endpoints {
		for _, a := range e.Addresses {
			if node, isNode := v.addresses[a]; isNode {
				on = addTo(on, node)
			}
		}
	}
	if len(on) == 0 {
		return nil, nil
	}
	return behind, on
}

// follow makes the Service select the pods itself, and removes the hand-made slice.
func (s *subject) follow(front *corev1.Service, slice discoveryv1.EndpointSlice, behind offered) []Step {
	ops := []op{{"add", "/spec/selector", behind.service.Spec.Selector}}
	for i := range front.Spec.Ports {
		ops = append(ops, op{"add", fmt.Sprintf("/spec/ports/%d/targetPort", i), behind.port.TargetPort})
	}
	fix := []Step{s.patch(Target{Kind: "Service", Namespace: front.Namespace, Name: front.Name}, JSONPatch, ops)}
	if slice.Labels[discoveryv1.LabelManagedBy] != mirror {
		fix = append(fix, s.remove(Target{Kind: "EndpointSlice", Namespace: slice.Namespace, Name: slice.Name}))
	}
	return fix
}
