package workloads

import (
	"fmt"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// verticalModule contains both programs of the VerticalPodAutoscaler that are used here. The third program, the admission
// controller, sets the resources of new pods; resizing running pods does not need it.
const (
	verticalModule  = "k8s.io/autoscaler/vertical-pod-autoscaler"
	verticalVersion = "v1.8.1"
	// VerticalGroup is the API group of VerticalPodAutoscalers.
	VerticalGroup = "autoscaling.k8s.io"
)

// verticalHealth is the path of both programs' health check, over plain HTTP.
const verticalHealth = "/health-check"

// VerticalRecommender reads the containers' usage from a MetricsServer, and writes recommended requests into each
// VerticalPodAutoscaler. It also installs the VerticalPodAutoscaler API.
//
// Source: https://github.com/kubernetes/autoscaler/tree/master/vertical-pod-autoscaler
type VerticalRecommender struct {
	// Every is the pause between two readings; default 10 s. The program's own default is 1 min.
	Every     time.Duration `json:"every,omitempty"`
	Resources Resources     `json:"resources"`
}

// WithDefaults sets empty fields to their defaults.
func (v VerticalRecommender) WithDefaults() VerticalRecommender {
	v.Every, v.Resources = verticalDefaults(v.Every, v.Resources)
	return v
}

// VerticalUpdater resizes pods whose requests differ from the recommendation of a VerticalPodAutoscaler: in place if the
// update mode allows it, otherwise by eviction.
type VerticalUpdater struct {
	// Every is the pause between two rounds; default 10 s. The program's own default is 1 min.
	Every     time.Duration `json:"every,omitempty"`
	Resources Resources     `json:"resources"`
}

// WithDefaults sets empty fields to their defaults.
func (v VerticalUpdater) WithDefaults() VerticalUpdater {
	v.Every, v.Resources = verticalDefaults(v.Every, v.Resources)
	return v
}

func verticalDefaults(every time.Duration, r Resources) (time.Duration, Resources) {
	defaultTo(&every, 10*time.Second)
	return every, r.withDefaults("20m", "64Mi", "256Mi")
}

// Validate implements Addon.
func (v VerticalRecommender) Validate() error {
	v = v.WithDefaults()
	return validateVertical(v.Program(), v.Every, v.Resources)
}

// Validate implements Addon.
func (v VerticalUpdater) Validate() error {
	v = v.WithDefaults()
	return validateVertical(v.Program(), v.Every, v.Resources)
}

func validateVertical(p Program, every time.Duration, r Resources) error {
	if every < time.Second {
		return fmt.Errorf("%s: a round every %s: want at least 1s", p.Name, every)
	}
	if err := r.validate(); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// Program implements Addon.
func (VerticalRecommender) Program() Program { return verticalProgram("recommender") }

// Program implements Addon.
func (VerticalUpdater) Program() Program { return verticalProgram("updater") }

func verticalProgram(name string) Program {
	return Program{Name: name, Module: verticalModule, Version: verticalVersion, Package: verticalModule + "/pkg/" + name}
}

// recommenderPort and updaterPort are the programs' default ports.
const (
	recommenderPort = 8942
	updaterPort     = 8943
)

// Objects implements Addon. The permissions are those of the program's own manifest, without leases, because a single
// replica needs no leader election. Write permissions cover the scenario's namespace only.
//
// Source: https://github.com/kubernetes/autoscaler/blob/master/vertical-pod-autoscaler/deploy/vpa-rbac.yaml
func (v VerticalRecommender) Objects(at Place) ([]Object, error) {
	if err := v.Validate(); err != nil {
		return nil, err
	}
	v = v.WithDefaults()
	a := addon{
		name: v.Program().Name, port: recommenderPort, plain: true, readyPath: verticalHealth, resources: v.Resources,
		args: []string{"--recommender-interval=" + v.Every.String(), "--vpa-object-namespace=" + at.Namespace, "--v=2"},
	}
	objects := []Object{
		verticalAPI(at, a, "VerticalPodAutoscaler", "verticalpodautoscaler"),
		verticalAPI(at, a, "VerticalPodAutoscalerCheckpoint", "verticalpodautoscalercheckpoint"),
		a.account(at),
	}
	rules := append(verticalReads(),
		may("metrics.k8s.io", []string{"pods"}, "get", "list"),
		may(VerticalGroup, []string{"verticalpodautoscalercheckpoints"}, "get", "list", "watch"),
	)
	objects = append(objects, a.everywhere(at, rules...)...)
	objects = append(objects, a.here(at,
		may(VerticalGroup, []string{"verticalpodautoscalers/status"}, "get", "patch"),
		may(VerticalGroup, []string{"verticalpodautoscalercheckpoints"}, "create", "patch", "delete"),
	)...)
	return append(objects, a.deployment(at)), nil
}

// Objects implements Addon. The updater may resize and evict in the scenario's namespace only.
func (v VerticalUpdater) Objects(at Place) ([]Object, error) {
	if err := v.Validate(); err != nil {
		return nil, err
	}
	v = v.WithDefaults()
	a := addon{
		name: v.Program().Name, port: updaterPort, plain: true, readyPath: verticalHealth, resources: v.Resources,
		// By default the updater waits for the status of the admission controller, which is not deployed here.
		args: []string{
			"--updater-interval=" + v.Every.String(), "--use-admission-controller-status=false",
			"--vpa-object-namespace=" + at.Namespace, "--v=2",
		},
	}
	objects := []Object{a.account(at)}
	objects = append(objects, a.everywhere(at, verticalReads()...)...)
	objects = append(objects, a.here(at,
		may("", []string{"pods/eviction", "events"}, "create"),
		may("", []string{"events"}, "patch", "update"),
		may("", []string{"pods", "pods/resize"}, "patch"),
	)...)
	return append(objects, a.deployment(at)), nil
}

// verticalReads are the read permissions that both programs need.
func verticalReads() []rbacv1.PolicyRule {
	watch := []string{"get", "list", "watch"}
	return []rbacv1.PolicyRule{
		may("", []string{"pods", "nodes", "limitranges", "namespaces", "replicationcontrollers"}, watch...),
		may("apps", []string{"daemonsets", "deployments", "replicasets", "statefulsets"}, watch...),
		may("batch", []string{"jobs", "cronjobs"}, watch...),
		may("*", []string{"*/scale"}, "get", "watch"),
		may(VerticalGroup, []string{"verticalpodautoscalers"}, watch...),
	}
}

// verticalAPI is the CustomResourceDefinition of a kind in the group, with a schema that accepts anything: only the two
// programs read the objects. It is unstructured because its Go type is in a module that nothing else here needs.
func verticalAPI(at Place, a addon, kind, singular string) Object {
	anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": VerticalGroup, "scope": "Namespaced",
		"names": map[string]any{"kind": kind, "listKind": kind + "List", "plural": singular + "s", "singular": singular},
		"versions": []any{map[string]any{
			"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": anything},
			"subresources": map[string]any{"status": map[string]any{}},
		}},
	}}}
	o.SetAPIVersion("apiextensions.k8s.io/v1")
	o.SetKind("CustomResourceDefinition")
	o.SetName(singular + "s." + VerticalGroup)
	o.SetLabels(a.meta(at).Labels)
	// API groups below k8s.io require it. Source:
	// https://kubernetes.io/docs/reference/labels-annotations-taints/#api-approved-kubernetes-io
	o.SetAnnotations(map[string]string{"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/63797"})
	return o
}
