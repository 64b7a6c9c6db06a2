// Package scenario runs one claim that can be false against a real cluster: provision, deploy, steady, disturb, recover,
// judge. It is the only importer of Ginkgo, and the only package that fails a spec.
//
// It knows neither how a cluster is made (package clusters), nor what a fault does (fault), nor what a promise means
// (invariant): it brings them together, in order, and always undoes what it did.
package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Spec is a scenario: a literal, with no control flow. Zero fields mean the defaults of WithDefaults.
type Spec struct {
	// Name is suite/kebab-case, for example "chaos/drain-one-worker".
	Name string
	// Claim is the sentence that can be false.
	Claim string
	// Cluster is what it runs on; default: three zones of two workers each, in the run's profile.
	Cluster clusters.Spec
	// Backend is the workload under test. Gateway, where there is one, stands between the load and the backend.
	Backend workloads.Backend
	Gateway *workloads.Gateway
	// Addons are programs of somebody else's that run beside them, such as a Descheduler. The first time, each is compiled.
	Addons []workloads.Addon
	// Trials deploys so many backends, backend-1, backend-2 and so on, and does every fault to each of them at the same
	// time: of what happens by chance, it shows how often. Only without load and gateway, and with faults that touch the
	// workload alone (Scale, Rollout). 0: one backend, called backend.
	Trials int
	// StatefulSets makes StatefulSets of the last so many trials; the others stay Deployments. 0: all are alike, as Backend says.
	StatefulSets int
	// Room is how many replicas of the backend its own rules leave room for: more stay pending, and the backend counts as
	// settled without them. 0: all have a place.
	Room int
	// PinTo puts every replica of the backend on the n-th worker by name, counted from 1; 0 lets the scheduler choose.
	PinTo int
	// NodePorts gives the gateway the node ports of the first n workers as its fixed upstreams; 0: EndpointSlices.
	NodePorts int
	// Load is what flows from the beginning of Steady to the end of Recovered; none where a promise needs no traffic.
	// A lane's target may stay empty: the gateway where there is one, else the backend's Service.
	Load []load.Lane
	// LoadOnWorkers has a load worker on each of the first n workers by name, too, beside the one on the load node: what its node's
	// kube-proxy does to clients is seen from there. They share the rates of the lanes. Only with faults that take no node and drain
	// none: a load worker that is lost is lost evidence.
	LoadOnWorkers int
	// LoadCPU is the quota of processors that the load worker gets, such as "20m": for a mutant of the harness. Empty: none.
	LoadCPU string
	// Steady and Recovered last this long; default 3 s and 5 s.
	Steady, Recovered time.Duration
	// Faults are injected one after the other, and healed in reverse order once the last has been in force for Hold.
	Faults []fault.Fault
	Hold   time.Duration
	// Promises are judged on what was recorded.
	Promises []invariant.Invariant
	// About is how long it takes on two cores, for the progress line.
	About time.Duration
	// Full leaves it out of the short profile.
	Full bool
	// Stock also runs it with Kubernetes' own timings, in the full profile.
	Stock bool
	// Mutant says what is broken on purpose. Set by Mutate.
	Mutant *history.Mutant
}

// DefaultLoad is what most scenarios run under, and EveryLane is for disruptions that no client may notice, those with long-lived
// connections included. Their rates are in load.Lanes.
var (
	DefaultLoad = load.DefaultLanes()
	EveryLane   = load.EveryLane()
)

// WithDefaults fills in what was left empty.
func (s Spec) WithDefaults() Spec {
	if len(s.Cluster.Zones) == 0 {
		s.Cluster.Zones, s.Cluster.WorkersPerZone = []string{"a", "b", "c"}, 2
	}
	s.Cluster.LoadOnWorkers = max(s.Cluster.LoadOnWorkers, s.LoadOnWorkers)
	if s.Steady == 0 {
		s.Steady = 3 * time.Second
	}
	if s.Recovered == 0 {
		s.Recovered = 5 * time.Second
	}
	if s.About == 0 {
		s.About = 45 * time.Second
	}
	return s
}

// Suite is the part of the name before the slash.
func (s Spec) Suite() string {
	suite, _, _ := strings.Cut(s.Name, "/")
	return suite
}

