package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

func hook(kind, name, annotations string) string {
	return "apiVersion: batch/v1\nkind: " + kind + "\nmetadata: {name: " + name + ", annotations: {" + annotations + "}}\n---\n"
}

func hooks(list []app.Hook) (names []string) {
	for _, h := range list {
		names = append(names, h.Object.GetName())
	}
	return names
}

// Helm's hooks run at their place: by weight, then kind, then name. What does not run is named.
func TestHooks(t *testing.T) {
	manifests, err := read(t, web+"---\n"+hook("Job", "late", `helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-weight: "5"`)+
		hook("Job", "early-b", `helm.sh/hook: pre-install, helm.sh/hook-weight: "-1"`)+hook("Job", "early-a", `helm.sh/hook: pre-install, helm.sh/hook-weight: "-1"`)+
		hook("ServiceAccount", "z", `helm.sh/hook: pre-install, helm.sh/hook-weight: "-1"`)+hook("Job", "middle", `helm.sh/hook: " pre-install ", helm.sh/hook-weight: heavy`)+
		hook("Job", "both", `helm.sh/hook: "pre-install,post-install", helm.sh/hook-delete-policy: "hook-succeeded"`)+
		hook("Pod", "smoke", `helm.sh/hook: test`)+hook("Job", "upgrade", `helm.sh/hook: pre-upgrade`))
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(manifests, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"z", "early-a", "early-b", "both", "middle", "late"}, hooks(a.PreInstall)); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"both"}, hooks(a.PostInstall)); diff != "" {
		t.Errorf("after (-want +got):\n%s", diff)
	}
	if h := a.PostInstall[0]; !h.DeleteSucceeded || !h.Keep || a.PreInstall[0].Keep {
		t.Errorf("deletion policies: %+v, %+v", h.DeleteSucceeded, h.Keep)
	}
	notes := strings.Join(a.Notes, "\n")
	if len(a.Notes) != 2 || !strings.Contains(notes, "Pod smoke") || !strings.Contains(notes, "is left out: it is a hook of Helm for pre-upgrade") {
		t.Errorf("notes %q", a.Notes)
	}
	if n := len(a.All()); n != 8 { // both is one object
		t.Errorf("%d objects, want 8", n)
	}
}

// A change of one object leaves everything else as it was.
func TestWithoutKeepsTheRest(t *testing.T) {
	before, err := read(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: operators}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: operators, labels: {a: b}}\n")
	if err != nil {
		t.Fatal(err)
	}
	for i := range before {
		before[i].Before = true
	}
	manifests, err := read(t, web+"---\n"+hook("Job", "both", `helm.sh/hook: "pre-install,post-install"`)+hook("Pod", "smoke", `helm.sh/hook: test`))
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(append(before, manifests...), "shop")
	if err != nil {
		t.Fatal(err)
	}
	changed, err := a.Without(0, func(map[string]any) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a.Notes, changed.Notes); diff != "" || changed.Namespace != "shop" {
		t.Errorf("namespace %s, notes (-want +got):\n%s", changed.Namespace, diff)
	}
	if diff := cmp.Diff(a.Namespaces, changed.Namespaces); diff != "" || len(a.Namespaces) != 1 || a.Namespaces[0].Labels["a"] != "b" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
	if len(changed.All()) != len(a.All()) || len(changed.Before.Objects) != 1 || len(changed.PostInstall) != 1 {
		t.Errorf("%d objects, want %d", len(changed.All()), len(a.All()))
	}
}

const account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: x, namespace: NS}\n"

const agent = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent}\nspec:\n  selector: {matchLabels: {app: agent}}\n" +
	"  template:\n    metadata: {labels: {app: agent}}\n    spec: {containers: [{name: agent, image: agent}]}\n"

