package appfile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Promises say what is promised of the probes' requests where it is not the default.
type Promises struct {
	Voluntary   Voluntary   `yaml:"voluntary"`   // during bad-image, config-change, delete-pod, drain, rollout, scale, and the upgrade of 'holdfast certify'
	Involuntary Involuntary `yaml:"involuntary"` // after disk-pressure, freeze, kill-container, memory-pressure, node-kill, partition, shutdown, zone-outage
	Probes      ByProbe     `yaml:"probes"`      // by the name of a probe: what is promised of its requests instead; what is left out is as above
}

// ByProbe are promises by the names of probes.
type ByProbe map[string]OfProbe

// OfProbe is what is promised of the requests of one probe.
type OfProbe struct {
	Voluntary   Voluntary   `yaml:"voluntary"`   // as above, for this probe
	Involuntary Involuntary `yaml:"involuntary"` // as above, for this probe

	line, column int
}

// Voluntary is what is promised while somebody changes the application or its nodes on purpose.
type Voluntary struct {
	Failed   *Failed `yaml:"failed"`    // how many requests of a probe may fail in a scenario, such as 3, or which share of them, such as 0.1%; default: 0
	SlowerBy *Span   `yaml:"slower-by"` // how much longer than before the disruption the slowest answer, and 99 of 100, may take; default: 2s and 1s, and of a probe whose requests may fail, or are few, nothing
}

// Involuntary is what is promised when a part of the cluster is lost.
type Involuntary struct {
	EndsWithin *Span `yaml:"ends-within"` // how long after the lost pods have last answered requests may fail; default: until Kubernetes must have noticed, or 5s after an eviction
}

// Failed is a number of requests, or a share of them.
type Failed struct {
	apptest.Allowance
	line, column int
}

// Span is a duration that is longer than nothing and at most longestSpan.
type Span struct {
	time.Duration
	line, column int
}

// longestSpan is longer than any cluster takes to notice a loss. A fault stays at least as long as requests may fail.
const longestSpan = time.Hour

var (
	wholeNumber = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})$`)
	percentage  = regexp.MustCompile(`^([0-9]{1,2}(\.[0-9]+)?)%$`)
)

// wantedFailed and wantedSpan say what the values are.
const (
	wantedFailed = "a number of requests such as 3, or a share of them such as 0.1%, below 100%"
	wantedSpan   = "a duration such as 20s, above 0s and at most 1h"
)

// UnmarshalYAML reads a number such as 3, or a share such as 0.1%.
func (f *Failed) UnmarshalYAML(n *yaml.Node) error {
	f.line, f.column = n.Line, n.Column
	if n.Tag == "!!int" && wholeNumber.MatchString(n.Value) {
		f.AtMost, _ = strconv.Atoi(n.Value) // of at most nine digits
		return nil
	}
	if match := percentage.FindStringSubmatch(n.Value); match != nil {
		percent, err := strconv.ParseFloat(match[1], 64)
		f.Share = percent / 100
		return err
	}
	return fmt.Errorf("line %d, column %d: failed %q: want %s", n.Line, n.Column, n.Value, wantedFailed)
}

// UnmarshalYAML reads a duration.
func (s *Span) UnmarshalYAML(n *yaml.Node) (err error) {
	s.line, s.column = n.Line, n.Column
	if s.Duration, err = time.ParseDuration(n.Value); err != nil || s.Duration <= 0 || s.Duration > longestSpan {
		return fmt.Errorf("line %d, column %d: %q: want %s", n.Line, n.Column, n.Value, wantedSpan)
	}
	return nil
}

// UnmarshalYAML reads a mapping, and keeps where each probe is named.
func (b *ByProbe) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d, column %d: promises.probes: want names of probes, each with what is promised of it", n.Line, n.Column)
	}
	type fields ByProbe // without this method
	if err := n.Decode((*fields)(b)); err != nil {
		return err
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		of := (*b)[name.Value]
		of.line, of.column = name.Line, name.Column
		(*b)[name.Value] = of
	}
	return nil
}

// Asked are the probes of the file, which was read from a path, and those of URLs that flags add, with a rate, and what is promised of their requests. The
// zero File has none of its own.
func (f File) Asked(path string, urls []string, rate float64) (probes []apptest.Probe, promises apptest.Promises, err error) {
	if probes, err = f.ProbesOf(); err != nil {
		return nil, promises, err
	}
	for _, url := range urls {
		p := apptest.OfURL(url, len(probes))
		p.Rate = rate
		probes = append(probes, p)
	}
	if promises, err = f.promisesOf(probes); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return probes, promises, err
}

// promisesOf are the promises as package apptest has them. The error names each promise to a probe that is not there, and each that cannot be kept.
func (f File) promisesOf(probes []apptest.Probe) (made apptest.Promises, err error) {
	p := f.Promises
	var errs []error
	if made.Each, err = narrowed(apptest.Promise{}, p.Voluntary, p.Involuntary); err != nil {
		errs = append(errs, err)
	}
	var names []string
	for _, probe := range probes {
		names = append(names, probe.Name)
	}
	inOrder := slices.SortedFunc(maps.Keys(p.Probes), func(a, b string) int { return cmp.Compare(p.Probes[a].line, p.Probes[b].line) })
	for _, name := range inOrder {
		of := p.Probes[name]
		if !slices.Contains(names, name) {
			errs = append(errs, noSuchProbe(name, of, names))
			continue
		}
		promise, err := narrowed(made.Each, of.Voluntary, of.Involuntary)
		switch {
		case err != nil:
			errs = append(errs, err)
		case promise != made.Each && made.Of == nil:
			made.Of = map[string]apptest.Promise{name: promise}
		case promise != made.Each:
			made.Of[name] = promise
		}
	}
	return made, errors.Join(append(errs, made.Check(probes))...)
}

func noSuchProbe(name string, of OfProbe, names []string) error {
	return fmt.Errorf("line %d, column %d: promises.probes: there is no probe %s: %s", of.line, of.column, name, scenario.Wanted(name, names))
}

// narrowed is a promise with what is said in its place.
func narrowed(p apptest.Promise, v Voluntary, i Involuntary) (apptest.Promise, error) {
	line, column := 0, 0
	if v.Failed != nil {
		p.Failed, line, column = v.Failed.Allowance, v.Failed.line, v.Failed.column
	}
	if v.SlowerBy != nil {
		p.SlowerBy, line, column = v.SlowerBy.Duration, v.SlowerBy.line, v.SlowerBy.column
	}
	if i.EndsWithin != nil {
		p.EndsWithin = i.EndsWithin.Duration
	}
	if p.SlowerBy > 0 && p.Failed != (apptest.Allowance{}) && line > 0 {
		return p, fmt.Errorf("line %d, column %d: failed and slower-by for the same probe: how long a request that failed would have taken is not known, "+
			"so promise one of the two", line, column)
	}
	return p, nil
}
