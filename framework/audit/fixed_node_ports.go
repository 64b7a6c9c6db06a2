package audit

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var fixedNodePorts = Rule{
	ID: "fixed-node-ports", Severity: Warning,
	Title: "it sends requests to node ports of hard-coded nodes",
	Why: "A list of nodes does not change when a node dies: its share of the requests fails until the list is edited. A " +
		"Service's own name follows the endpoints. The rule checks command lines, environment variables, the ConfigMaps that a " +
		"template names, and endpoints created by hand; not images, Secrets, or anything outside the cluster.",
	Doc: docNodePort, needs: []Resource{Nodes, Services, ConfigMaps, EndpointSlices}, check: checkFixedNodePorts,
}

func checkFixedNodePorts(s *subject) {
	for _, t := range s.texts() {
		fixed := s.fixedIn(t.text)
		if len(fixed.found) == 0 {
			continue
		}
		f := Finding{Evidence: fmt.Sprintf("%s names %s: %s of %s", t.where, listNames(fixed.found), fixed.ports(), fixed.nodes())}
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
	configMaps := s.inside(s.Namespace).configMaps
	for _, name := range slices.Compact(slices.Sorted(slices.Values(configMapsOf(s.Template)))) {
		if m := configMaps[name]; m != nil {
			all = append(all, s.mapTexts(*m)...)
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

// fixed describes the node addresses with ports that were found in a text.
type fixed struct {
	view                     *view
	found, unknown, services []string // addresses; node ports that no Service has; Services' names with ports
	onNodes                  []string
	replaced                 string // the text with addresses replaced by Services' names
}

func (v *view) fixedIn(in string) fixed {
	f := fixed{view: v, replaced: in}
	if !mayHavePort(in) {
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

// mayHavePort reports whether a text may contain a port. Most do not, which is found out much faster than with a regular expression.
func mayHavePort(text string) bool {
	for {
		at := strings.IndexByte(text, ':')
		if at < 0 || at+1 == len(text) {
			return false
		}
		if text = text[at+1:]; text[0] >= '0' && text[0] <= '9' {
			return true
		}
	}
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
	if !known && !inNodePortRange(port) {
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

func (f *fixed) ports() string {
	if len(f.services) == 0 {
		return "node ports"
	}
	return "node ports of Service " + listNames(f.services)
}

func (f *fixed) nodes() string {
	if len(f.onNodes) == 1 {
		return "node " + f.onNodes[0]
	}
	return "nodes " + listNames(f.onNodes)
}

// inNodePortRange reports whether a port is in Kubernetes' default range of node ports.
func inNodePortRange(port int64) bool { return port >= 30000 && port <= 32767 }

func addTo(all []string, one string) []string {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}