// A name is a folder of the record and, without its slash, the namespace of a cluster.
var namePattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*$`)

// maxNamespace is the longest name that Kubernetes gives a namespace.
const maxNamespace = 63

// Validate says what of a spec makes no sense.
func (s Spec) Validate() error {
	if !namePattern.MatchString(s.Name) {
		return fmt.Errorf("scenario %q: want a name such as chaos/drain-one-worker", s.Name)
	}
	err := s.validate()
	if err == nil {
		err = s.validateParts()
	}
	if err != nil {
		return fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return nil
}

func (s Spec) validate() error {
	workers, last := len(s.Cluster.Zones)*s.Cluster.WithDefaults().WorkersPerZone, max(s.PinTo, s.NodePorts, s.LoadOnWorkers)
	switch n := len(namespaceOf(s)); {
	case n > maxNamespace:
		return fmt.Errorf("its namespace would have %d characters, and %d is the most", n, maxNamespace)
	case s.Claim == "":
		return errors.New("no claim")
	case len(s.Promises) == 0:
		return errors.New("no promises, so nothing could fail")
	case len(s.Faults) == 0:
		return errors.New("no faults, so nothing is tried")
	case s.Trials != 0 && (len(s.Load) > 0 || s.Gateway != nil || s.Backend.NodePort != 0):
		return errors.New("trials share no load, gateway or node port")
	case min(s.PinTo, s.NodePorts, s.LoadOnWorkers, s.Trials, s.StatefulSets, s.Room) < 0 || min(s.Steady, s.Recovered, s.Hold, s.About) < 0:
		return errors.New("a number or a time is negative")
	case s.StatefulSets > s.Trials:
		return fmt.Errorf("%d of %d trials are StatefulSets", s.StatefulSets, s.Trials)
	case s.StatefulSets > 0 && s.Backend.StatefulSet:
		return errors.New("some trials are StatefulSets, and all are")
	case s.LoadOnWorkers > 0 && len(s.Load) == 0:
		return errors.New("load workers on workers, and no load")
	case s.NodePorts > 0 && s.Gateway == nil:
		return errors.New("node ports without a gateway to use them")
	case s.NodePorts > 0 && s.Backend.NodePort == 0:
		return errors.New("node ports, and the backend has none")
	case last > workers && workers > 0:
		return fmt.Errorf("it wants worker %d, and its cluster has %d", last, workers)
	}
	return nil
}

func endsAtGateway(l load.Lane) bool {
	kind, _ := load.KindOf(l.Lane)
	return kind.EndsAtGateway
}

// validateParts asks those who are given a part of the spec. They would ask too, but only when there is a cluster.
func (s Spec) validateParts() error {
	if err := s.Cluster.Validate(); err != nil {
		return err
	}
	for _, f := range s.Faults {
		needs, several := f.(interface{ ControlPlanes() int })
		if have := s.Cluster.WithDefaults().ControlPlanes; several && have < needs.ControlPlanes() {
			return fmt.Errorf("%s needs %d control planes, and its cluster has %d", f, needs.ControlPlanes(), have)
		}
	}
	for _, b := range s.backends() {
		if err := b.Validate(); err != nil {
			return err
		}
	}
	if s.Gateway != nil {
		if err := s.Gateway.Validate(); err != nil {
			return err
		}
	}
	names := map[string]bool{}
	for _, a := range s.Addons {
		if err := a.Validate(); err != nil {
			return err
		}
		if name := a.Program().Name; names[name] {
			return fmt.Errorf("%s twice", name)
		}
		names[a.Program().Name] = true
	}
	if len(s.Load) == 0 {
		return nil
	}
	if _, err := s.loadWorkers(nil).Objects(workloads.Place{}); err != nil {
		return err
	}
	plan := load.Plan{ID: s.Name, Lanes: slices.Clone(s.Load)}
	for i := range plan.Lanes {
		plan.Lanes[i].Target = cmp.Or(plan.Lanes[i].Target, "http://filled-in-later/")
	}
	if i := slices.IndexFunc(plan.Lanes, endsAtGateway); i >= 0 && s.Gateway != nil {
		return fmt.Errorf("lane %s: the gateway passes on requests of HTTP alone", plan.Lanes[i].Lane)
	}
	return plan.Validate()
}
