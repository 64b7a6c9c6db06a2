package apptest

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/app/manifests"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// leads returns an error unless the probe's URL leads to pods of the application.
func (p Probe) leads(a app.App, u *url.URL) error {
	for _, name := range p.Behind {
		if _, known := a.Service(name); !known || len(a.Behind(name)) == 0 {
			return fmt.Errorf("probe %s: behind: %s is no Service with pods of a Deployment, StatefulSet or DaemonSet of the application", p.Name, name)
		}
	}
	service, known := a.Service(u.Hostname())
	if front, is := a.FrontOf(p.URL); is {
		switch {
		case p.Outside:
			return fmt.Errorf("probe %s: from: %s is asked at the address of its controller in any case: leave it out", p.Name, front)
		case len(p.Behind) > 0:
			return fmt.Errorf("probe %s: behind: %s says itself which Services are behind it", p.Name, front)
		case len(workloadsOf(a, front.Backends)) == 0:
			return fmt.Errorf("probe %s: %s leads to no Service with pods of a Deployment, StatefulSet or DaemonSet of the application", p.Name, front)
		}
		return nil
	}
	if !known {
		return p.unknown(a, u)
	}
	ports, port := a.PortsOf(service), app.Port(u)
	known = slices.Contains(ports, port) || service.Headless && len(ports) == 0 || p.Outside && service.HasNodePort(port)
	switch {
	case service.External != "":
		return fmt.Errorf("probe %s: Service %s is of type ExternalName and leads to %s, which is no Service of the application: name the Service of a tested workload",
			p.Name, service.Name, service.External)
	case len(a.Behind(service.Name)) == 0:
		return fmt.Errorf("probe %s: Service %s selects no pods of a Deployment, StatefulSet or DaemonSet of the application: %s", p.Name, service.Name, a.Selects(service))
	case p.Outside && !service.NodePort && !service.LoadBalancer:
		return fmt.Errorf("probe %s: from: Service %s has the type ClusterIP, so that nothing outside of the cluster reaches it: give it the type NodePort or LoadBalancer, or leave from out", p.Name, service.Name)
	case p.atNodes(a) && len(p.Behind) > 0:
		return fmt.Errorf("probe %s: behind: which pod of Service %s takes a request to a node port is not known, and so not what it sends on: leave out behind or from", p.Name, service.Name)
	case !known && service.HasNodePort(port):
		return fmt.Errorf("probe %s: Service %s has no port %s; it has %s. To ask its node ports, say from: outside", p.Name, service.Name, port, prose.List(ports))
	case !known && service.Headless:
		return fmt.Errorf("probe %s: Service %s is headless, so that its pods are asked at their own port: write %s in place of %s", p.Name, service.Name, prose.List(ports), port)
	case !known:
		return fmt.Errorf("probe %s: Service %s has no port %s; it has %s", p.Name, service.Name, port, prose.List(ports))
	case a.Unnamed(service, port) != "":
		return fmt.Errorf("probe %s: port %s of Service %s leads to the port %s of its pods, and no container has a port of this name, so that nothing answers: name the port of the container, or have its number as targetPort",
			p.Name, port, service.Name, a.Unnamed(service, port))
	case slices.Contains(p.Behind, service.Name):
		return fmt.Errorf("probe %s: behind: Service %s cannot be behind itself", p.Name, service.Name)
	}
	return nil
}

// unknown says why a URL names no Service of the tested workloads.
func (p Probe) unknown(a app.App, u *url.URL) error {
	if elsewhere, is := a.ServiceElsewhere(u.Hostname()); is {
		return fmt.Errorf("probe %s: Service %s is in namespace %s or among what comes before the application, and what is tested is in namespace %s: "+
			"name the Service of a tested workload, or choose another namespace with --namespace", p.Name, elsewhere.Name, elsewhere.Namespace, a.Namespace)
	}
	pod, of, _ := strings.Cut(u.Hostname(), ".")
	if s, is := a.Service(of); is && s.Headless {
		return fmt.Errorf("probe %s: %s names one pod of headless Service %s, and no other takes its place, so that each of its restarts would be a failure: "+
			"name the Service, whose ready pods are asked, with %s in place of %s", p.Name, pod, s.Name, of, u.Hostname())
	}
	return fmt.Errorf("probe %s: %s is no Service of the application, and no host of an Ingress or HTTPRoute. It has %s", p.Name, u.Hostname(), a.Names())
}

