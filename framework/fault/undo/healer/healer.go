// Package healer is a dead man's switch: it runs in the cluster beside a run, and undoes the run's changes when the run cannot do so any more, or
// must not wait longer. It goes by the notes on changed objects and the Lease alone.
//
// It sends nothing but the undo of notes, and its ServiceAccount may do nothing else. It does not run the commands of users: it does not have them.
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
	"github.com/holdfast-ha/holdfast/framework/fault/undo"
)

// Every is the time between two looks.
const Every = 2 * time.Second

// Options configure a healer.
type Options struct {
	// Name is that of the pod, for messages and for the Lease.
	Name    string
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	// May are the permissions without which it could not undo what the run does. It looks for notes where it may list.
	May []existing.Permission
	// Looked is called after each look at the cluster, with its error, or with the permissions that are missing.
	Looked func(error)
}

// healer is one replica.
type healer struct {
	Options
	watch *hold.Watch
	since map[string]time.Time // when a note was first seen
	asked time.Time            // when it was last asked for May
	lacks error                // what was missing of it
}

// Run looks for notes until ctx ends, and heals when it is time to. Of several replicas the one that takes the Lease heals; if it ends
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
			slog.Warn("look for notes", "error", err)
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
// which no note is looked for.
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
	all, err := undo.Find(ctx, h.Dynamic, h.places())
	var due []undo.Found
	why := ""
	for _, f := range all {
		if reason := h.due(f, sight); reason != "" {
			due, why = append(due, f), reason
		}
	}
	if len(due) == 0 {
		return err
	}
	return errors.Join(err, h.heal(ctx, sight, due, why))
}

// places are where the run can have left notes.
func (h *healer) places() (all []undo.Place) {
	for _, p := range h.May {
		at := undo.Place{Resource: p.Resource, Namespace: p.Namespace}
		known := slices.ContainsFunc(undo.Everywhere, func(e undo.Place) bool { return e.Resource == at.Resource })
		if p.Verb == "list" && known && !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return all
}

// due is why a change must be undone now; empty: there is nothing that a healer can undo, or its run may go on.
func (h *healer) due(f undo.Found, sight hold.Sight) string {
	note := fmt.Sprint(f.Object, f.Run, f.Token, f.Made)
	if h.since[note].IsZero() {
		h.since[note] = time.Now()
	}
	switch {
	case f.Field == undo.Command: // a command of the user's brings the node back
		return ""
	case sight.Silent >= hold.Silence:
		return fmt.Sprintf("run %s has been silent for %s", f.Run, sight.Silent.Round(time.Second))
	case sight.There && sight.Token != f.Token:
		return "" // another healer is at work, or `holdfast heal`: it must not be disturbed while it lives
	case sight.Stop != "":
		return fmt.Sprintf("run %s was told to stop: %s", f.Run, sight.Stop)
	// Two clocks, neither of which is compared with the other: that of the run, and this one.
	case f.Lasts > 0 && (time.Since(h.since[note]) >= f.Lasts || sight.There && sight.Renewed.Sub(f.Made) >= f.Lasts):
		return fmt.Sprintf("the change of %s by run %s was to last for %s", f.Object, f.Run, f.Lasts)
	}
	return ""
}

// heal takes the cluster from its holder, and undoes changes.
func (h *healer) heal(ctx context.Context, sight hold.Sight, due []undo.Found, why string) error {
	held, err := hold.Seize(ctx, h.Client, sight, "healer "+h.Name, "holdfast workload healer", hold.Options{Cluster: "here", Namespaces: sight.Namespaces})
	if err != nil {
		return err // another replica was faster, or the run is alive after all
	}
	slog.Info("heal", "why", why)
	var errs []error
	var runs []string
	for _, f := range due {
		out, err := f.Undo(ctx, h.Dynamic)
		if errs = append(errs, err); err == nil {
			slog.Info(out.String(), "run", f.Run)
		}
		if name := "run " + f.Run; !slices.Contains(runs, name) {
			runs = append(runs, name)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, held.Leave(ctx, "the healer has not undone everything yet: "+firstLine(err.Error())))
	}
	return held.LeaveHealed(ctx, "what "+strings.Join(runs, " and ")+" had changed")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
