package manifests

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// makers are what may create objects once the application runs. They are found once, because each reference to an absent object asks for them.
type makers struct {
	words    map[string]bool // of custom resources
	prefixes map[string]bool // of the names of what controllers of custom resources and StatefulSets create
	creators map[string]bool // kinds of objects that some role lets pods create
}

func makersOf(objects []app.Manifest) makers {
	made := makers{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	plain := map[string]bool{}
	for _, m := range objects {
		plain[m.Object.GetName()] = plain[m.Object.GetName()] || !isCustom(m)
	}
	for _, m := range objects {
		name := m.Object.GetName()
		if isCustom(m) {
			made.words[name] = true
			made.prefixes[name] = !plain[name] // the name of everything, as that of a chart's release is, says nothing
			made.texts(m.Object.Object["spec"])
		}
		templates, _, _ := unstructured.NestedSlice(m.Object.Object, "spec", "volumeClaimTemplates")
		for _, one := range templates {
			template, _ := one.(map[string]any)
			claim, _, _ := unstructured.NestedString(template, "metadata", "name")
			made.prefixes[claim+"-"+name] = true
		}
		if m.Object.GroupVersionKind().Group == rbacv1.GroupName {
			made.role(m.Object)
		}
	}
	return made
}

// texts notes the texts below a value.
func (made makers) texts(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, one := range value {
			made.texts(one)
		}
	case []any:
		for _, one := range value {
			made.texts(one)
		}
	case string:
		made.words[value] = true
	}
}

// role notes what a role lets pods create, or the binding of a role that each cluster has. Whose pods it is about is not looked at.
func (made makers) role(o unstructured.Unstructured) {
	var r rbacv1.ClusterRole // a Role has the same rules, and a binding has none
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &r) != nil {
		return
	}
	has := func(list []string, wanted string) bool {
		return slices.Contains(list, wanted) || slices.Contains(list, "*")
	}
	bound, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
	for kind, resource := range map[string]string{"Secret": "secrets", "ConfigMap": "configmaps"} {
		if slices.Contains([]string{"cluster-admin", "admin", "edit"}, bound) || slices.ContainsFunc(r.Rules, func(rule rbacv1.PolicyRule) bool {
			return has(rule.Verbs, "create") && has(rule.APIGroups, "") && has(rule.Resources, resource)
		}) {
			made.creators[kind] = true
		}
	}
}

// named reports whether a custom resource or a StatefulSet is told the name of what its controller creates.
func (made makers) named(name string) bool {
	for i, r := range name {
		if r == '-' && i+1 < len(name) && made.prefixes[name[:i]] {
			return true
		}
	}
	return made.words[name]
}
