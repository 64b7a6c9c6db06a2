package scenario

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Spec is a scenario: a literal, with no control flow. Zero fields mean the defaults of WithDefaults.
type Spec struct {
	// Name is suite/kebab-case, for example "chaos/drain-one-worker".
	Name string
	// Claim is a sentence that can be proven false.
	Claim string
	// Cluster is the cluster to run on. Default: three zones with two workers each, with the run's timings.
	Cluster clusters.Spec
	// Backend is the workload under test. Gateway, if set, is between the load and the backend.
	Backend workloads.Backend
	Gateway *workloads.Gateway
	// Simulated is a second workload, on simulated nodes: the faults are injected into it. nil: the cluster has no such nodes.
	Simulated *Simulated
	// App is an application of the user's own in place of Backend and Gateway, and Tested is the name of its workload into which the
	// faults are injected. The lanes' targets are URLs of its Services.
	App    *app.App
	Tested string
	// Aside says that no lane comes to the tested workload: what the lanes lead to may need it.
	Aside bool
	// Fronts are what lanes pass before they come to the application's Services, and Notes what a reader of the verdicts must know.
	Fronts map[history.Lane]history.Front
	Notes  []string
	// Fix is a list of audit.Step that is applied to the application once it is ready, and before any load.
	Fix []audit.Step
	// Lot is the name of the scenario whose random choices this one repeats; empty: its own.
	Lot string
	// Addons are third-party programs that run in the cluster, such as the Descheduler. Each is compiled when first used.
	Addons []workloads.Addon
	// Trials is the number of backends to deploy: backend-1, backend-2 and so on. Every fault is injected into all of them at the
	// same time, which shows how often something happens that depends on chance. Trials have no load and no gateway, and only
	// faults that change nothing but the workload (Scale, Rollout). 0: one backend, called backend.
	Trials int
	// StatefulSets is how many of the trials, counted from the last, are StatefulSets instead of Deployments.
	StatefulSets int
	// SchedulableReplicas is how many replicas the backend's own scheduling constraints allow. The rest stays pending, and the
	// backend counts as settled without it. 0: all replicas can be scheduled.
	SchedulableReplicas int
	// PinTo binds every replica of the backend to the n-th worker by name, counted from 1; 0: the scheduler chooses.
	PinTo int
	// NodePorts makes the node ports of the first n workers the fixed upstreams of the gateway; 0: it follows EndpointSlices.
	NodePorts int
	// Load is sent from the beginning of Steady until the end of Recovered; empty if no promise needs traffic. The default target
	// of a lane is the gateway, or the backend's Service if there is no gateway.
	Load []load.Lane
	// LoadWorkers changes how many load workers there are, and where. Default: one on the load node.
	LoadWorkers LoadWorkers
	// Steady and Recovered last this long; default 3 s and 5 s.
	Steady, Recovered time.Duration
	// Faults are injected one after the other. After the last one has been active for Hold, they are reverted in reverse order.
	Faults []fault.Fault
	Hold   time.Duration
	// Promises are judged on what was recorded.
	Promises []invariant.Invariant
	// About is how long the scenario takes on two cores, for the progress line.
	About time.Duration
	// First is set if a run with a limited time begins with it, and does not leave it out; see selection.MostTellingFirst.
	First bool
	// Full leaves it out of the short profile.
	Full bool
	// Stock also runs it with Kubernetes' own timings, in the full profile.
	Stock bool
	// Mutant is what is broken on purpose. Set by Mutate.
	Mutant *history.Mutant
}

// LoadWorkers are the pods that send the load. Each sends its share of the same plan.
type LoadWorkers struct {
	// Count is how many there are; 0: one, and one more for each of OnWorkers. More load workers send at higher rates than one can.
	Count int
	// OnWorkers puts load workers on each of the first n workers by name, too. They show what the kube-proxy of their node does to
	// clients. Use it only with faults that neither stop nor drain a node: the requests of a lost load worker are lost.
	OnWorkers int
	// CPU is the CPU quota of each load worker, such as "20m", for mutants of the harness. Empty: no quota.
	CPU string
	// Spin lets each load worker use up its quota now and then, so that it sends nothing meanwhile, however fast the processor is.
	Spin bool
}

// DefaultLoad is what most scenarios run under, and EveryLane is for disruptions that no client may notice, those with long-lived
// connections included. Their rates are in load.Lanes.
var (
	DefaultLoad = load.DefaultLanes()
	EveryLane   = load.EveryLane()
)

