package apptest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/app/manifests"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Test is what is tested: an application, the requests that show whether it serves, and what is done to it.
type Test struct {
	App    app.App
	Probes []Probe
	// Faults are names of the table Faults, such as drain, or with the workload that they are aimed at, such as drain:web; none: those of
	// DefaultFaults. One that names no workload is done to each that a probe reaches.
	Faults   []string
	Promises Promises
	// Existing says that the cluster is there already, and may have what the application does not bring.
	Existing bool

	known *known
}

// known is what is found out of a test once, because each of its scenarios asks for it.
type known struct {
	probed map[string][]Probe // that reach a workload, by its name
	names  map[string]string  // of workloads, as parts of names of scenarios
	notes  []string           // of what cannot work, with which the test runs
}

// checked is the test with what is known of it. The error is of a test that cannot work.
func (t Test) checked() (Test, error) {
	findings := t.Findings()
	t.known = &known{t.probed(), namesOf(t.App.Workloads), findings.Notes()}
	return t, errors.Join(findings.Err(), t.validate())
}

// suite is the first part of the names of the scenarios.
const suite = "app"

// cluster is the cluster of a test: a worker in each of three zones, so that a lost node is a lost zone.
var cluster = clusters.Spec{Zones: []string{"a", "b", "c"}, WorkersPerZone: 1}

// steady is long enough to see that the application serves before anything is disturbed: rows are collected in segments of two seconds.
const steady = 6 * time.Second

// recovered is long enough to see that it serves again.
const recovered = 5 * time.Second

// idling is how long a scenario must last before and after its fault so that each idle connection is used twice and once.
func (t Test) idling() (before, after time.Duration) {
	var longest time.Duration
	for _, p := range t.Probes {
		longest = max(longest, p.Idle)
	}
	return 5 * longest / 2, 3 * longest / 2
}

// Scenarios are the scenarios of the test: each fault for each workload that it is done to, in the order of the workloads. Untested are the
// workloads that nothing is done to.
func (t Test) Scenarios() (all []scenario.Spec, untested []Untested, err error) {
	if t, err = t.checked(); err != nil {
		return nil, nil, err
	}
	var skipped []string
	for _, w := range t.App.Workloads {
		faults := t.faults(w)
		switch {
		case len(faults) > 0:
		case len(t.known.probed[w.Name]) > 0:
			untested = append(untested, Untested{w, "no fault is aimed at it"})
		default:
			untested = append(untested, Untested{w, "no URL leads to it, and no fault is aimed at it"})
		}
		for _, name := range faults {
			if why := skip(w, name); why != "" {
				skipped = append(skipped, fmt.Sprintf("Skipped: %s of %s %s, because %s.", name, w.Kind, w.Name, why))
				continue
			}
			s, err := t.scenario(w, name)
			if err != nil {
				return nil, nil, err
			}
			all = append(all, s)
		}
	}
	switch {
	case len(all) == 0 && len(skipped) > 0:
		return nil, nil, fmt.Errorf("nothing is left to test:\n  %s", strings.Join(skipped, "\n  "))
	case len(all) == 0:
		return nil, nil, errors.New("nothing would be done: no fault is aimed at a Deployment, StatefulSet or DaemonSet of the application")
	}
	for i := range all {
		all[i].Notes = slices.Concat(all[i].Notes, skipped)
	}
	return all, untested, nil
}

// skip is why a fault would show nothing of a workload; empty: it shows something.
func skip(w app.Workload, fault string) string {
	rolls := fault == "rollout" || fault == "bad-image" || fault == "config-change" && w.Config.Rolls()
	switch {
	case fault == "config-change" && w.Unconfigured != "":
		return w.Unconfigured
	case w.Replicas == 0 || rolls:
		return w.Stuck
	}
	if w.Kind != workloads.DaemonSet {
		return ""
	}
	if Faults[fault].class == unharmed {
		return "one replica more is asked for meanwhile, and a DaemonSet has none"
	}
	return neverOfDaemonSets[fault]
}

// neverOfDaemonSets is why some faults show nothing of a DaemonSet, whose pods belong to their nodes.
var neverOfDaemonSets = map[string]string{
	"drain":           "a drain leaves the pods of a DaemonSet where they are (kubectl drain --ignore-daemonsets)",
	"scale":           "a DaemonSet has no replicas, but a pod on each node",
	"memory-pressure": "its controller puts an evicted pod back on the same node, where it is evicted again",
	"disk-pressure":   "its controller puts an evicted pod back on the same node, where it is evicted again",
}

// Untested is a workload that nothing is done to, and why.
type Untested struct {
	app.Workload
	Why string
}

