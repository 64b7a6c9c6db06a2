// Package upgrade holds the mutants of upgrades: regressions that upgrades have had before, introduced on purpose to show that the
// certificate detects them. `holdfast certify --plant NAME` must end without a certificate, and name the cause.
//
// The package does not judge whether a regression was detected. A regression is not a fault of a scenario: a fault is reverted
// before its scenario ends, but a regression lasts for the rest of the upgrade, as if the new version had it.
package upgrade

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Moment is when a regression changes the cluster.
type Moment string

// The moments of an upgrade at which a regression changes the cluster.
const (
	// Never: the regression only changes workloads.
	Never Moment = ""
	// AfterControlPlane is when every control-plane node runs the target version and kubeadm has upgraded its add-ons, before
	// the workload on old workers is disturbed.
	AfterControlPlane Moment = "after-control-plane"
	// BeforeWorkers is before the first worker is drained for its upgrade.
	BeforeWorkers Moment = "before-workers"
)

// Regression is a regression that is introduced on purpose.
type Regression struct {
	// Name selects the regression, for example "no-prestop".
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

// change is a change of a cluster. Any later process can find and revert it there, because the harness that made it may have been
// killed.
type change struct {
	// make makes the change, and returns when its effect was seen.
	make func(context.Context, kubernetes.Interface) error
	// left describes what is left of the change in the cluster; empty: nothing.
	left func(context.Context, kubernetes.Interface) (string, error)
	// revert returns when the effect was seen to be gone. It is no error if there is nothing to revert.
	revert func(context.Context, kubernetes.Interface) error
}

// Regressions returns the regressions, sorted by name.
func Regressions() []Regression {
	return []Regression{lateKubeProxy, noPreStop, webhookWithoutReplicas}
}

// Find returns the regression with a name.
func Find(name string) (Regression, error) {
	for _, r := range Regressions() {
		if r.Name == name {
			return r, nil
		}
	}
	return Regression{}, fmt.Errorf("unknown plant %q: want one of %s", name, strings.Join(Names(), ", "))
}

// Names returns the names of the regressions.
func Names() (names []string) {
	for _, r := range Regressions() {
		names = append(names, r.Name)
	}
	return names
}

// Upgrade is the scenario that upgrades a cluster to a version, with the regression in it.
func (r Regression) Upgrade(to string) (scenario.Spec, error) {
	at := func(m Moment) fault.Arrange {
		if r.When != m {
			return nil
		}
		return func(ctx context.Context, t fault.Target) (fault.Undo, error) { return r.Apply(ctx, t.Client) }
	}
	return scenario.Upgrade(to, at(AfterControlPlane), at(BeforeWorkers))
}

// Workload returns a scenario with the regression in its workload. A regression of the cluster changes no scenario, and no
// regression changes a mutant, which is broken already.
func (r Regression) Workload(s scenario.Spec) scenario.Spec {
	if r.workload != nil && s.Mutant == nil {
		r.workload(&s)
	}
	return s
}

// Apply introduces the regression in a cluster, and returns when its effect was seen there. The revert is never nil, may be
// called after the context has ended, and more than once. A cluster that has the change already is an error, and is not
// changed.
func (r Regression) Apply(ctx context.Context, client kubernetes.Interface) (revert func(context.Context) error, err error) {
	if r.cluster == nil {
		return func(context.Context) error { return nil }, nil
	}
	revert = func(ctx context.Context) error {
		if err := r.cluster.revert(ctx, client); err != nil {
			return fmt.Errorf("revert regression %s: %w", r.Name, err)
		}
		return nil
	}
	left, err := r.cluster.left(ctx, client)
	if err == nil && left != "" {
		err = fmt.Errorf("%s exists already: run `holdfast heal` to remove it", left)
	}
	if err != nil { // an existing change is not this regression's to revert
		return func(context.Context) error { return nil }, fmt.Errorf("regression %s: %w", r.Name, err)
	}
	if err := r.cluster.make(ctx, client); err != nil {
		return revert, fmt.Errorf("regression %s: %w", r.Name, err)
	}
	return revert, nil
}

// Revert reverts what any regression has left in a cluster, and returns descriptions of what it reverted.
func Revert(ctx context.Context, client kubernetes.Interface) (reverted []string, err error) {
	var errs []error
	for _, r := range Regressions() {
		if r.cluster == nil {
			continue
		}
		left, err := r.cluster.left(ctx, client)
		if err == nil && left != "" {
			if err = r.cluster.revert(ctx, client); err == nil {
				reverted = append(reverted, left)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("revert regression %s: %w", r.Name, err))
		}
	}
	return reverted, errors.Join(errs...)
}
