package existing

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
)

// Fact is something that was found out about a cluster.
type Fact struct {
	Name string
	// Is is what was found. Empty: not known.
	Is string
	// Why is why nothing is known, or what a reader must know of the fact.
	Why string
}

// String is the fact for a table's second column.
func (f Fact) String() string {
	switch {
	case f.Is == "":
		return "not known: " + f.Why
	case f.Why != "":
		return f.Is + " (" + f.Why + ")"
	}
	return f.Is
}

// The names of the facts.
const (
	FactServer     = "API server"
	FactProvider   = "provider"
	FactNodes      = "nodes"
	FactZones      = "zones"
	FactNetwork    = "pod network"
	FactProxy      = "proxy mode"
	FactMesh       = "service mesh"
	FactAutoscaler = "autoscalers"
	FactPolicy     = "policies"
	FactGitOps     = "GitOps"
	FactChaos      = "chaos tools"
)

// Facts finds out what can be known about a cluster by reading, in some namespaces or in all. What the user must not read is not known, and its
// fact says so. Only an API server that does not answer is an error.
func Facts(ctx context.Context, client kubernetes.Interface, namespaces []string) ([]Fact, error) {
	s := &survey{client: client, namespaces: namespaces}
	if len(namespaces) == 0 {
		s.namespaces = []string{metav1.NamespaceAll}
	}
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	facts := []Fact{s.server(), s.provider(), s.versions(), s.zones(), s.network(), s.proxyMode(ctx), s.tools(FactMesh)}
	for _, find := range []func(context.Context) (Fact, error){s.autoscalers, s.policies, s.gitOps} {
		f, err := find(ctx)
		if err != nil {
			return nil, err
		}
		facts = append(facts, f)
	}
	return append(facts, s.tools(FactChaos)), nil
}

// survey is what was read of a cluster.
type survey struct {
	client     kubernetes.Interface
	namespaces []string

	version string
	groups  []string // API groups that are served
	nodes   []corev1.Node
	system  []appsv1.DaemonSet // of namespace kube-system
	// Why something could not be read; empty: it was.
	noNodes, noSystem string
}

func (s *survey) read(ctx context.Context) error {
	version, err := s.client.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	s.version = version.GitVersion
	groups, err := s.client.Discovery().ServerGroups()
	if err != nil {
		return fmt.Errorf("list the API groups: %w", err)
	}
	for _, g := range groups.Groups {
		s.groups = append(s.groups, g.Name)
	}
	nodes, err := s.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if s.noNodes, err = unread(err, "list nodes"); err != nil {
		return err
	}
	if nodes != nil {
		s.nodes = nodes.Items
	}
	system, err := s.client.AppsV1().DaemonSets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if s.noSystem, err = unread(err, "list DaemonSets in namespace kube-system"); err != nil {
		return err
	}
	if system != nil {
		s.system = system.Items
	}
	return nil
}

// unread is why something is not known, if the user must not read it. Other errors stay errors, except that a cluster which does not serve a kind
// has nothing of it: then the list that was asked for is empty.
func unread(err error, what string) (why string, other error) {
	switch {
	case err != nil && MayNot(err):
		return "this user must not " + what, nil
	case apierrors.IsNotFound(err):
		return "", nil
	}
	return "", err
}

func (s *survey) server() Fact { return Fact{Name: FactServer, Is: s.version} }

// provider is the scheme of the nodes' provider IDs: aws, gce, azure, kind, ...
//
// Source: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/#NodeSpec
func (s *survey) provider() Fact {
	f := Fact{Name: FactProvider, Why: s.noNodes}
	for i := range s.nodes {
		if scheme, _, found := strings.Cut(s.nodes[i].Spec.ProviderID, "://"); found {
			f.Is = scheme
			return f
		}
	}
	f.Why = cmp.Or(f.Why, "no node has a provider ID")
	return f
}

// versions counts the nodes by the versions of their kubelets.
func (s *survey) versions() Fact {
	if s.noNodes != "" {
		return Fact{Name: FactNodes, Why: s.noNodes}
	}
	count := map[string]int{}
	for i := range s.nodes {
		count[s.nodes[i].Status.NodeInfo.KubeletVersion]++
	}
	f := Fact{Name: FactNodes, Is: counted(count)}
	if len(count) > 1 || count[s.version] != len(s.nodes) {
		f.Why = "not all have the version of the API server: an upgrade may be under way"
	}
	return f
}

// controlPlaneLabels mark the nodes of the control plane, where a cluster has some.
//
// Source: https://kubernetes.io/docs/reference/labels-annotations-taints/#node-role-kubernetes-io-control-plane
var controlPlaneLabels = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}

func (s *survey) zones() Fact {
	if s.noNodes != "" {
		return Fact{Name: FactZones, Why: s.noNodes}
	}
	count, without := map[string]int{}, 0
	for i := range s.nodes {
		labels := s.nodes[i].Labels
		isOne := func(label string) bool { _, is := labels[label]; return is }
		switch zone := labels[clusters.LabelZone]; {
		case zone != "":
			count[zone]++
		case !slices.ContainsFunc(controlPlaneLabels, isOne):
			without++
		}
	}
	f := Fact{Name: FactZones, Is: counted(count)}
	switch {
	case len(count) == 0:
		f.Is = "none"
		f.Why = "no node has the label topology.kubernetes.io/zone"
	case without > 0:
		f.Why = quantity(without, "worker") + " in none"
	}
	return f
}

// quantity is "1 policy" or "2 policies".
func quantity(n int, what string) string {
	stem, y := strings.CutSuffix(what, "y")
	switch {
	case n == 1:
	case y:
		what = stem + "ies"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// counted is "3 v1.36.3, 1 v1.37.0".
func counted(count map[string]int) string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(count)) {
		all = append(all, fmt.Sprintf("%d %s", count[what], what))
	}
	return strings.Join(all, ", ")
}
