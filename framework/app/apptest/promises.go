package apptest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Promises are what is promised of the probes' requests. The zero value has the defaults: no request fails during a voluntary disruption, and
// answers take not much longer than before it; after an involuntary one only the victims' share fails, until Kubernetes must have noticed.
type Promises struct {
	Each Promise            // of every probe that Of does not name
	Of   map[string]Promise // by the names of probes: all that is promised of them; nothing of Each is added
}

// Promise is what is promised of the requests of one probe, in each scenario. Zero fields are the defaults.
type Promise struct {
	// Failed is how many requests may fail during a voluntary disruption.
	Failed Allowance
	// SlowerBy is how much longer than before the disruption an answer may take during a voluntary one; 0: what holdfast's own scenarios allow, or
	// where requests may fail, any time, because it is not known how long those would have taken.
	SlowerBy time.Duration
	// EndsWithin is how long after the victims of an involuntary disruption have last answered requests may fail; 0: the predicted time.
	EndsWithin time.Duration
}

// Allowance is a number of requests, or a share of them in place of the number.
type Allowance struct {
	AtMost int
	Share  float64 // 0.001 is one of a thousand
}

// file is what a looser promise is blamed on.
const file = "holdfast.yaml"

// Class is who or what causes a disruption, which decides what is promised.
//
// Source: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/
type Class int

// The classes.
const (
	// unharmed is a disruption that no pod of the application meets, such as the loss of the API server. No request fails, whatever a file
	// allows for others. Of a recording nothing is known of the class.
	unharmed Class = iota
	// Voluntary disruptions are made by whoever runs the application or its cluster.
	Voluntary
	// Involuntary ones happen to them.
	Involuntary
)

// of is what a promise says of a class of disruptions.
func (c Class) of(p Promise) Promise {
	switch c {
	case Voluntary:
		return Promise{Failed: p.Failed, SlowerBy: p.SlowerBy}
	case Involuntary:
		return Promise{EndsWithin: p.EndsWithin}
	}
	return Promise{}
}

// group are the probes of which the same is promised, and their lanes. After an involuntary disruption, the share
// of the requests that may fail is that of one Service, so those of another are another group.
type group struct {
	Promise
	door   string
	probes []string
	lanes  []history.Lane
	// timed are the lanes of which it is promised how long answers take, and sparse the probes whose requests are too few for that.
	timed  []history.Lane
	sparse []string
	like   bool // answers must be like those before
}

// of is what is promised of a probe's requests.
func (p Promises) of(probe Probe) Promise {
	if promise, has := p.Of[probe.Name]; has {
		return promise
	}
	return p.Each
}

// Check returns an error for promises that do not go together.
func (p Promises) Check(probes []Probe) error {
	var errs []error
	for _, probe := range probes {
		if probe.Like && p.of(probe).Failed != (Allowance{}) {
			errs = append(errs, fmt.Errorf("probe %s: expect like before, and failed above 0: a request that failed has no answer to compare, so promise one of the two", probe.Name))
		}
	}
	return errors.Join(errs...)
}

// Recorded are the promises to probes of a cluster that holdfast did not make, during disruptions of a class, and notes for who reads them. How long
// answers take, and what they are like, is promised only if a file asks for it.
func (p Promises) Recorded(c Class, probes []Probe) (list []invariant.Invariant, notes []string) {
	groups := Test{Probes: probes, Promises: p}.groups(c)
	for _, g := range groups {
		if g.SlowerBy == 0 && !g.like {
			g.timed = nil
		}
		list = append(list, g.invariants(c, 0, len(groups) == 1)...)
		if note := g.note(); note != "" {
			notes = append(notes, note)
		}
	}
	return list, notes
}

// groups are the probes by what is promised of them. A number of failures is counted for each probe by itself.
func (t Test) groups(c Class) (list []group) {
	for _, p := range t.Probes {
		promise := c.of(t.Promises.of(p))
		door := ""
		if c == Involuntary {
			door = p.door(t.App)
		}
		at := slices.IndexFunc(list, func(g group) bool {
			return g.Promise == promise && g.door == door && g.like == p.Like && promise.Failed == (Allowance{})
		})
		if at < 0 {
			list, at = append(list, group{Promise: promise, door: door, like: p.Like}), len(list)
		}
		g, lanes := &list[at], p.LaneNames(len(t.Probes))
		g.probes, g.lanes = append(g.probes, p.Name), append(g.lanes, lanes...)
		switch {
		case c == Involuntary, promise.Failed != (Allowance{}):
		case promise.SlowerBy == 0 && !p.Like && measured(p, t.rate()) > comparedWithin:
			g.sparse = append(g.sparse, p.Name)
		default:
			g.timed = append(g.timed, lanes...)
		}
	}
	return list
}

