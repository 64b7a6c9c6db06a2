// Package manifests tries out what `holdfast audit` writes, on a real cluster: ApplyAuditFixes applies the fixes of the audit's
// findings, and ApplyPolicy applies the admission policy that it emits and sends good and bad manifests to the API server.
//
// Both are actions of a scenario, as faults are, but they take nothing away from the cluster. The answers are recorded; promises
// judge them.
package manifests

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// target is what the actions of this package change.
type target struct{ fault.Target }

// Examples returns at least one example of every action, as fault.Examples does of every fault.
func Examples() []fault.Fault {
	return []fault.Fault{ApplyAuditFixes{}, ApplyPolicy{}, ApplyPolicy{DeploymentsOnly: true}}
}

// manifest is a manifest that is sent to the API server: the workload's own, with other constraints.
type manifest struct {
	name        string
	bad         bool // the policy must refuse it
	critical    bool
	statefulSet bool
	constraints []corev1.TopologySpreadConstraint
	template    *appsv1.Deployment
}

// manifestsOf returns a workload's own manifest, and variants of which each lacks one thing that the policy requires.
func manifestsOf(d *appsv1.Deployment) ([]manifest, error) {
	own := d.Spec.Template.Spec.TopologySpreadConstraints
	i := slices.IndexFunc(own, func(c corev1.TopologySpreadConstraint) bool {
		return c.TopologyKey == corev1.LabelTopologyZone && c.WhenUnsatisfiable == corev1.DoNotSchedule
	})
	if i < 0 {
		return nil, fmt.Errorf("make manifests of %s: it has no hard constraint over zones", d.Name)
	}
	but := func(change func(*corev1.TopologySpreadConstraint)) []corev1.TopologySpreadConstraint {
		c := own[i].DeepCopy()
		change(c)
		return []corev1.TopologySpreadConstraint{*c}
	}
	list := []manifest{
		{name: "hard-over-zones", critical: true, constraints: own},
		{name: "not-critical-and-no-constraint"},
		{name: "no-constraint", critical: true, bad: true},
		{name: "soft-over-zones", critical: true, bad: true, constraints: but(func(c *corev1.TopologySpreadConstraint) {
			c.WhenUnsatisfiable, c.MinDomains = corev1.ScheduleAnyway, nil // minDomains is valid with DoNotSchedule only
		})},
		{name: "hard-over-nodes-only", critical: true, bad: true, constraints: but(func(c *corev1.TopologySpreadConstraint) {
			c.TopologyKey = corev1.LabelHostname
		})},
		{name: "counts-the-pods-of-others", critical: true, bad: true, constraints: but(func(c *corev1.TopologySpreadConstraint) {
			c.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "of-others"}}
		})},
	}
	for i := range list {
		list[i].template = d
	}
	return list, nil
}

func (m manifest) kind() string {
	if m.statefulSet {
		return "StatefulSet"
	}
	return "Deployment"
}

// deployment returns the manifest as a Deployment.
func (m manifest) deployment(namespace string) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: m.name, Namespace: namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: m.template.Spec.Replicas, Selector: m.template.Spec.Selector, Template: *m.template.Spec.Template.DeepCopy(),
		},
	}
	if m.critical {
		label, value, _ := strings.Cut(audit.DefaultCritical, "=")
		d.Labels = map[string]string{label: value}
	}
	d.Spec.Template.Spec.TopologySpreadConstraints = m.constraints
	return d
}

// answer is the API server's answer to a manifest.
type answer struct {
	accepted bool
	by       string // the policy that refused it
	message  string
}

// answerOf returns the answer in the error of a create. An API server that is unavailable, busy or broken has not answered.
func answerOf(err error) (answer, error) {
	if err == nil {
		return answer{accepted: true}, nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return answer{}, err
	}
	code := int(status.Status().Code)
	if code < http.StatusBadRequest || code >= http.StatusInternalServerError ||
		code == http.StatusTooManyRequests || code == http.StatusRequestTimeout {
		return answer{}, err
	}
	return answer{by: refusedBy(err.Error()), message: err.Error()}, nil
}

// refusedBy returns the name of the policy in the API server's message; empty: no policy refused the manifest.
//
// Source: Validate in apiserver pkg/admission/plugin/policy/validating/dispatcher.go
func refusedBy(message string) string {
	_, rest, found := strings.Cut(message, "ValidatingAdmissionPolicy '")
	name, _, closed := strings.Cut(rest, "'")
	if !found || !closed {
		return ""
	}
	return name
}

func (a answer) String() string {
	switch {
	case a.accepted:
		return "admitted"
	case a.by != "":
		return "refused by policy " + a.by
	}
	return "refused: " + a.message
}

// event returns the answer for the record. Against names the policy that must refuse a bad manifest.
func (a answer) event(namespace string, m manifest, policy string) history.Admission {
	e := history.Admission{Namespace: namespace, Kind: m.kind(), Name: m.name, Accepted: a.accepted, By: a.by, Message: a.message}
	if m.bad {
		e.Against = policy
	}
	return e
}