// front is what the probe's requests pass before they come to the pods that answer them; nil: nothing, or nothing that is known.
func (p Probe) front(a app.App) *history.Front {
	if f, is := a.FrontOf(p.URL); is {
		return &history.Front{Name: f.String(), Entries: f.Entries, Backends: f.Backends, Sticky: f.Sticky}
	}
	name := p.service(a)
	if p.atNodes(a) { // the connections end at a node, which chooses the pod
		s, _ := a.Service(name)
		return &history.Front{Name: "the node ports of Service " + name, Entries: []string{name}, Backends: []string{name}, Sticky: s.Sticky}
	}
	if name != "" && len(p.Behind) > 0 {
		return &history.Front{Name: "Service " + name, Entries: []string{name}, Backends: p.Behind}
	}
	return nil
}

// atNodes reports whether the probe's requests are sent to node ports.
func (p Probe) atNodes(a app.App) bool {
	u, err := url.Parse(p.URL)
	if err != nil || !p.Outside {
		return false
	}
	s, is := a.Service(u.Hostname())
	return is && s.AtNodes(app.Port(u))
}

// service is the name of the Service that the probe's URL names; empty: it names none.
func (p Probe) service(a app.App) string {
	u, err := url.Parse(p.URL)
	if err != nil {
		return ""
	}
	s, _ := a.Service(u.Hostname())
	return s.Name
}

// door is what the probe's requests come to first: the name of a front, or of a Service.
func (p Probe) door(a app.App) string {
	if f := p.front(a); f != nil {
		return f.Name
	}
	return p.service(a)
}

// reaches are the workloads that a probe's requests meet: those of its Service, or of a front the controller and what is behind it.
func (p Probe) reaches(a app.App) []app.Workload {
	if f := p.front(a); f != nil {
		return workloadsOf(a, slices.Concat(f.Entries, f.Backends))
	}
	return a.Behind(p.service(a))
}

// workloadsOf are the workloads behind some Services, each once.
func workloadsOf(a app.App, services []string) (list []app.Workload) {
	for _, name := range services {
		for _, w := range a.Behind(name) {
			if !slices.ContainsFunc(list, func(other app.Workload) bool { return other.Name == w.Name }) {
				list = append(list, w)
			}
		}
	}
	return list
}

// fronts are the fronts of a test's lanes.
func (t Test) fronts(probes []Probe) map[history.Lane]history.Front {
	fronts := map[history.Lane]history.Front{}
	for _, p := range probes {
		f := p.front(t.App)
		if f == nil {
			continue
		}
		for _, lane := range p.LaneNames(len(probes)) {
			fronts[lane] = *f
		}
	}
	return fronts
}

// asked are the Services to which requests are sent, as NAMESPACE/NAME, or that may be the entry of a front to which they are sent.
func (t Test) asked() map[string]manifests.Way {
	all := map[string]manifests.Way{}
	for _, p := range t.Probes {
		f, _ := t.App.FrontOf(p.URL)
		for _, s := range f.Elsewhere {
			all[s.Namespace+"/"+s.Name] |= manifests.AtEntry
		}
		for _, name := range f.Entries {
			all[t.App.Namespace+"/"+name] |= manifests.AtEntry
		}
		way := manifests.AtClusterIP
		s, is := t.App.Service(p.service(t.App))
		switch {
		case !is:
			continue
		case p.atNodes(t.App):
			way = manifests.AtNodePorts
		case p.Outside:
			way = manifests.AtBalancer
		case s.Headless: // which has no cluster IP
			way = manifests.AtEntry
		}
		all[t.App.Namespace+"/"+s.Name] |= way
	}
	return all
}