// faults are the names of the faults that are done to a workload, each once.
func (t Test) faults(w app.Workload) (names []string) {
	reached, faults := len(t.known.probed[w.Name]) > 0, t.Faults
	if len(faults) == 0 {
		faults = DefaultFaults
	}
	for _, one := range faults {
		name, workload, aimed := strings.Cut(one, ":")
		if (aimed && workload == w.Name || !aimed && reached) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Findings are what cannot work on the cluster of the test.
func (t Test) Findings() manifests.Findings {
	plan := manifests.PlanOf(cluster)
	plan.Existing, plan.Asked = t.Existing, t.asked()
	return manifests.Check(t.App, plan)
}

func (t Test) validate() error {
	if len(t.Probes) == 0 {
		return t.unasked()
	}
	errs := []error{t.Promises.Check(t.Probes)}
	seen := map[string]bool{}
	for _, p := range t.Probes {
		if seen[p.Name] {
			errs = append(errs, fmt.Errorf("two probes are named %q", p.Name))
		}
		seen[p.Name] = true
		errs = append(errs, p.validate(t.App))
		if all := p.reaches(t.App); len(all) > 0 && !slices.ContainsFunc(all, func(w app.Workload) bool { return w.Replicas > 0 }) {
			errs = append(errs, fmt.Errorf("probe %s: %s %s has no replicas, so that no pod answers: give it at least one for the test", p.Name, all[0].Kind, all[0].Name))
		}
	}
	var workloads []string
	kinds := map[string]string{}
	for _, w := range t.App.Workloads {
		if kind, is := kinds[w.Name]; is {
			errs = append(errs, app.SameName(w, kind))
		}
		kinds[w.Name], workloads = w.Kind, append(workloads, w.Name)
	}
	for _, one := range t.Faults {
		name, workload, aimed := strings.Cut(one, ":")
		if _, known := Faults[name]; !known {
			errs = append(errs, fmt.Errorf("there is no fault %q: %s", name, scenario.Wanted(name, FaultNames())))
		}
		if aimed && !slices.Contains(workloads, workload) {
			errs = append(errs, fmt.Errorf("fault %s: there is no Deployment, StatefulSet or DaemonSet %q: %s", name, workload, scenario.Wanted(workload, workloads)))
		}
	}
	return errors.Join(errs...)
}

// unasked is the error of a test without a probe: it names a URL, or what lacks for one.
func (t Test) unasked() error {
	for _, s := range t.App.Services {
		if ports := t.App.PortsOf(s); len(t.App.Behind(s.Name)) > 0 && len(ports) > 0 {
			return fmt.Errorf("no probe: give the URL of a Service with --url, such as http://%s.%s:%s/", s.Name, t.App.Namespace, ports[0])
		}
	}
	return errors.New("nothing can be asked: " + Unasked(t.App))
}

// Unasked says why no request can be sent to an application.
func Unasked(a app.App) string {
	var names []string
	for _, w := range a.Workloads {
		names = append(names, w.Kind+" "+w.Name)
	}
	const most = 5
	return fmt.Sprintf("no Service that clients use leads to %s. Add one that answers clients, and a probe for it in holdfast.yaml, or name its URL with --url", prose.Few(names, most))
}

// probed are the probes that reach each workload, by its name.
func (t Test) probed() map[string][]Probe {
	by := map[string][]Probe{}
	for _, p := range t.Probes {
		for _, w := range p.reaches(t.App) {
			by[w.Name] = append(by[w.Name], p)
		}
	}
	return by
}

// scenario is one fault in one workload. All probes send their requests, whichever workload they reach, because what they reach may need this one.
func (t Test) scenario(w app.Workload, name string) (scenario.Spec, error) {
	d := Faults[name]
	s := d.make(w)
	s.Name = suite + "/" + name
	if t.several() {
		s.Name += "-" + t.known.names[w.Name]
	}
	s.About = cmp.Or(s.About, time.Minute)
	s.Claim = d.claim(w, t.promise(&s, d.class, d.limit), t.clients(w))
	return t.under(s, w)
}

// several reports whether names of scenarios must tell the workload: a probe reaches several, or a fault names one.
func (t Test) several() bool {
	return len(t.known.probed) > 1 || slices.ContainsFunc(t.Faults, func(one string) bool { return strings.Contains(one, ":") })
}

// clients are those of whom a fault in a workload is promised to be invisible; empty: only those of the workload itself.
func (t Test) clients(w app.Workload) string {
	var doors []string
	others := false
	for _, p := range t.Probes {
		others = others || !slices.ContainsFunc(p.reaches(t.App), func(one app.Workload) bool { return one.Name == w.Name })
		if door := p.door(t.App); !slices.Contains(doors, door) {
			doors = append(doors, door)
		}
	}
	if !others {
		return ""
	}
	return " of " + prose.List(doors)
}

// under is a scenario with the application, whose faults are in one workload.
func (t Test) under(s scenario.Spec, w app.Workload) (scenario.Spec, error) {
	before, after := t.idling()
	s.About += max(0, before-max(s.Steady, steady)) + max(0, after-recovered)
	s.Cluster, s.App, s.Tested, s.Steady, s.Recovered = cluster, &t.App, w.Name, max(s.Steady, steady, before), max(recovered, after)
	s.Load, s.Aside = t.load(), len(t.known.probed[w.Name]) == 0
	s.Fronts, s.Notes = t.fronts(t.Probes), slices.Concat(s.Notes, t.Notes(w), t.App.Notes, t.known.notes)
	spec := s.WithDefaults()
	return spec, spec.Validate()
}
