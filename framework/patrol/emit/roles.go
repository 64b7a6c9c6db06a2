package emit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/audit"
)

// Kinds of RBAC.
const (
	kindRole        = "Role"
	kindClusterRole = "ClusterRole"
)

func rbac(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

func (o Options) account() any {
	return &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: o.meta()}
}

func (o Options) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: o.Namespace}}
}

// roles grants what the patrol uses: in the namespaces of its scope only, if it names some.
func (o Options) roles() (all []any) {
	here, everywhere := o.rules()
	if len(o.Scope.Namespaces) == 0 {
		return o.clusterRole(slices.Concat(everywhere, here))
	}
	for _, namespace := range o.Scope.Namespaces {
		meta := o.wide()
		meta.Namespace = namespace
		all = append(all, &rbacv1.Role{TypeMeta: rbac(kindRole), ObjectMeta: meta, Rules: here}, &rbacv1.RoleBinding{
			TypeMeta: rbac("RoleBinding"), ObjectMeta: meta, Subjects: o.subjects(),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kindRole, Name: meta.Name},
		})
	}
	return append(all, o.clusterRole(everywhere)...)
}

func (o Options) clusterRole(rules []rbacv1.PolicyRule) []any {
	meta := o.wide()
	return []any{
		&rbacv1.ClusterRole{TypeMeta: rbac(kindClusterRole), ObjectMeta: meta, Rules: rules},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: rbac("ClusterRoleBinding"), ObjectMeta: meta, Subjects: o.subjects(),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kindClusterRole, Name: meta.Name},
		},
	}
}

// rules are what the reading uses, and a rule of its own for Events: those that a Role of a namespace can grant, and the others.
func (o Options) rules() (here, everywhere []rbacv1.PolicyRule) {
	for _, a := range o.Scope.Access() {
		rules := &here
		if a.Everywhere {
			rules = &everywhere
		}
		*rules = grant(*rules, a)
	}
	if o.Events {
		here = append(here, rbacv1.PolicyRule{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}})
	}
	return here, everywhere
}

// grant adds a permission to the rule of its group and verb.
func grant(rules []rbacv1.PolicyRule, a audit.Access) []rbacv1.PolicyRule {
	for i := range rules {
		if rules[i].APIGroups[0] == a.Group && rules[i].Verbs[0] == a.Verb {
			rules[i].Resources = append(rules[i].Resources, string(a.Resource))
			return rules
		}
	}
	return append(rules, rbacv1.PolicyRule{APIGroups: []string{a.Group}, Resources: []string{string(a.Resource)}, Verbs: []string{a.Verb}})
}
