package clustertest

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// apiResources are the resources that the server knows, by their path below a group's version.
var apiResources = map[string]struct{ groupVersion, kind string }{
	"namespaces": {"v1", "Namespace"}, "nodes": {"v1", "Node"}, "pods": {"v1", "Pod"}, "services": {"v1", "Service"},
	"serviceaccounts": {"v1", "ServiceAccount"}, "events": {"v1", "Event"}, "deployments": {"apps/v1", "Deployment"},
	"daemonsets":           {"apps/v1", "DaemonSet"},
	"replicasets":          {"apps/v1", "ReplicaSet"},
	"jobs":                 {"batch/v1", "Job"},
	"networkpolicies":      {"networking.k8s.io/v1", "NetworkPolicy"},
	"statefulsets":         {"apps/v1", "StatefulSet"},
	"endpointslices":       {"discovery.k8s.io/v1", "EndpointSlice"},
	"poddisruptionbudgets": {"policy/v1", "PodDisruptionBudget"},
	"leases":               {"coordination.k8s.io/v1", "Lease"},
	"configmaps":           {"v1", "ConfigMap"},
	"clusterroles":         {"rbac.authorization.k8s.io/v1", "ClusterRole"},
	"clusterrolebindings":  {"rbac.authorization.k8s.io/v1", "ClusterRoleBinding"},
	"roles":                {"rbac.authorization.k8s.io/v1", "Role"},
	"rolebindings":         {"rbac.authorization.k8s.io/v1", "RoleBinding"},
	"storageclasses":       {"storage.k8s.io/v1", "StorageClass"},
	"persistentvolumes":    {"v1", "PersistentVolume"},
	"secrets":              {"v1", "Secret"},

	"persistentvolumeclaims": {"v1", "PersistentVolumeClaim"},
	"ingresses":              {"networking.k8s.io/v1", "Ingress"},
}

// wide are the resources without a namespace.
var wide = []string{"nodes", "namespaces", "clusterroles", "clusterrolebindings", "storageclasses", "persistentvolumes"}

// discovered answers a request of the discovery API. It returns nil for every other path.
func discovered(path string) any {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == "/api":
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case path == "/apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for _, known := range apiResources {
			group, version, grouped := strings.Cut(known.groupVersion, "/")
			if grouped && !slices.ContainsFunc(list.Groups, func(g metav1.APIGroup) bool { return g.Name == group }) {
				v := metav1.GroupVersionForDiscovery{GroupVersion: known.groupVersion, Version: version}
				list.Groups = append(list.Groups, metav1.APIGroup{
					Name: group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v,
				})
			}
		}
		return list
	case path == "/api/v1", len(parts) == 3 && parts[0] == "apis":
		groupVersion := strings.Join(parts[1:], "/")
		list := metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: groupVersion,
		}
		for name, known := range apiResources {
			if known.groupVersion == groupVersion {
				namespaced := !slices.Contains(wide, name)
				list.APIResources = append(list.APIResources, metav1.APIResource{
					Name: name, Kind: known.kind, Namespaced: namespaced, Verbs: metav1.Verbs{"list", "delete"},
				})
			}
		}
		return list
	}
	return nil
}
