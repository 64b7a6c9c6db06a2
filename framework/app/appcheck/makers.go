package appcheck

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// makers are what may create objects when it runs. They are found once, because each reference to an absent object asks for them.
type makers struct {
	words    map[string]bool // of custom resources, and of what pods with permissions of their own are told
	prefixes map[string]bool // of the names of what controllers of custom resources create
	claims   map[string]bool // prefixes of the claims of StatefulSets
	creators map[string]bool // what some pod may create, as "secrets NAMESPACE"
}

func (c *checker) findMakers() {
	c.makers = makers{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	plain, accounts := map[string]bool{}, map[string]bool{}
	for i, m := range c.objects {
		plain[m.Object.GetName()] = plain[m.Object.GetName()] || !isCustom(m)
		c.claimed(m)
		for _, p := range c.pods[i] {
			account := cmp.Or(p.spec.ServiceAccountName, "default")
			accounts[m.Object.GetNamespace()+"/"+account] = true
			for _, one := range p.containers() {
				if account != "default" {
					c.told(one)
				}
			}
		}
	}
	for _, m := range c.objects {
		if name := m.Object.GetName(); isCustom(m) {
			c.makers.words[name] = true
			c.makers.prefixes[name] = !plain[name] // the name of everything, as that of a chart's release is, says nothing
			c.said(m.Object.Object["spec"])
		}
	}
	c.bound(accounts)
}

// told notes the words that a container's program is told.
func (c *checker) told(one container) {
	for _, text := range one.texts() {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool {
			return r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			c.makers.words[word] = true
		}
	}
}

// said notes the texts below a value.
func (c *checker) said(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, one := range value {
			c.said(one)
		}
	case []any:
		for _, one := range value {
			c.said(one)
		}
	case string:
		c.makers.words[value] = true
	}
}

// claimed notes how the claims of a StatefulSet are named, such as data-db-0.
func (c *checker) claimed(m app.Manifest) {
	var s appsv1.StatefulSet
	if m.Object.GetKind() != "StatefulSet" || runtime.DefaultUnstructuredConverter.FromUnstructured(m.Object.Object, &s) != nil {
		return
	}
	for _, template := range s.Spec.VolumeClaimTemplates {
		c.makers.claims[template.Name+"-"+s.Name] = true
	}
}

// bound notes what the accounts of pods may create, by Roles of the application and by those that each cluster has.
func (c *checker) bound(accounts map[string]bool) {
	roles := map[string][]string{"ClusterRole//cluster-admin": creatable, "ClusterRole//admin": creatable, "ClusterRole//edit": creatable}
	for _, m := range c.objects {
		var r rbacv1.ClusterRole // a Role has the same rules
		if isOf(m, "Role", "ClusterRole") && runtime.DefaultUnstructuredConverter.FromUnstructured(m.Object.Object, &r) == nil {
			at := m.Object.GetKind() + "/" + m.Object.GetNamespace() + "/" + r.Name
			roles[at] = append(roles[at], creates(r.Rules)...)
		}
	}
	for _, m := range c.objects {
		var b rbacv1.ClusterRoleBinding // a RoleBinding has the same fields
		if !isOf(m, "RoleBinding", "ClusterRoleBinding") || runtime.DefaultUnstructuredConverter.FromUnstructured(m.Object.Object, &b) != nil {
			continue
		}
		in := m.Object.GetNamespace()
		at := b.RoleRef.Kind + "/" + in + "/" + b.RoleRef.Name
		if b.RoleRef.Kind == "ClusterRole" {
			at = "ClusterRole//" + b.RoleRef.Name
		}
		if !slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool {
			of := s.Namespace
			if of == "" || of == corev1.NamespaceDefault {
				of = c.app.Namespace
			}
			return s.Kind == rbacv1.ServiceAccountKind && accounts[of+"/"+s.Name]
		}) {
			continue
		}
		for _, resource := range roles[at] {
			c.makers.creators[resource+" "+in] = true
		}
	}
}

func isOf(m app.Manifest, kinds ...string) bool {
	kind := m.Object.GroupVersionKind()
	return kind.Group == rbacv1.GroupName && slices.Contains(kinds, kind.Kind)
}

// creatable are the resources that programs make for themselves.
var creatable = []string{"secrets", "configmaps"}

// creates are those of creatable that rules allow to create.
func creates(rules []rbacv1.PolicyRule) (all []string) {
	has := func(list []string, wanted string) bool {
		return slices.Contains(list, wanted) || slices.Contains(list, "*")
	}
	for _, rule := range rules {
		for _, resource := range creatable {
			if has(rule.Verbs, "create") && has(rule.APIGroups, "") && has(rule.Resources, resource) {
				all = append(all, resource)
			}
		}
	}
	return all
}

// absent reports whether nothing that is told its name creates what is referred to, now or when it runs: a custom resource, whose controller does, or
// pods with permissions of their own. If they do not create it, the kubelet says so later.
func (c *checker) absent(r reference) bool {
	return !c.makers.words[r.name] && !begun(c.makers.prefixes, r.name) && (r.kind != "PersistentVolumeClaim" || !begun(c.makers.claims, r.name))
}

// mayBeMade reports whether pods may create what is referred to without being told its name.
func (c *checker) mayBeMade(r reference) bool {
	what := strings.ToLower(r.kind) + "s "
	return c.makers.creators[what] || c.makers.creators[what+r.by.Object.GetNamespace()]
}

// begun reports whether a name is one of the prefixes, a dash, and more.
func begun(prefixes map[string]bool, name string) bool {
	for i, r := range name {
		if r == '-' && i+1 < len(name) && prefixes[name[:i]] {
			return true
		}
	}
	return false
}

// isCustom reports whether an object is of a kind that a CustomResourceDefinition makes.
func isCustom(m app.Manifest) bool {
	group := m.Object.GroupVersionKind().Group
	return !scheme.Scheme.IsGroupRegistered(group) && !slices.Contains(ofServer, group)
}
