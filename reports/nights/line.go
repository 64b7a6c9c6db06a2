package nights

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// Line is what must be the same before figures are compared: nights that differ in it are on lines of their own. Anything else that changes
// is part of Versions, and named where it changes.
type Line struct {
	Certificates bool   `json:"certificates,omitempty"`
	Application  string `json:"application,omitempty"` // the user's own, as namespace/Service
	Kubernetes   string `json:"kubernetes"`            // its minor version, "v1.37"; of a certificate "v1.36 to v1.37"
	Profile      string `json:"profile,omitempty"`
	ProxyMode    string `json:"proxyMode,omitempty"`
	Provider     string `json:"provider,omitempty"`
	Engine       string `json:"engine,omitempty"`  // without its version
	Cluster      string `json:"cluster,omitempty"` // the name of a cluster that holdfast did not make
	Planted      string `json:"planted,omitempty"` // the regression that a certificate had to catch
	Simulated    int    `json:"simulatedNodes,omitempty"`
	Cores        int    `json:"cores,omitempty"`
	Arch         string `json:"arch,omitempty"`
}

// Versions are what may change from one night of a line to the next.
type Versions struct {
	Kubernetes string
	Image      string // of the nodes
	Holdfast   string
	Engine     string
	Kernel     string
	CPU        string
}

// VersionChange is a difference between the Versions of two nights.
type VersionChange struct {
	What string `json:"what"` // "Kubernetes", "node image", "holdfast", "engine", "kernel" or "CPU"
	From string `json:"from"` // empty if unknown
	To   string `json:"to"`   // empty if unknown
}

// String is the change in words.
func (c VersionChange) String() string {
	return fmt.Sprintf("%s %s to %s", c.What, cmp.Or(c.From, "unknown"), cmp.Or(c.To, "unknown"))
}

// To lists what differs in b.
func (v Versions) To(b Versions) (list []VersionChange) {
	for _, c := range []VersionChange{
		{"Kubernetes", v.Kubernetes, b.Kubernetes}, {"node image", v.Image, b.Image}, {"holdfast", v.Holdfast, b.Holdfast},
		{"engine", v.Engine, b.Engine}, {"kernel", v.Kernel, b.Kernel}, {"CPU", v.CPU, b.CPU},
	} {
		if c.From != c.To {
			list = append(list, c)
		}
	}
	return list
}

// String is the line in words.
func (l Line) String() string {
	parts := []string{"Kubernetes " + cmp.Or(l.Kubernetes, "of an unknown version")}
	if l.Certificates {
		parts[0] = "certificates of " + parts[0]
	}
	add := func(format, text string) {
		if text != "" {
			parts = append(parts, fmt.Sprintf(format, text))
		}
	}
	add("application %s", l.Application)
	add("%s timings", l.Profile)
	add("%s", l.ProxyMode)
	add("%s", strings.Join(slices.DeleteFunc([]string{l.Provider, l.Engine}, func(s string) bool { return s == "" }), " on "))
	add("cluster %s", l.Cluster)
	add("planted %s", l.Planted)
	if l.Simulated > 0 {
		add("%s", prose.Count(l.Simulated, "simulated node"))
	}
	if l.Cores > 0 {
		add("%s", fmt.Sprintf("%d cores %s", l.Cores, l.Arch))
	}
	return strings.Join(parts, ", ")
}

// Kind is what stays the same when a line goes on as another one, such as that of a newer Kubernetes or machine.
func (l Line) Kind() Line {
	return Line{Certificates: l.Certificates, Application: l.Application, Cluster: l.Cluster, Planted: l.Planted}
}

// lineOf is the line of a scenario. One that did not begin has no cluster, and belongs to the line of its run.
func lineOf(r *reports.Report, s *reports.Scenario) (Line, Versions) {
	c, app := s.Cluster, s.Application
	if c.Kubernetes == "" {
		c = r.Cluster
		for i := range r.Scenarios {
			app = cmp.Or(app, r.Scenarios[i].Application)
		}
	}
	engine, _, _ := strings.Cut(c.Engine, " ")
	l := Line{
		Application: app, Kubernetes: minor(c.Kubernetes), Profile: c.Profile, ProxyMode: c.ProxyMode, Provider: c.Provider, Engine: engine, Simulated: c.SimulatedNodes,
	}
	if c.Engine == "" { // holdfast's own clusters have an engine, and names of a single run
		l.Cluster = c.Name
	}
	v := Versions{Kubernetes: c.Kubernetes, Image: c.Image, Holdfast: r.Holdfast, Engine: c.Engine}
	m := runfolder.Machine{}
	if r.Machine != nil {
		m = *r.Machine
	}
	l.Cores, l.Arch, v.Kernel, v.CPU = m.Cores, m.Arch, m.Kernel, m.CPU
	return l, v
}

func lineOfCertificate(c *certificate.Certificate) (Line, Versions) {
	engine, _, _ := strings.Cut(c.Machine.Engine, " ")
	l := Line{
		Certificates: true, Kubernetes: minor(c.From.Kubernetes) + " to " + minor(c.To.Kubernetes), Engine: engine, Planted: c.Planted,
		Cores: c.Machine.Cores, Arch: c.Machine.Arch,
	}
	if c.Cluster != nil {
		l.Cluster = c.Cluster.Name
	}
	return l, Versions{
		Kubernetes: c.From.Kubernetes + " to " + c.To.Kubernetes, Image: c.To.Image, Holdfast: c.Holdfast, Engine: c.Machine.Engine, Kernel: c.Machine.Kernel,
	}
}

// minor is "v1.37" of "v1.37.1". What is no version stays as it is.
func minor(version string) string { return cmp.Or(semver.MajorMinor(version), version) }
