// Package appguess guesses holdfast.yaml from an application's manifests: which requests show whether it serves.
//
// Each guess says in a comment what it rests on. It sends nothing, and asks no cluster.
package appguess

import (
	"fmt"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-ha/holdfast/framework/appfile"
	"github.com/holdfast-ha/holdfast/framework/apptest"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// probe is a guess: the lines of the probe, and why.
type probe struct {
	why   string
	lines []string
}

// File is the text of a holdfast.yaml for an application whose manifests are in the given sources, relative to the folder of the file.
func File(a app.App, from app.Sources, folder string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(appfile.SchemaLine)
	line("# What holdfast test does to this application, and which requests it sends meanwhile. Guessed by holdfast init: check the comments.")
	line("apiVersion: %s", appfile.APIVersion)
	line("kind: %s", appfile.Kind)
	line("app:")
	if len(from.Files) > 0 {
		line("  manifests: [%s]", strings.Join(relative(from.Files, folder), ", "))
	}
	if from.Kustomize != "" {
		line("  kustomize: %s", relative([]string{from.Kustomize}, folder)[0])
	}
	if c := from.Chart; c.Path != "" {
		line("  chart:\n    path: %s", relative([]string{c.Path}, folder)[0])
		if len(c.Values) > 0 {
			line("    values: [%s]", strings.Join(relative(c.Values, folder), ", "))
		}
		if c.Release != "" {
			line("    release: %s", c.Release)
		}
	}
	if len(from.Before) > 0 {
		line("  before: [%s]", strings.Join(relative(from.Before, folder), ", "))
	}
	line("  namespace: %s", a.Namespace)
	line("  # Images are taken from the local container engine, or else pulled once by this machine. Archives of 'docker save' can be listed here.")
	line("  images: []")
	for _, image := range a.Images() {
		line("  # - %s", image)
	}
	b.WriteString(probes(a))
	line("# What is promised by default: no request fails during a voluntary disruption. After an involuntary one, only requests to the lost pods fail,")
	line("# until Kubernetes must have noticed. To promise another thing, change these lines; promises.probes.NAME is for one probe alone.")
	line("# promises:")
	line("#   voluntary: {failed: 0} # %s; or a share such as 0.1%%", strings.Join(apptest.FaultsOf(apptest.Voluntary), ", "))
	line("#   involuntary: {ends-within: 60s} # %s", strings.Join(apptest.FaultsOf(apptest.Involuntary), ", "))
	line("# One replica more and less, a rolling update, a drain, a deleted pod, a dead node. holdfast test --help lists others.")
	line("faults: [%s]", strings.Join(apptest.DefaultFaults, ", "))
	return b.String()
}

// relative are paths relative to a folder, where they can be.
func relative(paths []string, folder string) (all []string) {
	for _, path := range paths {
		if !strings.Contains(path, "://") {
			if near, err := filepath.Rel(folder, path); err == nil {
				path = near
			}
		}
		all = append(all, path)
	}
	return all
}

// probes is the part of the file with the probes, one for each Service that leads to pods.
func probes(a app.App) string {
	var b strings.Builder
	b.WriteString("probes:\n")
	found := false
	for _, s := range a.Services {
		behind := a.Behind(s.Name)
		if len(behind) == 0 || s.Headless || len(s.Ports) == 0 {
			continue
		}
		found = true
		p := guess(s, behind[0])
		fmt.Fprintf(&b, "  # %s\n  - name: %s\n", p.why, s.Name)
		for _, line := range p.lines {
			b.WriteString("    " + line + "\n")
		}
	}
	if !found {
		b.WriteString("  # No Service with an address leads to a Deployment, StatefulSet or DaemonSet of these manifests: name one.\n  []\n")
	}
	return b.String()
}

// known are the ports of servers that answer a question over TCP.
var known = map[int32][]string{
	6379: {`body: "PING\r\n"`, "expect: {contains: +PONG}"},
}

// guess is the probe of a Service. A readiness probe says best how the server is asked; the name and the number of the port come next.
func guess(s app.Service, w app.Workload) probe {
	port := s.Ports[0]
	address := fmt.Sprintf("%s:%d", s.Name, port.Port)
	if why := saysWebSocket(port); why != "" {
		return probe{why + " Nothing says at which path, and which message is answered: send and expect.", []string{"url: ws://" + address + "/", `# send: '{"type":"ping"}'`, "# expect: {contains: pong}"}}
	}
	c, number := container(w, port)
	if c != nil && c.ReadinessProbe != nil {
		switch h := c.ReadinessProbe.ProbeHandler; {
		case h.GRPC != nil:
			p := probe{fmt.Sprintf("The readiness probe of container %s asks the health service.", c.Name), []string{"grpc: " + address}}
			if h.GRPC.Service != nil && *h.GRPC.Service != "" {
				p.lines = append(p.lines, "service: "+*h.GRPC.Service)
			}
			return p
		case h.HTTPGet != nil && h.HTTPGet.Scheme != corev1.URISchemeHTTPS:
			path := "/" + strings.TrimPrefix(h.HTTPGet.Path, "/")
			return probe{
				fmt.Sprintf("The readiness probe of container %s asks for this path. A path that clients use shows more.", c.Name),
				[]string{"url: http://" + address + path},
			}
		}
	}
	if lines, is := known[number]; is {
		return probe{fmt.Sprintf("Port %d is known.", number), append([]string{"tcp: " + address}, lines...)}
	}
	if strings.HasPrefix(port.Name, "http") || port.Port == 80 || port.Port == 8080 || number == 80 || number == 8080 {
		return probe{fmt.Sprintf("Guessed from port %d. Nothing says which path answers with status 200.", port.Port), []string{"url: http://" + address + "/"}}
	}
	return probe{fmt.Sprintf("Nothing says what port %d answers. A connection that is accepted counts as an answer.", port.Port), []string{"tcp: " + address}}
}

// saysWebSocket is where a port says that it takes WebSockets; empty: it does not.
//
// Source: https://kubernetes.io/docs/concepts/services-networking/service/#application-protocol
func saysWebSocket(port corev1.ServicePort) string {
	switch {
	case port.AppProtocol != nil && *port.AppProtocol == "kubernetes.io/ws":
		return fmt.Sprintf("Port %d has appProtocol kubernetes.io/ws: WebSockets.", port.Port)
	case port.Name == "ws" || port.Name == "websocket" || strings.HasPrefix(port.Name, "ws-"):
		return fmt.Sprintf("Port %d is named %s: WebSockets.", port.Port, port.Name)
	}
	return ""
}

// container is the container that has a Service's port, and the port's number in the pod; nil: none declares it.
func container(w app.Workload, port corev1.ServicePort) (*corev1.Container, int32) {
	target := port.TargetPort
	if target == (intstr.IntOrString{}) {
		target = intstr.FromInt32(port.Port)
	}
	for i := range w.Template.Spec.Containers {
		c := &w.Template.Spec.Containers[i]
		for _, p := range c.Ports {
			if target.Type == intstr.Int && p.ContainerPort == target.IntVal || target.Type == intstr.String && p.Name == target.StrVal {
				return c, p.ContainerPort
			}
		}
	}
	if len(w.Template.Spec.Containers) == 1 {
		return &w.Template.Spec.Containers[0], target.IntVal
	}
	return nil, target.IntVal
}
