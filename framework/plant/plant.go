// Package plant breaks an upgrade on purpose, in ways in which upgrades have broken before, to show that the certificate detects
// it. `holdfast certify --plant NAME` must end without a certificate, and name the cause.
//
// The package does not judge whether the regression was detected. A plant is not a fault of a scenario: a fault is undone before
// its scenario ends, but a plant lasts for the rest of the upgrade, as if the new version had the regression.
package plant

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Moment is when a plant changes the cluster.
type Moment string

// The moments of an upgrade at which a plant changes the cluster.
const (
	// Never: the plant only changes workloads.
	Never Moment = ""
	// AfterControlPlane is when every control-plane node runs the target version and kubeadm has upgraded its add-ons, before
	// the workload on old workers is disturbed.
	AfterControlPlane Moment = "after-control-plane"
	// BeforeWorkers is before the first worker is drained for its upgrade.
	BeforeWorkers Moment = "before-workers"
)

// Plant is a regression that is introduced on purpose.
type Plant struct {
	// Name selects the plant, for example "no-prestop".
	Name string
	// Does describes what is broken, in words that complete "planted: ...".
	Does string
	// Cause is a text that the certificate's reasons must contain literally.
	Cause string
	// When is the moment at which the cluster is changed.
	When Moment

	workload func(*scenario.Spec)
	cluster  *change
}

// change is a change of a cluster. Any later process can find and undo it there, because the harness that made it may have been
// killed.
type change struct {
	// make makes the change, and returns when its effect was seen.
	make func(context.Context, kubernetes.Interface) error
	// left describes what is left of the change in the cluster; empty: nothing.
	left func(context.Context, kubernetes.Interface) (string, error)
	// undo returns when the effect was seen to be gone. Nothing to undo is no error.
	undo func(context.Context, kubernetes.Interface) error
}

// All returns the plants, sorted by name.
func All() []Plant { return []Plant{lateKubeProxy, noPreStop, webhookWithoutReplicas} }

// Find returns the plant with a name.
func Find(name string) (Plant, error) {
	var names []string
	for _, p := range All() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Plant{}, fmt.Errorf("unknown plant %q: want one of %s", name, strings.Join(names, ", "))
}

// Workload returns a scenario with the regression in its workload. A plant of the cluster changes no scenario, and no plant
// changes a mutant, which is broken already.
func (p Plant) Workload(s scenario.Spec) scenario.Spec {
	if p.workload != nil && s.Mutant == nil {
		p.workload(&s)
	}
	return s
}

// Cluster introduces the regression in a cluster, and returns when its effect was seen there. The undo is never nil, may be
// called after the context has ended, and more than once. A cluster that has the change already is an error, and is not
// changed.
func (p Plant) Cluster(ctx context.Context, client kubernetes.Interface) (undo func(context.Context) error, err error) {
	if p.cluster == nil {
		return func(context.Context) error { return nil }, nil
	}
	undo = func(ctx context.Context) error {
		if err := p.cluster.undo(ctx, client); err != nil {
			return fmt.Errorf("undo plant %s: %w", p.Name, err)
		}
		return nil
	}
	left, err := p.cluster.left(ctx, client)
	if err == nil && left != "" {
		err = fmt.Errorf("%s exists already: run `holdfast heal` to remove it", left)
	}
	if err != nil { // an existing change is not this plant's to undo
		return func(context.Context) error { return nil }, fmt.Errorf("plant %s: %w", p.Name, err)
	}
	if err := p.cluster.make(ctx, client); err != nil {
		return undo, fmt.Errorf("plant %s: %w", p.Name, err)
	}
	return undo, nil
}

// Heal undoes what any plant has left in a cluster, and returns descriptions of what it undid.
func Heal(ctx context.Context, client kubernetes.Interface) (healed []string, err error) {
	var errs []error
	for _, p := range All() {
		if p.cluster == nil {
			continue
		}
		left, err := p.cluster.left(ctx, client)
		if err == nil && left != "" {
			if err = p.cluster.undo(ctx, client); err == nil {
				healed = append(healed, left)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("heal plant %s: %w", p.Name, err))
		}
	}
	return healed, errors.Join(errs...)
}