// invariants are the promises to a group, which is alone if it has all probes: then no lanes are named. The limit is that of an involuntary disruption whose end is not predicted.
func (g group) invariants(c Class, limit time.Duration, alone bool) (list []invariant.Invariant) {
	timed := g.timed
	if alone && len(g.timed) == len(g.lanes) {
		timed = nil
	}
	if alone {
		g.lanes = nil
	}
	switch {
	case c == Involuntary:
		return []invariant.Invariant{invariant.FailuresEndWithin{Lanes: g.lanes, Limit: cmp.Or(g.EndsWithin, limit)}}
	case g.Failed == (Allowance{}):
		list = append(list, invariant.NoFailedRequests{Lanes: g.lanes})
	default:
		list = append(list, invariant.FewFailedRequests{Lanes: g.lanes, AtMost: g.Failed.AtMost, Share: g.Failed.Share, By: file})
	}
	if len(g.timed) > 0 {
		list = append(list, invariant.AnswersWithin{Lanes: timed, Slowest: g.SlowerBy, P99: g.SlowerBy, Foreign: true, Like: g.like})
	}
	return list
}

// note says what a file promises in place of the default; empty: nothing that is looser, or that could be.
func (g group) note() string {
	of := "of the requests of probe " + g.probes[0]
	if len(g.probes) > 1 {
		of = "of the requests of probes " + prose.List(g.probes)
	}
	switch {
	case g.Failed.Share > 0:
		return fmt.Sprintf("%s promises less than the default: %s, %s may fail, where by default none may, and nothing is promised of how long answers take.", file, of, prose.Percent(g.Failed.Share))
	case g.Failed.AtMost > 0:
		return fmt.Sprintf("%s promises less than the default: %s, %d may fail, where by default none may, and nothing is promised of how long answers take.", file, of, g.Failed.AtMost)
	case g.EndsWithin > 0:
		return fmt.Sprintf("%s promises %s that none fails later than %s after the victims have last answered, in place of the default.",
			file, of, g.EndsWithin)
	}
	return ""
}

// holdSlack is how much longer than failures may last a fault stays: an earlier revert may be what ended them.
const holdSlack = 5 * time.Second

// promise adds the promises to a scenario of a class of disruptions, and what follows from them: its notes, and times that are long enough to
// see them broken. It returns the promises in words; empty: they are the defaults.
func (t Test) promise(s *scenario.Spec, c Class, limit time.Duration) (words string) {
	var promised []invariant.Invariant
	was, asDefault := s.Hold, true
	groups := t.groups(c)
	for _, g := range groups {
		promised = append(promised, g.invariants(c, limit, len(groups) == 1)...)
		asDefault = asDefault && g.Promise == Promise{} && (!g.like || c == Involuntary)
		if note := g.note(); note != "" {
			s.Notes = append(s.Notes, note)
		}
		if g.EndsWithin > 0 {
			s.Hold = max(s.Hold, g.EndsWithin+holdSlack)
		}
		if len(g.sparse) > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("Nothing is promised of how long answers to %s take: at so few requests a second it would take longer than %s to know "+
				"what is usual. A higher rate or slower-by promises it.", "probe "+prose.List(g.sparse), comparedWithin))
		}
		for _, p := range t.Probes {
			if len(g.timed) > 0 && slices.Contains(g.probes, p.Name) && !slices.Contains(g.sparse, p.Name) {
				s.Steady = max(s.Steady, measured(p, t.rate()))
			}
		}
	}
	s.About += s.Hold - was + max(0, s.Steady-steady)
	s.Promises = append(promised, s.Promises...)
	if asDefault {
		return ""
	}
	var all []string
	for _, p := range promised {
		if a, is := p.(invariant.AnswersWithin); !is || a.Slowest > 0 || a.Like { // of the default, a claim says nothing
			all = append(all, p.String())
		}
	}
	return strings.Join(all, "; ")
}

// comparedWithin is how much longer a scenario may take at most so that enough answers come before the disruption.
const comparedWithin = 20 * time.Second

// measured is how long it takes until there are enough answers on each of a probe's lanes to compare others with, with some to spare. Usual is the
// rate of probes that say none.
func measured(p Probe, usual float64) time.Duration {
	seconds := math.Ceil(1.2 * evidence.MinRequests / p.slowest(usual))
	enough := time.Duration(seconds) * time.Second
	if p.Expect.Within >= load.DefaultTimeouts.Response { // the answers themselves take so long
		enough += p.Expect.Within
	}
	return max(enough, steady)
}