// load are the lanes of all probes. Where a URL names a Service of type ExternalName, the one that it leads to is asked for the host of the URL.
func (t Test) load() []load.Lane {
	all := Lanes(t.Probes, t.rate())
	for i := range all {
		l := &all[i]
		u, err := url.Parse(l.Target)
		if err != nil {
			continue
		}
		name, _, _ := strings.Cut(u.Hostname(), ".")
		s, is := t.App.Service(u.Hostname())
		if !is || s.Name == name {
			continue
		}
		if l.Request.Host == "" && u.Scheme != "tcp" {
			l.Request.Host = u.Host
		}
		u.Host = net.JoinHostPort(s.Name, app.Port(u))
		l.Target = u.String()
	}
	return all
}

// idle is how long connections are idle at most between two requests; 0: none is kept.
func (t Test) idle() (longest time.Duration) {
	for _, l := range t.load() {
		if l.Lane != history.LaneControl {
			longest = max(longest, l.IdleFor())
		}
	}
	return longest
}

// Notes say what a reader of the verdicts about a workload must know.
func (t Test) Notes(w app.Workload) (notes []string) {
	if rate := t.rate(); rate < DefaultRate {
		notes = append(notes, fmt.Sprintf("Probes that say no rate send %.3g requests a second on each lane, and not %d, because all lanes share %d.", rate, DefaultRate, totalRate))
	}
	if idle := t.idle(); idle > 0 {
		notes = append(notes, fmt.Sprintf("No kept connection is idle for longer than %s, at the scenario's rate from one load worker: longer keep-alive time-outs of servers "+
			"are not met. The field idle of a probe meets them.", idle.Round(10*time.Millisecond)))
	}
	for _, p := range t.Probes {
		if rate := cmp.Or(p.Rate, t.rate()); p.slowest(t.rate()) < rate {
			notes = append(notes, fmt.Sprintf("The kept connections of probe %s send %.3g requests a second, and not %.3g, because %d connections at most are idle for %s: "+
				"an outage shorter than %s may be missed on them.", p.Name, p.slowest(t.rate()), rate, mostIdle, p.Idle,
				time.Duration(float64(time.Second)/p.slowest(t.rate())).Round(time.Millisecond)))
		}
		if trust := p.Request.TLS; trust != nil && trust.Unverified {
			notes = append(notes, fmt.Sprintf("The certificate that probe %s is shown is not verified: a wrong one is not noticed.", p.Name))
		}
		if s, is := t.App.Service(p.service(t.App)); is && s.Headless {
			notes = append(notes, fmt.Sprintf("Service %s is headless: for each new connection, probe %s looks up its pods in the cluster's DNS, as its clients must, "+
				"so that the DNS is part of what is tested.", s.Name, p.Name))
		}
		f := p.front(t.App)
		switch {
		case p.atNodes(t.App):
			notes = append(notes, fmt.Sprintf("The requests of probe %s go to %s, of each worker in turn: no load balancer leaves out a node that is lost or has no pod. "+
				"Which pod answers is inferred from its endpoints.", p.Name, f.Name))
			continue
		case p.Outside:
			notes = append(notes, fmt.Sprintf("The requests of probe %s go to the address of a load balancer that stands for the cloud's: it is kube-proxy of the load node, "+
				"which knows at once which pods are ready.", p.Name))
		}
		if f == nil {
			continue
		}
		var behind []string
		for _, one := range workloadsOf(t.App, f.Backends) {
			behind = append(behind, one.Kind+" "+one.Name)
		}
		notes = append(notes, fmt.Sprintf("The requests of probe %s pass %s. A connection shows which of its own pods takes a request; which pod of %s answers it "+
			"is inferred from their endpoints.", p.Name, f.Name, strings.Join(behind, " and ")))
	}
	if w.HasVolume(t.App) {
		notes = append(notes, fmt.Sprintf("The volumes of %s %s are folders, each of one node. A pod whose node is drained or lost waits for that node, where the disk of a "+
			"cloud would have moved.", w.Kind, w.Name))
	}
	return notes
}
