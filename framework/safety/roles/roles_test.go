package roles_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
	"github.com/holdfast-ha/holdfast/framework/safety/roles"
)

const home = "holdfast"

func request(t *testing.T, faults ...string) roles.Request {
	t.Helper()
	all, err := catalogue.Named(faults)
	if err != nil {
		t.Fatal(err)
	}
	return roles.Request{Faults: all, Namespace: "shop", Neighbours: []string{"mail"}, Home: home}
}

// grant is a rule, and where and to whom it is granted.
type grant struct {
	role, namespace string
	rbacv1.PolicyRule
}

func grants(t *testing.T, r roles.Request) (all []grant) {
	t.Helper()
	objects, err := r.Objects()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		switch role := o.Object.(type) {
		case *rbacv1.Role:
			for _, rule := range role.Rules {
				all = append(all, grant{role.Name, role.Namespace, rule})
			}
		case *rbacv1.ClusterRole:
			for _, rule := range role.Rules {
				all = append(all, grant{role.Name, "", rule})
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("nothing is granted")
	}
	return all
}

// has reports whether a verb on a resource is granted to a role in a namespace, by name or by a wildcard.
func has(all []grant, role, namespace, verb, group, resource string) bool {
	return slices.ContainsFunc(all, func(g grant) bool {
		in := func(list []string, one string) bool { return slices.Contains(list, one) || slices.Contains(list, "*") }
		return g.role == role && (g.namespace == namespace || g.namespace == "") && in(g.Verbs, verb) && in(g.APIGroups, group) && in(g.Resources, resource)
	})
}

// Rule 6, and the part of rule 7 that Roles can keep: nobody may touch a Secret, and outside of holdfast's own namespace nothing can be created
// but Events, evictions, and pods, of which a dry run asks.
func TestRolesGrantNoSecretsAndInstallNothing(t *testing.T) {
	for _, g := range grants(t, request(t, catalogue.Names()...)) {
		for _, wrong := range g.wrong() {
			t.Error(wrong)
		}
	}
}

// wrong is what a grant allows that no Role of holdfast may.
func (g grant) wrong() (all []string) {
	for _, resource := range g.Resources {
		switch {
		case slices.Contains(g.APIGroups, "") && (resource == "*" || resource == "secrets"), slices.Contains(g.APIGroups, "*"), slices.Contains(g.Verbs, "*"):
			all = append(all, fmt.Sprintf("%s in %q has %v on %q of %q", g.role, g.namespace, g.Verbs, g.Resources, g.APIGroups))
		case g.namespace != home && slices.Contains(g.Verbs, "create") && !slices.Contains([]string{"events", "pods", "pods/eviction"}, resource):
			all = append(all, fmt.Sprintf("%s may create %s in %q", g.role, resource, g.namespace))
		case g.namespace != home && (slices.Contains(g.Verbs, "delete") || slices.Contains(g.Verbs, "deletecollection")):
			all = append(all, fmt.Sprintf("%s may delete %s in %q", g.role, resource, g.namespace))
		}
	}
	return all
}

// Rule 7, turned off: a right to install something, or to touch Secrets, is seen as soon as a Role has it.
func TestARightToInstallSomethingIsSeen(t *testing.T) {
	for what, rule := range map[string]rbacv1.PolicyRule{
		"a CustomResourceDefinition": {APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get", "create"}},
		"a webhook":                  {APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations"}, Verbs: []string{"create"}},
		"a DaemonSet":                {APIGroups: []string{"apps"}, Resources: []string{"deployments", "daemonsets"}, Verbs: []string{"create"}},
		"a token":                    {APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"}},
		"Secrets":                    {APIGroups: []string{""}, Resources: []string{"pods", "secrets"}, Verbs: []string{"get"}},
		"everything":                 {APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		"the end of pods":            {APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"delete"}},
	} {
		if len((grant{roles.Injector, "shop", rule}).wrong()) == 0 {
			t.Errorf("%s in the application's namespace is not seen", what)
		}
	}
}

// Rule 5: the user has each right to inject and to undo, and the healer has those to undo and none to disturb.
func TestEachRightIsGranted(t *testing.T) {
	for _, fault := range catalogue.Faults {
		r := request(t, fault.Name)
		all := grants(t, r)
		granted := func(role string, right catalogue.Right) bool {
			for _, namespace := range map[catalogue.Where][]string{
				catalogue.App: {"shop"}, catalogue.Beside: {"mail"}, catalogue.Home: {home}, catalogue.System: {"kube-system"}, catalogue.Default: {"default"},
				catalogue.Everywhere: {""},
			}[right.Where] {
				if !has(all, role, namespace, right.Verb, right.Group, right.Path()) {
					return false
				}
			}
			return true
		}
		for _, right := range catalogue.Injecting(r.Faults) {
			if !granted(roles.Injector, right) {
				t.Errorf("%s: the user is not granted %s in %s", fault.Name, right, right.Where)
			}
		}
		for _, right := range fault.Undo() {
			if !granted(roles.Healer, right) {
				t.Errorf("%s: the healer is not granted %s in %s", fault.Name, right, right.Where)
			}
		}
		for _, disturbs := range [][2]string{{"create", "pods/eviction"}, {"create", "pods"}, {"delete", "pods"}} {
			if has(all, roles.Healer, "shop", disturbs[0], "", disturbs[1]) {
				t.Errorf("%s: the healer may %s %s", fault.Name, disturbs[0], disturbs[1])
			}
		}
	}
}

// What a fault does not need is not granted for it.
func TestRolesAreSmall(t *testing.T) {
	all := grants(t, request(t, "rollout"))
	for _, right := range [][3]string{{"patch", "", "nodes"}, {"create", "", "pods/eviction"}, {"patch", "apps", "deployments/scale"}} {
		if has(all, roles.Injector, "shop", right[0], right[1], right[2]) {
			t.Errorf("a rollout needs no %v", right)
		}
	}
	if !has(all, roles.Injector, "shop", "patch", "apps", "deployments") {
		t.Error("a rollout needs to patch Deployments")
	}
}

func TestRequestsThatGrantTooMuchOrNothing(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*roles.Request)
		want   string
	}{
		"no faults":                {func(r *roles.Request) { r.Faults = nil }, "no faults: name them with --faults"},
		"no namespace":             {func(r *roles.Request) { r.Namespace = "" }, "no namespace: name that of the application"},
		"holdfast's own namespace": {func(r *roles.Request) { r.Namespace = home }, "is holdfast's own"},
		"its own as a neighbour":   {func(r *roles.Request) { r.Neighbours = []string{home} }, "is holdfast's own"},
		"no addresses":             {func(r *roles.Request) { r.APIServers = []string{"10.0.0.1"} }, "want a CIDR, such as 10.0.0.0/28"},
		"Kubernetes' own":          {func(r *roles.Request) { r.Neighbours = []string{"kube-system"} }, "is Kubernetes' own"},
	} {
		r := request(t, "rollout")
		test.change(&r)
		if _, err := r.Objects(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// Each document can be applied: it has a kind and a name, and holdfast's namespace, in which pods are restricted, comes first.
func TestWrite(t *testing.T) {
	objects, err := request(t, "rollout", "drain").Objects()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := roles.Write(&out, objects); err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(out.String(), "---\n")
	if len(documents) != len(objects) {
		t.Errorf("%d documents of %d objects", len(documents), len(objects))
	}
	for _, text := range documents {
		var o struct {
			APIVersion, Kind string
			Metadata         struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(text), &o); err != nil || o.APIVersion == "" || o.Kind == "" || o.Metadata.Name == "" {
			t.Errorf("%v: %s", err, text)
		}
	}
	var first corev1.Namespace
	if err := yaml.UnmarshalStrict([]byte(documents[0]), &first); err != nil || first.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Errorf("%v: %s", err, documents[0])
	}
	if !strings.Contains(out.String(), "# create pods: only with dryRun=All") {
		t.Errorf("no note says what the creation of pods is for:\n%s", &out)
	}
}

// Nothing but API servers reaches holdfast's pods, where the administrator says from which addresses they do. Without them, a policy would cut the load
// workers off, and none is printed.
func TestNetworkPolicy(t *testing.T) {
	for _, servers := range [][]string{nil, {"10.0.0.1/32"}, {"10.0.0.0/28", "fd00::1/128"}} {
		r := request(t, "rollout")
		r.APIServers = servers
		objects, err := r.Objects()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := roles.Write(&out, objects); err != nil {
			t.Fatal(err)
		}
		var found []networkingv1.NetworkPolicy
		for text := range strings.SplitSeq(out.String(), "---\n") {
			var p networkingv1.NetworkPolicy
			if strings.Contains(text, "kind: NetworkPolicy") {
				if err := yaml.UnmarshalStrict([]byte(text), &p); err != nil {
					t.Fatal(err)
				}
				found = append(found, p)
			}
		}
		if len(found) != min(len(servers), 1) {
			t.Fatalf("%v: %d policies:\n%s", servers, len(found), &out)
		}
		for _, p := range found {
			blocks := 0
			for _, from := range p.Spec.Ingress[0].From {
				if from.IPBlock != nil && slices.Contains(servers, from.IPBlock.CIDR) {
					blocks++
				} else if from.NamespaceSelector == nil || from.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] != "kube-system" {
					t.Errorf("%+v may reach the pods", from)
				}
			}
			if p.Namespace != home || len(p.Spec.PodSelector.MatchLabels) > 0 || len(p.Spec.Ingress) != 1 || blocks != len(servers) || p.Spec.PolicyTypes[0] != networkingv1.PolicyTypeIngress {
				t.Errorf("%v: %+v", servers, p)
			}
		}
	}
}

// A user of the administrator's own gets the Roles, and no ServiceAccount is made for him.
func TestRolesOfAUser(t *testing.T) {
	r := request(t, "rollout")
	r.Injector = rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "jane"}
	objects, err := r.Objects()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		switch o := o.Object.(type) {
		case *corev1.ServiceAccount:
			if o.Name == roles.Injector {
				t.Error("a ServiceAccount was made")
			}
		case *rbacv1.RoleBinding:
			if o.Name == roles.Injector && (len(o.Subjects) != 1 || o.Subjects[0] != r.Injector) {
				t.Errorf("bound to %v", o.Subjects)
			}
		}
	}
}
