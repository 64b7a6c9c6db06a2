package apptest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// readIn is an application of a text, whose objects are in a namespace unless they name one.
func readIn(t *testing.T, namespace, text string) app.App {
	t.Helper()
	manifests, err := app.Decode(strings.NewReader(text), "web.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(manifests, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What cannot work stops a test before a cluster is made; with what is only worth knowing, it runs, and each scenario notes it.
func TestFindings(t *testing.T) {
	const external = "---\napiVersion: v1\nkind: Service\nmetadata: {name: mail}\nspec: {type: ExternalName, externalName: mail.example.com}\n" +
		"---\napiVersion: v1\nkind: Pod\nmetadata: {name: smoke, annotations: {helm.sh/hook: test}}\nspec: {containers: [{name: c, image: i}]}\n" +
		"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: robot, namespace: other}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n"
	a := readIn(t, "shop", strings.ReplaceAll(careful, "metadata: {name: web}", "metadata: {name: web, namespace: shop}")+external)
	test := apptest.Test{App: a, Probes: []apptest.Probe{apptest.OfURL("http://web/", 0)}, Faults: []string{"rollout"}}
	specs, _, err := test.Scenarios()
	if err != nil || len(specs) != 1 {
		t.Fatalf("%d scenarios, %v", len(specs), err)
	}
	for _, want := range []string{"mail.example.com is outside of the cluster", "Pod smoke", "Deployment robot"} {
		if !slices.ContainsFunc(specs[0].Notes, func(note string) bool { return strings.Contains(note, want) }) {
			t.Errorf("notes %q, want %q among them", specs[0].Notes, want)
		}
	}
	classes := strings.Replace(careful, "    spec:\n      containers:", "    spec:\n      priorityClassName: high\n      containers:", 1)
	a = readIn(t, "", classes)
	test.App = a
	if _, _, err := test.Scenarios(); err == nil || !strings.Contains(err.Error(), "PriorityClass high is created by nobody") {
		t.Errorf("a class of nobody: %v", err)
	}
	if _, _, err := test.Ablate(1); err == nil || !strings.Contains(err.Error(), "PriorityClass high is created by nobody") {
		t.Errorf("an ablation with a class of nobody: %v", err)
	}
	test.Existing = true
	if _, _, err := test.Scenarios(); err != nil {
		t.Errorf("on a cluster that may have it: %v", err)
	}
}

// A Service of another namespace is known, and is said not to be tested.
func TestProbesOfOtherNamespaces(t *testing.T) {
	a := readIn(t, "", careful+"---\napiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: other}\nspec: {ports: [{port: 80}]}\n")
	test := apptest.Test{App: a, Probes: []apptest.Probe{apptest.OfURL("http://db.other/", 0)}}
	want := "Service db is in namespace other or among what comes before the application, and what is tested is in namespace " + a.Namespace
	if _, _, err := test.Scenarios(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}
