// Package healer is a dead man's switch: it runs in the cluster beside a run, and undoes the run's changes when the run cannot do so any more, or
// must not wait longer. It goes by the journals and the Lease in the cluster alone.
//
// It changes nothing but what journals say is to be undone, and its ServiceAccount may do nothing else. It does not run the commands of users: it
// does not have them. It removes no journal: `holdfast heal` does, and reports what was undone.
package healer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/fault/journal"
)

// Every is the time between two looks.
const Every = 2 * time.Second

// Options configure a healer.
type Options struct {
	// Name is that of the pod, for messages and for the Lease.
	Name    string
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	// Namespace is that of the journals.
	Namespace string
	// May are the permissions without which it could not undo what the run does.
	May []existing.Permission
	// Looked is called after each look at the cluster, with its error, or with the permissions that are missing.
	Looked func(error)
}

// healer is one replica.
type healer struct {
	Options
	watch *hold.Watch
	since map[string]time.Time // when a journal was first seen, by its run
	asked time.Time            // when it was last asked for May
	lacks error                // what was missing of it
}

// Run looks at the journals until ctx ends, and heals when it is time to. Of several replicas the one that takes the Lease heals; if it ends
// meanwhile, the Lease falls silent, and another one goes on.
func Run(ctx context.Context, o Options) error {
	h := &healer{Options: o, watch: hold.NewWatch(o.Client), since: map[string]time.Time{}}
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		err := h.look(ctx)
		if ctx.Err() != nil {
			return nil // it was told to end
		}
		if err != nil {
			slog.Warn("look at the journals", "error", err)
		}
		if o.Looked != nil {
			o.Looked(errors.Join(err, h.permitted(ctx)))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// askEvery is how often the API server is asked what the healer may do, because Roles may be taken away during a run. askLimit is how long that may take, in
// which no journal is looked at.
const (
	askEvery = 10 * time.Second
	askLimit = 5 * time.Second
)

// permitted returns an error while the healer lacks a permission. A run that disturbs a cluster begins nothing that the healer could not undo.
func (h *healer) permitted(ctx context.Context) error {
	if !h.asked.IsZero() && time.Since(h.asked) < askEvery {
		return h.lacks
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	missing, err := existing.Missing(ctx, h.Client, h.May...)
	if h.asked, h.lacks = time.Now(), err; len(missing) > 0 {
		h.lacks = fmt.Errorf("this healer has no permission to %s, so it could not undo everything: apply what 'holdfast rbac' prints for the faults of this run", missing[0])
		slog.Warn("ask for permissions", "error", h.lacks)
	}
	return h.lacks
}

// look looks once, and heals what is due.
func (h *healer) look(ctx context.Context) error {
	sight, err := h.watch.Look(ctx)
	if err != nil {
		return err
	}
	all, err := journal.Find(ctx, journal.Where{Client: h.Client, Dynamic: h.Dynamic, Namespace: h.Namespace})
	var due []*journal.Journal
	why := ""
	for _, j := range all {
		if reason := h.due(j, sight); reason != "" {
			due, why = append(due, j), reason
		}
	}
	if len(due) == 0 {
		return err
	}
	return errors.Join(err, h.heal(ctx, sight, due, why))
}

// due is why a journal must be undone now; empty: there is nothing to undo, or its run may go on.
func (h *healer) due(j *journal.Journal, sight hold.Sight) string {
	header := j.Header()
	run := header.Run + header.Began.String()
	if h.since[run].IsZero() {
		h.since[run] = time.Now()
	}
	if !hasWork(j) {
		return ""
	}
	if sight.Silent >= hold.Silence {
		return fmt.Sprintf("run %s has been silent for %s", header.Run, sight.Silent.Round(time.Second))
	}
	if sight.There && sight.Token != header.Token {
		return "" // another healer is at work, or `holdfast heal`: it must not be disturbed while it lives
	}
	if reason := j.Stop(); reason != "" {
		return fmt.Sprintf("run %s was told to stop: %s", header.Run, reason)
	}
	lasts := shortest(j)
	// Two clocks, neither of which is compared with the other: that of the run, and this one.
	if lasts > 0 && (time.Since(h.since[run]) >= lasts || sight.There && sight.Renewed.Sub(header.Began) >= lasts) {
		return fmt.Sprintf("the changes of run %s were to last for %s", header.Run, lasts)
	}
	return ""
}

// hasWork reports whether there is a change that a healer can undo.
func hasWork(j *journal.Journal) bool {
	return slices.ContainsFunc(j.Unfinished(), func(e journal.Entry) bool { return e.Action != journal.Command })
}

// shortest is how long after its beginning the first change of a journal must be undone. Zero: there is no limit.
func shortest(j *journal.Journal) time.Duration {
	header := j.Header()
	lasts := header.Duration
	for _, e := range j.Unfinished() {
		if e.Deadline.IsZero() {
			continue
		}
		if d := e.Deadline.Sub(header.Began); lasts == 0 || d < lasts {
			lasts = d
		}
	}
	return lasts
}

// heal takes the cluster from whoever holds it, and undoes journals.
func (h *healer) heal(ctx context.Context, sight hold.Sight, due []*journal.Journal, why string) error {
	name := "healer " + h.Name
	held, err := hold.Seize(ctx, h.Client, sight, name, "holdfast workload healer", hold.Options{Cluster: "here"})
	if err != nil {
		return err // another replica was faster, or the run is alive after all
	}
	slog.Info("heal", "why", why)
	var errs []error
	for _, j := range due {
		errs = append(errs, h.one(ctx, j, name))
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, held.Leave(ctx, "the healer has not undone everything yet: "+firstLine(err.Error())))
	}
	return held.LeaveHealed(ctx, "what "+runsOf(due)+" had changed")
}

func runsOf(due []*journal.Journal) string {
	var names []string
	for _, j := range due {
		names = append(names, "run "+j.Header().Run)
	}
	return strings.Join(names, " and ")
}

// one undoes a journal, and reports each change.
func (h *healer) one(ctx context.Context, j *journal.Journal, by string) error {
	if err := j.TakeOver(ctx, by); err != nil {
		return err
	}
	err := j.Undo(ctx)
	for _, e := range j.Entries() {
		slog.Info(e.String(), "run", j.Header().Run, "state", e.State, "why", e.Why)
	}
	if !hasWork(j) {
		return nil // what is left are commands
	}
	return err
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Stop asks for an immediate undo of all that runs have changed, and returns when the request is stored: it is carried out even if this process ends
// now.
func Stop(ctx context.Context, o Options, reason string) error {
	all, err := journal.Find(ctx, journal.Where{Client: o.Client, Dynamic: o.Dynamic, Namespace: o.Namespace})
	errs := []error{err}
	for _, j := range all {
		errs = append(errs, j.AskToStop(ctx, reason))
	}
	return errors.Join(errs...)
}
