package workloads

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Descheduler evicts pods that violate their topology spread constraints, so that the scheduler places their replacements:
// the constraints apply only when a pod is scheduled, and nothing else restores the spread. It may evict only in the
// scenario's namespace. Its evictions honour PodDisruptionBudgets.
//
// Source: https://github.com/kubernetes-sigs/descheduler#removepodsviolatingtopologyspreadconstraint
type Descheduler struct {
	// Every is the pause between two rounds, in whole seconds; default 10 s. The Descheduler's own manifest has 5 min.
	Every time.Duration `json:"every,omitempty"`
	// Soft also restores ScheduleAnyway constraints. By default, as in the Descheduler itself, only DoNotSchedule
	// constraints are restored.
	Soft      bool      `json:"soft,omitempty"`
	Resources Resources `json:"resources"`
}

// WithDefaults sets empty fields to their defaults.
func (d Descheduler) WithDefaults() Descheduler {
	defaultTo(&d.Every, 10*time.Second)
	d.Resources = d.Resources.withDefaults("20m", "64Mi", "256Mi")
	return d
}

// Validate implements Addon.
func (d Descheduler) Validate() error {
	d = d.WithDefaults()
	if d.Every < time.Second {
		return fmt.Errorf("descheduler: a round every %s: want at least 1s", d.Every)
	}
	if err := d.Resources.validate(); err != nil {
		return fmt.Errorf("descheduler: %w", err)
	}
	return nil
}

// Program implements Addon. The Descheduler compares its own version with that of Kubernetes. It expects its version in the
// format of its own builds: a date, here all zeros, and the tag.
func (Descheduler) Program() Program {
	const path, version = "sigs.k8s.io/descheduler", "v0.36.0"
	return Program{
		Name: "descheduler", Module: path, Version: version, Package: path + "/cmd/descheduler",
		LDFlags: "-X " + path + "/pkg/version.version=v00000000-" + version,
	}
}

// deschedulerPort is the HTTPS port of the health check; the Descheduler creates its own certificate.
const deschedulerPort = 10258

// Objects implements Addon. The permissions are those of the Descheduler's own manifest, but evictions are limited to the
// scenario's namespace, and permissions for unused strategies are left out.
//
// Source: https://github.com/kubernetes-sigs/descheduler/blob/master/kubernetes/base/rbac.yaml
func (d Descheduler) Objects(at Place) ([]Object, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	d = d.WithDefaults()
	const policyDir, policyFile = "/policy", "policy.yaml"
	a := addon{
		name: d.Program().Name, port: deschedulerPort, readyPath: "/healthz", resources: d.Resources,
		args: []string{
			"--policy-config-file=" + policyDir + "/" + policyFile,
			fmt.Sprintf("--descheduling-interval=%ds", seconds(d.Every)), "--v=2",
		},
	}
	watch := []string{"get", "list", "watch"}
	objects := []Object{a.account(at)}
	objects = append(objects, a.everywhere(at,
		may("", []string{"nodes", "namespaces", "pods", "persistentvolumeclaims"}, watch...),
		may("scheduling.k8s.io", []string{"priorityclasses"}, watch...),
		may("policy", []string{"poddisruptionbudgets"}, watch...),
	)...)
	objects = append(objects, a.here(at,
		may("", []string{"pods/eviction"}, "create"),
		may("events.k8s.io", []string{"events"}, "create", "update", "patch"),
	)...)
	policy := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: a.meta(at),
		Data: map[string]string{policyFile: d.policy(at.Namespace)},
	}
	deployment := a.deployment(at)
	mount(deployment, policyDir, corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: a.name}},
	})
	return append(objects, policy, deployment), nil
}

// policy is a profile with a single strategy, for one namespace.
//
// Source: https://github.com/kubernetes-sigs/descheduler#policy-default-evictor-and-strategy-plugins
func (d Descheduler) policy(namespace string) string {
	constraints := []string{string(corev1.DoNotSchedule)}
	if d.Soft {
		constraints = append(constraints, string(corev1.ScheduleAnyway))
	}
	return `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: holdfast
  pluginConfig:
  - name: RemovePodsViolatingTopologySpreadConstraint
    args:
      constraints: [` + strings.Join(constraints, ", ") + `]
      namespaces:
        include: [` + namespace + `]
  plugins:
    balance:
      enabled: [RemovePodsViolatingTopologySpreadConstraint]
`
}