// WithDefaults replaces zero fields with their defaults.
func (s Spec) WithDefaults() Spec {
	if len(s.Cluster.Zones) == 0 {
		s.Cluster.Zones, s.Cluster.WorkersPerZone = []string{"a", "b", "c"}, 2
	}
	s.Cluster.LoadOnWorkers = max(s.Cluster.LoadOnWorkers, s.LoadWorkers.OnWorkers)
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

// Fixed is the scenario with the steps of fixes applied to its application, each as JSON of an audit.Step, and with the random choices that it
// has without them.
func (s Spec) Fixed(steps []json.RawMessage) (Spec, error) {
	s.Fix, s.Lot = nil, s.Name
	for _, raw := range steps {
		var step audit.Step
		if err := json.Unmarshal(raw, &step); err != nil {
			return s, fmt.Errorf("read the fix: %w", err)
		}
		s.Fix = append(s.Fix, step)
	}
	return s, nil
}

// Suite is the part of the name before the slash.
func (s Spec) Suite() string {
	suite, _, _ := strings.Cut(s.Name, "/")
	return suite
}

// A name is also the folder of the record and, with a dash for its slash, a namespace.
var namePattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*$`)

// maxNamespace is the longest name that Kubernetes gives a namespace.
const maxNamespace = 63

// Validate returns an error that names the first invalid field.
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
	workers, last := len(s.Cluster.Zones)*s.Cluster.WithDefaults().WorkersPerZone, max(s.PinTo, s.NodePorts, s.LoadWorkers.OnWorkers)
	switch n := len(s.Namespace()); {
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
	case s.LoadWorkers.Count > history.MaxLoadWorkers:
		return fmt.Errorf("%d load workers, and %d are the most", s.LoadWorkers.Count, history.MaxLoadWorkers)
	case min(s.PinTo, s.NodePorts, s.LoadWorkers.Count, s.LoadWorkers.OnWorkers, s.Trials, s.StatefulSets, s.SchedulableReplicas) < 0 || min(s.Steady, s.Recovered, s.Hold, s.About) < 0:
		return errors.New("a number or a time is negative")
	case s.App != nil && (s.Gateway != nil || s.Trials != 0 || s.NodePorts != 0 || s.PinTo != 0):
		return errors.New("an application of the user's own has no gateway, trials, node ports or pinned pods of holdfast's")
	case s.App != nil && !slices.ContainsFunc(s.App.Workloads, func(w app.Workload) bool { return w.Name == s.Tested }):
		return fmt.Errorf("the application has no workload %q", s.Tested)
	case s.StatefulSets > s.Trials:
		return fmt.Errorf("%d of %d trials are StatefulSets", s.StatefulSets, s.Trials)
	case s.StatefulSets > 0 && s.Backend.StatefulSet:
		return errors.New("some trials are StatefulSets, and all are")
	case s.LoadWorkers.OnWorkers > 0 && len(s.Load) == 0:
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

// endsAtGateway reports whether the gateway cannot forward the protocol of a lane.
func endsAtGateway(l load.Lane) bool {
	kind, _ := load.KindOf(l.Lane)
	return kind.EndsAtGateway
}

// validateParts validates the parts of the spec now, and not only when there is a cluster.
func (s Spec) validateParts() error {
	if err := errors.Join(s.Cluster.Validate(), s.validateSimulated()); err != nil {
		return err
	}
	for _, f := range s.Faults {
		needs, several := f.(interface{ ControlPlanes() int })
		if have := s.Cluster.WithDefaults().ControlPlanes; several && have < needs.ControlPlanes() {
			return fmt.Errorf("%s needs %d control planes, and its cluster has %d", f, needs.ControlPlanes(), have)
		}
	}
	for _, b := range s.Backends() {
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
	if _, err := s.LoadWorkload(nil).Objects(workloads.Place{}); err != nil {
		return err
	}
	plan := load.Plan{ID: s.Name, Lanes: slices.Clone(s.Load)}
	for i := range plan.Lanes {
		plan.Lanes[i].Target = cmp.Or(plan.Lanes[i].Target, "http://filled-in-later/")
	}
	if i := slices.IndexFunc(plan.Lanes, endsAtGateway); i >= 0 && s.Gateway != nil {
		return fmt.Errorf("lane %s: the gateway forwards HTTP requests only", plan.Lanes[i].Lane)
	}
	return plan.Validate()
}

// Labels say what a scenario is about, so that scenarios can be chosen by it: its suite; short or full; load, gateway, stock and mutant
// where they apply; and the types of its faults, such as node-kill. They are also its labels in Ginkgo.
func (s Spec) Labels() []string {
	labels := []string{s.Suite()}
	add := func(applies bool, label string) {
		if applies {
			labels = append(labels, label)
		}
	}
	add(s.Full, "full")
	add(!s.Full, "short")
	add(len(s.Load) > 0, "load")
	add(s.Gateway != nil, "gateway")
	add(strings.HasSuffix(s.Name, stockSuffix), "stock")
	add(s.Mutant != nil, "mutant")
	for _, f := range s.Faults {
		add(true, kebab(reflect.Indirect(reflect.ValueOf(f)).Type().Name()))
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

// kebab writes the name of a type as in names of scenarios: NodeKill is node-kill, EtcdLeaderKill is etcd-leader-kill.
func kebab(name string) string {
	var b strings.Builder
	for i, letter := range name {
		if unicode.IsUpper(letter) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(letter))
	}
	return b.String()
}
