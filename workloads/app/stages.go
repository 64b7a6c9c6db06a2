package app

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Stage is a part of the application that is created, and ready, before the next.
type Stage struct {
	// PreInstall are the hooks of Helm that run before the objects are created, PostInstall those that run after; both in their order.
	PreInstall  []Hook
	Objects     []Manifest // in the order of their creation
	PostInstall []Hook
}

// All are the objects of the stage, hooks included, each once.
func (s Stage) All() (all []Manifest) {
	all = slices.Clone(s.Objects)
	for _, h := range slices.Concat(s.PreInstall, s.PostInstall) {
		if !slices.ContainsFunc(all, h.same) {
			all = append(all, h.Manifest)
		}
	}
	return all
}

// Stages are the parts of the application: what is needed before, and the application itself.
func (a App) Stages() []Stage {
	return []Stage{a.Before, {PreInstall: a.PreInstall, Objects: a.Manifests, PostInstall: a.PostInstall}}
}

// All are all objects, of both stages and with hooks, each once.
func (a App) All() (all []Manifest) {
	for _, s := range a.Stages() {
		all = append(all, s.All()...)
	}
	return all
}

// same reports whether a manifest is of the same object.
func (m Manifest) same(other Manifest) bool {
	return m.Object.GroupVersionKind().GroupKind() == other.Object.GroupVersionKind().GroupKind() &&
		m.Object.GetName() == other.Object.GetName() && m.Object.GetNamespace() == other.Object.GetNamespace()
}

// Hook is an object that Helm creates at a moment of its own: a Job or a Pod that does something, or what that needs.
type Hook struct {
	Manifest
	Weight int
	// DeleteSucceeded and Keep are what its deletion policy says: it is removed when it has succeeded; an object of the same name is not
	// replaced.
	DeleteSucceeded, Keep bool
}

// The annotations of hooks.
//
// Source: https://helm.sh/docs/topics/charts_hooks/
const (
	hookEvents = "helm.sh/hook"
	hookWeight = "helm.sh/hook-weight"
	hookDelete = "helm.sh/hook-delete-policy"
)

// hookOf is the hook of a manifest and its events; no events: it is no hook.
func hookOf(m Manifest) (h Hook, events []string) {
	notes := m.Object.GetAnnotations()
	events = separated(notes[hookEvents])
	h.Manifest = m
	h.Weight, _ = strconv.Atoi(notes[hookWeight]) // Helm takes what is no number as 0
	policies := separated(notes[hookDelete])
	h.DeleteSucceeded = slices.Contains(policies, "hook-succeeded")
	h.Keep = len(policies) > 0 && !slices.Contains(policies, "before-hook-creation") // the policy that a hook has without any
	return h, events
}

func separated(text string) (all []string) {
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, one)
		}
	}
	return all
}

// sort puts the manifests into the stages. A hook whose moments do not come when an application is installed is named in the notes: those
// of an upgrade, a deletion or a test.
func (a *App) sort(manifests []Manifest) {
	main := Stage{}
	for _, m := range manifests {
		stage := &main
		if m.Before {
			stage = &a.Before
		}
		h, events := hookOf(m)
		if len(events) == 0 {
			stage.Objects = append(stage.Objects, m)
			continue
		}
		if slices.Contains(events, "pre-install") {
			stage.PreInstall = append(stage.PreInstall, h)
		}
		if slices.Contains(events, "post-install") {
			stage.PostInstall = append(stage.PostInstall, h)
		}
		if !slices.Contains(events, "pre-install") && !slices.Contains(events, "post-install") {
			a.Taken = append(a.Taken, m)
			a.Notes = append(a.Notes, fmt.Sprintf("%s is left out: it is a hook of Helm for %s, and the application is installed only.", m, strings.Join(events, ", ")))
		}
	}
	for _, s := range []*Stage{&a.Before, &main} {
		slices.SortStableFunc(s.Objects, func(x, y Manifest) int { return cmp.Compare(rank(x.Object), rank(y.Object)) })
		slices.SortStableFunc(s.PreInstall, compareHooks)
		slices.SortStableFunc(s.PostInstall, compareHooks)
	}
	a.PreInstall, a.Manifests, a.PostInstall = main.PreInstall, main.Objects, main.PostInstall
}

// compareHooks orders hooks as Helm does: by weight, kind and name.
func compareHooks(x, y Hook) int {
	return cmp.Or(cmp.Compare(x.Weight, y.Weight), cmp.Compare(rank(x.Object), rank(y.Object)), cmp.Compare(x.Object.GetName(), y.Object.GetName()))
}

// With is the application with further objects, which are created before all others.
func (a App) With(first []Manifest) App {
	a.Before.Objects = slices.Concat(first, a.Before.Objects)
	slices.SortStableFunc(a.Before.Objects, func(x, y Manifest) int { return cmp.Compare(rank(x.Object), rank(y.Object)) })
	return a
}
