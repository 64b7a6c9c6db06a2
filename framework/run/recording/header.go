package recording

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// header is the first line of the record.
func (s *Session) header(ctx context.Context) (history.Header, error) {
	o := s.options
	h := history.Header{
		RunID: o.Run.ID, Scenario: o.Run.Scenario, Claim: o.Run.Claim, Application: strings.Join(slices.Sorted(slices.Values(o.Namespaces)), ","), Seed: o.Run.Seed, Holdfast: o.Run.Holdfast, Base: time.Now(),
		Samples: history.SamplesOfNoise, Facts: s.Survey.facts(), Notes: s.notes(),
		Cluster: history.ClusterInfo{
			Name: o.Access.Name(), Kubernetes: s.Survey.Identity.Kubernetes, Provider: "existing", Profile: string(clusters.Stock),
			Timings: history.Timings(clusters.Stock.Timings()),
		},
		Recorded: &history.Recorded{Command: o.Command, Does: o.Does, For: o.For, Namespaces: o.Namespaces, Load: o.From, NotWatched: s.Survey.NotWatched},
	}
	if len(o.Probes) > 0 {
		if err := s.target(ctx, &h); err != nil {
			return h, err
		}
	}
	kept, left := judgeable(o.promises(), s.Survey.NotWatched)
	_, looser := o.ofRequests()
	h.Notes = append(append(h.Notes, left...), looser...)
	for _, p := range kept {
		stored, err := invariant.Encode(p)
		if err != nil {
			return h, fmt.Errorf("write down the promise %q: %w", p, err)
		}
		h.Promises = append(h.Promises, stored)
	}
	return h, nil
}

// notes are what a reader of the verdicts must know.
func (s *Session) notes() (notes []string) {
	notes = append(notes, "holdfast did not make this cluster. How soon its control plane notices a lost node cannot be asked: Kubernetes' own defaults are assumed.")
	if uid := s.Survey.Identity.UID; uid != "" {
		notes = append(notes, uidNote(uid))
	}
	if ahead := s.clock.ahead(); ahead != 0 {
		notes = append(notes, fmt.Sprintf("The clock of the API server is %s ahead of this machine's (less than zero: behind). Nothing in the record depends on it.", ahead.Round(time.Second)))
	}
	for _, n := range s.Survey.NotWatched {
		notes = append(notes, fmt.Sprintf("The record has no %s: %s.", n.What, n.Why))
	}
	if len(s.options.Probes) > 0 {
		notes = append(notes, "Which pod a request met is inferred from the endpoints of the Services: connections cannot be followed on this cluster.")
	}
	return notes
}

// uidNoteBegins is how uidNote begins.
const uidNoteBegins = "The cluster is the one whose namespace kube-system has the UID "

// uidNote says which cluster it is.
func uidNote(uid string) string { return uidNoteBegins + uid + "." }

// file is run.json of a recording that begins.
func (s *Session) file() runfolder.File {
	r := s.options.Run
	f := r.File(s.Survey.Identity.Kubernetes)
	f.Scenarios = append(slices.Clone(r.Before), r.Result(r.Scenario, r.Claim))
	return f
}

// File is run.json of a run that begins.
func (r Run) File(kubernetes string) runfolder.File {
	return runfolder.File{
		ID: r.ID, Started: time.Now(), Holdfast: r.Holdfast, Kubernetes: kubernetes, Seed: r.Seed, Args: r.Args, Reproduce: r.Again,
		Machine: runfolder.ThisMachine(), Chosen: r.Chosen,
	}
}

// Result is what run.json has of each scenario, whatever becomes of it.
func (r Run) Result(name, claim string) runfolder.ScenarioResult {
	return runfolder.ScenarioResult{Name: name, Dir: name, Claim: claim, Reproduce: r.Again}
}
