package existing

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tool is a program that changes workloads or nodes by itself, by the API group of its objects.
type tool struct {
	fact, name, group string
}

// known are the tools whose groups were known when this was written. A group that ends in .* stands for all groups below it.
var known = []tool{
	{FactMesh, "Istio", "networking.istio.io"},
	{FactMesh, "Linkerd", "policy.linkerd.io"},
	{FactMesh, "Consul", "consul.hashicorp.com"},
	{FactAutoscaler, "Karpenter", "karpenter.sh"},
	{FactAutoscaler, "KEDA", "keda.sh"},
	{FactAutoscaler, "vertical pod autoscaler", "autoscaling.k8s.io"},
	{FactPolicy, "Gatekeeper", "templates.gatekeeper.sh"},
	{FactPolicy, "Kyverno", "kyverno.io"},
	{FactPolicy, "Kubewarden", "policies.kubewarden.io"},
	{FactGitOps, "Flux", "*.toolkit.fluxcd.io"},
	{FactChaos, "Chaos Mesh", "chaos-mesh.org"},
	{FactChaos, "LitmusChaos", "litmuschaos.io"},
	{FactChaos, "Chaos Controller", "chaos.datadoghq.com"},
	{FactChaos, "Krkn", "krkn.krkn-chaos.dev"},
	{FactChaos, "Testkube", "tests.testkube.io"},
	{FactChaos, "ChaosBlade", "chaosblade.io"},
	{FactChaos, "Chaos Toolkit", "chaostoolkit.org"},
}

// named are the tools of a fact that the cluster serves the objects of.
func (s *survey) named(fact string) (names []string) {
	for _, t := range known {
		below, all := strings.CutPrefix(t.group, "*")
		if t.fact == fact && slices.ContainsFunc(s.groups, func(g string) bool { return g == t.group || all && strings.HasSuffix(g, below) }) {
			names = append(names, t.name)
		}
	}
	return names
}

// tools is a fact that API groups alone tell.
func (s *survey) tools(fact string) Fact { return ofNames(fact, s.named(fact), nil) }

// ofNames is a fact of names. Where nothing is found and something could not be read, nothing is known.
func ofNames(fact string, names, unread []string) Fact {
	f := Fact{Name: fact, Is: strings.Join(names, ", "), Why: strings.Join(unread, ", ")}
	if f.Is == "" && f.Why == "" {
		f.Is = "none seen"
	}
	return f
}

// autoscalerStatus is the ConfigMap in which the cluster autoscaler writes what it does.
//
// Source: https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
const autoscalerStatus = "cluster-autoscaler-status"

// autoscalers are those of nodes and of workloads.
func (s *survey) autoscalers(ctx context.Context) (Fact, error) {
	names, unreads := s.named(FactAutoscaler), []string(nil)
	_, noStatus := s.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, autoscalerStatus, metav1.GetOptions{})
	why, err := unread(noStatus, "read ConfigMap "+autoscalerStatus+" in namespace kube-system")
	switch {
	case err != nil:
		return Fact{}, err
	case why != "":
		unreads = append(unreads, why)
	case noStatus == nil:
		names = append(names, "cluster autoscaler")
	}
	workloads := 0
	for _, namespace := range s.namespaces {
		list, err := s.client.AutoscalingV2().HorizontalPodAutoscalers(namespace).List(ctx, metav1.ListOptions{})
		if why, err = unread(err, "list HorizontalPodAutoscalers"); err != nil {
			return Fact{}, err
		}
		if why != "" {
			unreads = append(unreads, why)
			break
		}
		if list != nil {
			workloads += len(list.Items)
		}
	}
	if workloads > 0 {
		names = append(names, quantity(workloads, "HorizontalPodAutoscaler"))
	}
	return ofNames(FactAutoscaler, names, unreads), nil
}

// enforceLabel is the label of Pod Security admission.
//
// Source: https://kubernetes.io/docs/concepts/security/pod-security-admission/
const enforceLabel = "pod-security.kubernetes.io/enforce"

// policies are what may refuse a pod or a change.
func (s *survey) policies(ctx context.Context) (Fact, error) {
	names, unreads := s.named(FactPolicy), []string(nil)
	list, err := s.client.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(ctx, metav1.ListOptions{})
	why, err := unread(err, "list ValidatingAdmissionPolicies")
	switch {
	case err != nil:
		return Fact{}, err
	case why != "":
		unreads = append(unreads, why)
	case list != nil && len(list.Items) > 0:
		names = append(names, quantity(len(list.Items), "ValidatingAdmissionPolicy"))
	}
	enforced, why, err := s.enforced(ctx)
	if why != "" {
		unreads = append(unreads, why)
	}
	return ofNames(FactPolicy, append(names, enforced...), unreads), err
}

// enforced are the levels of Pod Security that the namespaces enforce.
func (s *survey) enforced(ctx context.Context) (levels []string, why string, err error) {
	count := map[string]int{}
	for _, name := range s.namespaces {
		options := metav1.ListOptions{}
		if name != metav1.NamespaceAll {
			options.FieldSelector = "metadata.name=" + name
		}
		list, err := s.client.CoreV1().Namespaces().List(ctx, options)
		if why, err = unread(err, "list namespaces"); err != nil || why != "" {
			return nil, why, err
		}
		for i := range list.Items {
			if level := list.Items[i].Labels[enforceLabel]; level != "" && (name == metav1.NamespaceAll || list.Items[i].Name == name) {
				count[level]++
			}
		}
	}
	for _, level := range slices.Sorted(maps.Keys(count)) {
		levels = append(levels, "Pod Security "+level+" in "+quantity(count[level], "namespace"))
	}
	return levels, "", nil
}

// gitOps are the tools that put back what somebody else changes. The group of Argo CD has other kinds as well, of Argo Workflows and Rollouts.
func (s *survey) gitOps(context.Context) (Fact, error) {
	names := s.named(FactGitOps)
	const group = "argoproj.io/v1alpha1"
	if slices.Contains(s.groups, "argoproj.io") {
		resources, err := s.client.Discovery().ServerResourcesForGroupVersion(group)
		if err != nil {
			return Fact{}, fmt.Errorf("list the kinds of %s: %w", group, err)
		}
		if slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == "applications" }) {
			names = append(names, "Argo CD")
		}
	}
	return ofNames(FactGitOps, names, nil), nil
}
