package appfile

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// door is a port of a Service that takes TCP, and what is known of the pods behind it.
type door struct {
	*guesser
	service  app.Service
	workload app.Workload
	port     corev1.ServicePort
	number   int32   // of the pods' port
	name     string  // of the pods' port; empty: it has none
	about    string  // the names of the container and of its image
	asked    []ask   // what a kubelet asks the port, readiness probes first
	other    string  // the port that a readiness probe asks, if it is another one
	client   *client // nil: nothing says how clients ask it
}

// address is where pods ask the port. Those of a headless Service are asked at their own.
func (d door) address() string {
	port := d.port.Port
	if d.service.Headless {
		port = d.number
	}
	return net.JoinHostPort(d.service.Name, strconv.Itoa(int(port)))
}

// doors are the ports of a Service that can be asked, and why there is none.
func (g *guesser) doors(s app.Service, w app.Workload) (doors []door, why string) {
	asks := asksOf(w)
	for _, p := range s.Ports {
		if !isTCP(p.Protocol) {
			why = fmt.Sprintf("its port %d takes %s, and holdfast sends requests over TCP alone", p.Port, p.Protocol)
			continue
		}
		d := door{guesser: g, service: s, workload: w, port: p}
		if !d.find() {
			why = fmt.Sprintf("its port %d leads to port %s, which no container of %s %s names", p.Port, p.TargetPort.StrVal, w.Kind, w.Name)
			continue
		}
		for _, one := range asks {
			switch {
			case one.number == d.number:
				d.asked = append(d.asked, one)
			case d.other == "" && one.probe == readiness:
				d.other = one.port.String()
			}
		}
		if i := slices.IndexFunc(g.clients[s.Name], func(c client) bool { return c.of(p) }); i >= 0 {
			d.client = &g.clients[s.Name][i]
		}
		doors = append(doors, d)
	}
	return doors, why
}

// find finds the port of the pods. A container need not declare a port that has a number.
func (d *door) find() bool {
	target := d.port.TargetPort
	if target == (intstr.IntOrString{}) {
		target = intstr.FromInt32(d.port.Port)
	}
	containers := d.workload.Running()
	for _, c := range containers {
		for _, p := range c.Ports {
			if isTCP(p.Protocol) && (target.Type == intstr.Int && p.ContainerPort == target.IntVal || target.Type == intstr.String && p.Name == target.StrVal) {
				d.number, d.name, d.about = p.ContainerPort, p.Name, c.Name+" "+c.Image
				return true
			}
		}
	}
	if d.number = target.IntVal; len(containers) == 1 {
		d.about = containers[0].Name + " " + containers[0].Image
	}
	return target.Type == intstr.Int
}

// readiness is the kind of probe that decides whether a pod gets requests.
const readiness = "readiness"

// ask is how a kubelet asks a container, over HTTP or gRPC.
type ask struct {
	probe, container string
	port             intstr.IntOrString
	number           int32 // of the port; 0: it is not known
	http             *corev1.HTTPGetAction
	grpc             bool
	service          string // of the health service of gRPC
	tls              bool   // of gRPC
}

// asksOf are the probes of a workload's pods: those for readiness, for the start, and for liveness.
func asksOf(w app.Workload) (all []ask) {
	for _, kind := range []struct {
		name string
		of   func(corev1.Container) *corev1.Probe
	}{
		{readiness, func(c corev1.Container) *corev1.Probe { return c.ReadinessProbe }},
		{"startup", func(c corev1.Container) *corev1.Probe { return c.StartupProbe }},
		{"liveness", func(c corev1.Container) *corev1.Probe { return c.LivenessProbe }},
	} {
		for _, c := range w.Running() {
			if p := kind.of(c); p != nil {
				if one, is := askOf(p.ProbeHandler); is {
					one.probe, one.container, one.number = kind.name, c.Name, numberOf(c, one.port)
					all = append(all, one)
				}
			}
		}
	}
	return all
}

