package apptest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// ablation is the suite of the scenarios without a practice.
const ablation = "ablate"

// Trial is what an ablation tries: the practices in an application's manifests, each taken away, and what the audit would add to them. What it
// finds is advice, and no failure.
type Trial struct {
	Removals  []Removal
	Additions []Addition

	test  Test
	times int
	twins []twin
}

// twin is a scenario with all practices, and with nothing added.
type twin struct {
	scenario.Spec
	fault    string
	workload app.Workload
	named    string // the workload, as in names of scenarios
}

// Removal is a practice that is taken away, in several scenarios.
type Removal struct {
	Practice
	Workload string
	Twin     string   // the scenario with the practice
	Without  []string // the scenarios without it
}

// Ablate returns the scenarios of a test that are needed as twins, and after them, times times, each practice's scenario without it. A
// practice that protects nothing is no failure, so its scenarios count as caught by chance. What the audit proposes is known only when a twin
// was run: see Trial.Add.
func (t Test) Ablate(times int) (specs []scenario.Spec, tried *Trial, err error) {
	t.Faults = nil
	if t, err = t.checked(); err != nil {
		return nil, nil, err
	}
	tried = &Trial{test: t, times: times}
	var broken []scenario.Spec
	for _, w := range t.App.Workloads {
		if len(t.known.probed[w.Name]) == 0 {
			continue
		}
		for _, fault := range additionsUnder {
			if skip(w, fault) != "" {
				continue
			}
			if _, err := tried.twin(w, fault); err != nil {
				return nil, nil, err
			}
		}
		for _, p := range Practices(t.App, w) {
			if skip(w, p.Fault) != "" {
				continue
			}
			with, err := tried.twin(w, p.Fault)
			if err != nil {
				return nil, nil, err
			}
			r := Removal{Practice: p, Workload: w.Name, Twin: with.Name}
			for n := range times {
				one, err := with.without(p, n)
				if err != nil {
					return nil, nil, err
				}
				r.Without, broken = append(r.Without, one.Name), append(broken, one)
			}
			tried.Removals = append(tried.Removals, r)
		}
	}
	for _, one := range tried.twins {
		specs = append(specs, one.Spec)
	}
	return append(specs, broken...), tried, nil
}

// twin is the scenario of a workload under a fault, which there is once.
func (tried *Trial) twin(w app.Workload, fault string) (twin, error) {
	at := slices.IndexFunc(tried.twins, func(other twin) bool { return other.fault == fault && other.workload.Name == w.Name })
	if at >= 0 {
		return tried.twins[at], nil
	}
	spec, err := tried.test.scenario(w, fault)
	made := twin{spec, fault, w, tried.test.known.names[w.Name]}
	tried.twins = append(tried.twins, made)
	return made, err
}

// without is the twin without a practice.
func (t twin) without(p Practice, n int) (scenario.Spec, error) {
	changed, err := p.without()
	if err != nil {
		return scenario.Spec{}, fmt.Errorf("take away %s: %w", p.Removed, err)
	}
	s := t.Spec
	s.App = &changed
	s.Name = fmt.Sprintf("%s/%s-%s-%d", ablation, p.Name, t.named, n+1)
	s.Claim = fmt.Sprintf("without %s, %s loses requests", p.Removed, t.Name)
	if i := slices.IndexFunc(changed.Workloads, func(other app.Workload) bool { return other.Name == t.workload.Name }); i >= 0 {
		made := Faults[p.Fault].make(changed.Workloads[i]) // scaling depends on the replicas
		s.Faults = made.Faults
	}
	s.Mutant = &history.Mutant{Removed: p.Removed, CaughtBy: limitsFailures(s.Promises), Twin: t.Name, ByChance: true}
	return s, s.Validate()
}

// limitsFailures is the kind of the first promise about failed requests.
func limitsFailures(promises []invariant.Invariant) string {
	for _, p := range promises {
		if slices.Contains(aboutFailures, invariant.Kind(p)) {
			return invariant.Kind(p)
		}
	}
	return ""
}

// Table says of each practice what happened without it, and of each addition what happened with it.
func (tried *Trial) Table(f runfolder.File) string {
	outcome := outcomesOf(f)
	text := ""
	if len(tried.Removals) > 0 {
		t := newTable("where", "practice", "tried under", "without it")
		for _, r := range tried.Removals {
			t.AppendRow(table.Row{r.Place, r.Removed, r.Twin, r.worth(outcome)})
		}
		text = t.Render()
	}
	if len(tried.Additions) > 0 {
		t := newTable("where", "missing practice", "tried under", "with it")
		var patches []string
		for _, a := range tried.Additions {
			t.AppendRow(table.Row{a.Place, a.Rule + ": " + a.Title, a.Twin, a.worth(outcome)})
			if _, judged := a.held(outcome); helps(outcome[a.Twin], judged) {
				patches = append(patches, "patch for "+a.Rule+": "+strings.Join(a.Commands, " && "))
			}
		}
		text = strings.Join(append([]string{text, t.Render()}, patches...), "\n")
	}
	if text == "" {
		return "the manifests have no practice that could be taken away, and the audit proposes nothing"
	}
	return strings.TrimPrefix(text, "\n")
}

func newTable(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(header)
	return t
}

// worth says in how many of its scenarios requests were lost without a practice.
func (r Removal) worth(outcome map[string]tested) string {
	with := outcome[r.Twin]
	if !with.judged() {
		return fmt.Sprintf("not known: with it, %s was %s", r.Twin, with)
	}
	var judged []tested
	lost := 0
	for _, name := range r.Without {
		s := outcome[name]
		if !s.judged() {
			continue
		}
		judged = append(judged, s)
		if clearlyMore(s, with) {
			lost++
		}
	}
	if len(judged) == 0 {
		return "not known: no run without it could be judged"
	}
	numbers := fmt.Sprintf("(%s failed; with it %d)", counts(judged), with.failed)
	switch {
	case lost == 0:
		return fmt.Sprintf("not noticed in %d of %d %s: nothing shows that it protects anything, or the probes do not exercise it", len(judged), len(judged), numbers)
	case with.failed > 0:
		return fmt.Sprintf("more requests were lost in %d of %d %s", lost, len(judged), numbers)
	}
	return fmt.Sprintf("requests were lost in %d of %d %s", lost, len(judged), numbers)
}

// clearlyMore is whether clearly more requests failed without a practice than with it. How many fail varies from run to run.
func clearlyMore(without, with tested) bool {
	const mayVary = 2
	return without.failed > judge.FewFailed+mayVary*with.failed
}

// helps is whether each judged run with an addition is better than the one without it: clearly fewer requests failed, or the promises were held
// and no request failed without it either, as where a drain was blocked.
func helps(without tested, judged []tested) bool {
	return len(judged) > 0 && !slices.ContainsFunc(judged, func(with tested) bool {
		return !clearlyMore(without, with) && (with.outcome != verdict.Held || without.failed > 0)
	})
}

// counts are the numbers of failed requests: "131, 128 and 140 requests".
func counts(judged []tested) string {
	var numbers []string
	for _, s := range judged {
		numbers = append(numbers, fmt.Sprint(s.failed))
	}
	if len(numbers) == 1 && numbers[0] == "1" {
		return "1 request"
	}
	return prose.List(numbers) + " requests"
}
