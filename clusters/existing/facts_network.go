package existing

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// network is a pod network, by what it leaves in a cluster.
type network struct {
	name       string
	daemonSets []string // in namespace kube-system, or their prefixes
	group      string   // of its custom resources
	annotation string   // of nodes: its prefix
}

// networks are those that were known when this was written, each by the objects of its own manifests. A cluster may have two, such as Calico for
// the policies and another for the routes.
var networks = []network{
	{"Cilium", []string{"cilium"}, "cilium.io", "network.cilium.io/"},
	{"Calico", []string{"calico-node"}, "crd.projectcalico.org", "projectcalico.org/"},
	{"Canal", []string{"canal", "rke2-canal"}, "", ""},
	{"Flannel", []string{"kube-flannel"}, "", "flannel.alpha.coreos.com/"},
	{"Antrea", []string{"antrea-agent"}, "crd.antrea.io", "node.antrea.io/"},
	{"Weave Net", []string{"weave-net"}, "", ""},
	{"kindnet", []string{"kindnet"}, "", ""},
	{"Amazon VPC CNI", []string{"aws-node"}, "vpcresources.k8s.aws", ""},
	{"Azure CNI", []string{"azure-cns", "azure-cni"}, "acn.azure.com", ""},
	{"OVN-Kubernetes", []string{"ovnkube-node"}, "k8s.ovn.org", "k8s.ovn.org/"},
	{"kube-router", []string{"kube-router"}, "", "kube-router.io/"},
}

// network is the pod network, from the objects that it leaves.
func (s *survey) network() Fact {
	var found []string
	for _, n := range networks {
		if s.has(n) {
			found = append(found, n.name)
		}
	}
	f := Fact{Name: FactNetwork, Is: strings.Join(found, ", ")}
	if f.Is != "" {
		return f
	}
	f.Why = "none of those that holdfast knows"
	for _, why := range []string{s.noSystem, s.noNodes} {
		if why != "" {
			f.Why = why
		}
	}
	return f
}

func (s *survey) has(n network) bool {
	if n.group != "" && slices.Contains(s.groups, n.group) {
		return true
	}
	for i := range s.system {
		if slices.ContainsFunc(n.daemonSets, func(prefix string) bool { return strings.HasPrefix(s.system[i].Name, prefix) }) {
			return true
		}
	}
	for i := range s.nodes {
		for name := range s.nodes[i].Annotations {
			if n.annotation != "" && strings.HasPrefix(name, n.annotation) {
				return true
			}
		}
	}
	return false
}

// proxyConfigs are the ConfigMaps in which installers keep kube-proxy's configuration, and the keys in them: kubeadm's, and that of EKS.
var proxyConfigs = []struct{ name, key string }{{"kube-proxy", "config.conf"}, {"kube-proxy-config", "config"}}

// proxyMode is kube-proxy's mode, where the cluster keeps kube-proxy's configuration in a ConfigMap.
//
// Source: https://kubernetes.io/docs/reference/config-api/kube-proxy-config.v1alpha1/
func (s *survey) proxyMode(ctx context.Context) Fact {
	f := Fact{Name: FactProxy}
	for _, at := range proxyConfigs {
		found, err := s.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, at.name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			f.Why = "this user must not read ConfigMap kube-proxy in namespace kube-system"
			if !MayNot(err) {
				f.Why = err.Error()
			}
			return f
		}
		var config struct {
			Mode string `json:"mode"`
		}
		if text, has := found.Data[at.key]; has && yaml.Unmarshal([]byte(text), &config) == nil {
			if f.Is = config.Mode; f.Is == "" {
				f.Is, f.Why = "iptables", "the default, as none is set"
			}
			return f
		}
	}
	f.Why = "the cluster has no ConfigMap with kube-proxy's configuration"
	if slices.Contains(s.groups, "cilium.io") {
		f.Why += "; Cilium may do its work"
	}
	return f
}