// askOf is what a probe asks over HTTP or gRPC; not is: it does neither, or asks another host.
func askOf(h corev1.ProbeHandler) (one ask, is bool) {
	switch {
	case h.HTTPGet != nil:
		return ask{port: h.HTTPGet.Port, http: h.HTTPGet}, h.HTTPGet.Host == ""
	case h.GRPC != nil:
		return ask{port: intstr.FromInt32(h.GRPC.Port), grpc: true, service: ptr.Deref(h.GRPC.Service, "")}, true
	case h.Exec != nil:
		return ofHealthProbe(strings.Join(h.Exec.Command, " "))
	}
	return one, false
}

// The command grpc_health_probe, which asks the health service, and its flags.
//
// Source: https://github.com/grpc-ecosystem/grpc-health-probe
var (
	healthProbe   = regexp.MustCompile(`grpc[_-]health[_-]probe`)
	healthAddress = regexp.MustCompile(`-addr[= ]\S*:(\d+)`)
	healthService = regexp.MustCompile(`-service[= ]([^\s"';]+)`)
	healthTLS     = regexp.MustCompile(`-tls(\s|=true|$|-)`)
)

func ofHealthProbe(command string) (one ask, is bool) {
	if !healthProbe.MatchString(command) {
		return one, false
	}
	after := func(flag *regexp.Regexp) string { return append(flag.FindStringSubmatch(command), "", "")[1] }
	port, err := strconv.ParseInt(after(healthAddress), 10, 32)
	return ask{port: intstr.FromInt32(int32(port)), grpc: true, service: after(healthService), tls: healthTLS.MatchString(command)}, err == nil
}

// numberOf is the number of a port of a container; 0: it declares none of that name.
func numberOf(c corev1.Container, port intstr.IntOrString) int32 {
	at := slices.IndexFunc(c.Ports, func(p corev1.ContainerPort) bool { return port.Type == intstr.String && p.Name == port.StrVal })
	if at >= 0 {
		return c.Ports[at].ContainerPort
	}
	return port.IntVal
}

// spoken matches the names of ports that speak one of some protocols: those of the protocols, and what begins or ends with them.
//
// Source: https://kubernetes.io/docs/concepts/services-networking/service/#application-protocol,
// https://istio.io/latest/docs/ops/configuration/traffic-management/protocol-selection/
func spoken(protocols string) *regexp.Regexp {
	return regexp.MustCompile(`^(tcp-)?(` + protocols + `)([^a-z]|$)|-(` + protocols + `)$`)
}

var (
	webSockets = spoken("ws|wss|websocket")
	grpcs      = spoken("grpcs?")
	grpcWeb    = spoken("grpc-web")
	http2      = spoken("h2c|http2")
	web        = spoken("http|web")
	secured    = spoken("https|wss|grpcs|tls|ssl")
	unsecured  = spoken("http|http1|http2|h2c|ws")
)

// named is what says that the port speaks a protocol; empty: nothing does.
func (d door) named(protocol *regexp.Regexp) string {
	for _, one := range d.names() {
		if protocol.MatchString(one.name) {
			return one.words
		}
	}
	return ""
}

type named struct{ name, words string }

// names are what may name the protocol of the port, the most certain first.
func (d door) names() (all []named) {
	if p := d.port.AppProtocol; p != nil {
		all = append(all, named{strings.ToLower((*p)[strings.LastIndex(*p, "/")+1:]), fmt.Sprintf("Port %d has appProtocol %s", d.port.Port, *p)})
	}
	for _, name := range []string{d.name, d.port.Name} {
		if name != "" {
			all = append(all, named{strings.ToLower(name), fmt.Sprintf("Port %d is named %s", d.port.Port, name)})
		}
	}
	return all
}

// overTLS are the numbers of ports that are asked over TLS, where no name says otherwise: of HTTPS, API servers, webhooks and kubelets.
var overTLS = []int32{443, 6443, 8443, 9443, 10250}

// tls is why the port is asked over TLS; empty: it is not.
func (d door) tls() string {
	for _, one := range d.names() {
		switch {
		case secured.MatchString(one.name):
			return one.words
		case unsecured.MatchString(one.name):
			return ""
		}
	}
	if d.numbered(overTLS...) {
		return fmt.Sprintf("Port %d is one of TLS", d.port.Port)
	}
	return ""
}

// numbered reports whether the port has one of some numbers, in the Service or in the pods.
func (d door) numbered(ports ...int32) bool {
	return slices.Contains(ports, d.port.Port) || slices.Contains(ports, d.number)
}