// Objects may be in several namespaces; those that are tested are in one.
func TestNamespaces(t *testing.T) {
	in := func(namespace, text string) string {
		return strings.ReplaceAll(text, "metadata: {name: web}", "metadata: {name: web, namespace: "+namespace+"}")
	}
	elsewhere := func(namespace string) string { return strings.ReplaceAll(account, "NS", namespace) }
	for name, test := range map[string]struct {
		text, before, fallback string
		own                    string
		others                 []string
		err                    string
	}{
		"one, and an account elsewhere":       {in("shop", web) + "---\n" + elsewhere("other"), "", "", "shop", []string{"other"}, ""},
		"none, and an account elsewhere":      {web + "---\n" + elsewhere("other"), "", "mine", "mine", []string{"other"}, ""},
		"a binding of the cluster":            {web + "---\n" + elsewhere("kube-system"), "", "", "app", nil, ""},
		"an operator":                         {web, in("operators", web), "", "app", []string{"operators"}, ""},
		"an operator in kube-system":          {web, in("kube-system", web), "", "app", nil, ""},
		"an operator without a namespace":     {web, web, "", "app", nil, ""},
		"two, and none is named":              {in("a", web) + "---\n" + strings.ReplaceAll(store, "shop", "b"), "", "", "", nil, "Deployment web"},
		"two, and neither is named":           {in("a", web) + "---\n" + strings.ReplaceAll(store, "shop", "b"), "", "c", "", nil, "say with --namespace which of them is tested"},
		"two, and one is named":               {in("a", web) + "---\n" + strings.ReplaceAll(store, "shop", "b"), "", "b", "b", []string{"a"}, ""},
		"a tested workload in kube-system":    {in("kube-system", web), "", "", "", nil, "belongs to the cluster itself"},
		"a DaemonSet alone":                   {in("shop", strings.ReplaceAll(agent, "name: agent", "name: web")), "", "", "shop", nil, ""},
		"a DaemonSet elsewhere":               {in("shop", web) + "---\n" + strings.ReplaceAll(agent, "{name: agent}", "{name: agent, namespace: agents}"), "", "", "shop", []string{"agents"}, ""},
		"a DaemonSet in kube-system":          {web + "---\n" + strings.ReplaceAll(agent, "{name: agent}", "{name: agent, namespace: kube-system}"), "", "", "app", nil, ""},
		"an account in kube-public":           {web + "---\n" + elsewhere("kube-public"), "", "", "", nil, "belongs to the cluster itself"},
		"an account beside load workers":      {web + "---\n" + elsewhere("hf-load-shop"), "", "shop", "", nil, "belongs to the cluster itself"},
		"an operator beside load workers":     {web, in("hf-load-shop", web), "shop", "", nil, "belongs to the cluster itself"},
		"a tested one beside load workers":    {in("hf-load-shop", web), "", "", "", nil, "belongs to the cluster itself"},
		"the namespace of the cluster chosen": {web, "", "kube-system", "", nil, "belongs to the cluster itself"},
		"default is no namespace":             {web, in("default", web), "", "app", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			manifests, err := read(t, test.text)
			if err != nil {
				t.Fatal(err)
			}
			if test.before != "" {
				more, err := read(t, test.before)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range more {
					m.Before = true
					manifests = append(manifests, m)
				}
			}
			a, err := app.New(manifests, test.fallback)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want one with %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var others []string
			for _, n := range a.Namespaces {
				others = append(others, n.Name)
			}
			if diff := cmp.Diff(test.others, others); diff != "" || a.Namespace != test.own || a.Own.Name != test.own {
				t.Errorf("namespace %q, want %q; others (-want +got):\n%s", a.Namespace, test.own, diff)
			}
			for _, w := range a.Workloads {
				if !slices.ContainsFunc(a.Manifests, func(m app.Manifest) bool { return m.Object.GetName() == w.Name && m.Object.GetNamespace() == test.own }) {
					t.Errorf("%s %s is not in %s", w.Kind, w.Name, test.own)
				}
			}
		})
	}
}
