package audit

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

func checkFixedNodePorts(s *subject) {
	for _, t := range s.texts() {
		fixed := s.fixedIn(t.text)
		if len(fixed.found) == 0 {
			continue
		}
		ports, nodes := "node ports", "nodes"
		if len(fixed.services) > 0 {
			ports += " of Service " + listNames(fixed.services)
		}
		if len(fixed.onNodes) == 1 {
			nodes = "node"
		}
		f := Finding{Evidence: fmt.Sprintf("%s names %s: %s of %s %s", t.where, listNames(fixed.found), ports, nodes, listNames(fixed.onNodes))}
		switch {
		case len(fixed.unknown) > 0:
			f.Caution = fmt.Sprintf("no Service that was read has node port %s: use the name of its Service instead", listNames(fixed.unknown))
		case t.fix == nil:
			f.Caution = "it cannot be patched in place (an immutable ConfigMap, or one too large for a command): name " + listNames(fixed.services) + " instead"
		default:
			f.Fix = t.fix(fixed.replaced)
			f.Caution = sentences("cluster DNS must answer in its pods", s.rollout())
		}
		s.find(f)
	}
	s.checkHandMade()
}

// text is a part of a workload that may contain addresses.
type text struct {
	where, text string
	fix         func(replaced string) []Step // nil: it cannot be patched
}

// texts returns the arguments and variables of the subject's containers, and its ConfigMaps.
func (s *subject) texts() (all []text) {
	for _, c := range containersOf(s.Template.Spec) {
		at := fmt.Sprintf("%s/%s/%d", pathPod, c.list, c.index)
		add := func(where, path, is string) {
			all = append(all, text{fmt.Sprintf("%s of container %s", where, c.Name), is, func(replaced string) []Step {
				return s.patchOps([]op{{"test", path, is}, {"replace", path, replaced}})
			}})
		}
		for i, arg := range c.Command {
			add(fmt.Sprintf("word %d of the command", i+1), fmt.Sprintf("%s/command/%d", at, i), arg)
		}
		for i, arg := range c.Args {
			add(fmt.Sprintf("argument %d", i+1), fmt.Sprintf("%s/args/%d", at, i), arg)
		}
		for i, env := range c.Env {
			add("variable "+env.Name, fmt.Sprintf("%s/env/%d/value", at, i), env.Value)
		}
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(configMapsOf(s.Template)))) {
		for _, m := range in(s.Namespace, s.cluster.ConfigMaps) {
			if m.Name == name {
				all = append(all, s.mapTexts(*m)...)
			}
		}
	}
	return all
}

// mostPatched is the largest ConfigMap value, in bytes, that goes into a command: shells accept about 128 KiB for one word.
const mostPatched = 32 << 10

func (s *subject) mapTexts(m corev1.ConfigMap) (all []text) {
	for _, key := range slices.Sorted(maps.Keys(m.Data)) {
		t := text{where: fmt.Sprintf("%s in ConfigMap %s", key, m.Name), text: m.Data[key]}
		if immutable := m.Immutable != nil && *m.Immutable; !immutable && len(t.text) <= mostPatched {
			t.fix = func(replaced string) []Step {
				at := Target{Kind: "ConfigMap", Namespace: m.Namespace, Name: m.Name}
				return []Step{s.patch(at, MergePatch, object{"data": object{key: replaced}}), s.restart()}
			}
		}
		all = append(all, t)
	}
	return all
}

// hostPort matches what may be an address with a port.
var hostPort = regexp.MustCompile(`(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?):[0-9]{4,5}\b`)

// mayHavePort is found much faster than hostPort, and most texts have none.
var mayHavePort = regexp.MustCompile(`:[0-9]`)

// fixed describes the node addresses with ports that were found in a text.
type fixed struct {
	view                     *view
	found, unknown, services []string // addresses; node ports that no Service has; Services' names with ports
	onNodes                  []string
	replaced                 string // the text with addresses replaced by Services' names
}

func (v *view) fixedIn(in string) fixed {
	f := fixed{view: v, replaced: in}
	if !mayHavePort.MatchString(in) {
		return f
	}
	f.replaced = hostPort.ReplaceAllStringFunc(in, f.see)
	for _, service := range f.services { // several nodes of one Service become one entry of a list
		for twice := service + "," + service; strings.Contains(f.replaced, twice); {
			f.replaced = strings.ReplaceAll(f.replaced, twice, service)
		}
	}
	return f
}

// see records an address of a node port, and returns what replaces it.
func (f *fixed) see(address string) string {
	at := strings.LastIndexByte(address, ':')
	node, isNode := f.view.addresses[strings.Trim(address[:at], "[]")]
	port, err := strconv.ParseInt(address[at+1:], 10, 32)
	if !isNode || err != nil {
		return address
	}
	p, known := f.view.ports[int32(port)]
	if inRange := port >= 30000 && port <= 32767; !known && !inRange { // Kubernetes' default
		return address
	}
	f.found, f.onNodes = addTo(f.found, address), addTo(f.onNodes, node)
	if !known {
		f.unknown = addTo(f.unknown, address[at+1:])
		return address
	}
	name := fmt.Sprintf("%s.%s.svc:%d", p.service.Name, p.service.Namespace, p.port.Port)
	f.services = addTo(f.services, name)
	return name
}

func addTo(all []string, one string) []string {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}

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
	for _, s := range in(namespace, v.cluster.Services) {
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
