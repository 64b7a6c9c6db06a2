package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// made is the application of files in a folder.
func made(t *testing.T, files map[string]string, without ...string) (app.App, error) {
	t.Helper()
	put(t, files)
	all, err := app.Read(app.Sources{Files: []string{"."}})
	if err != nil {
		t.Fatal(err)
	}
	return app.New(all, "", without...)
}

// The same object in two files is one error, which names both: a copy, another version, or a patch.
func TestTheSameObjectTwice(t *testing.T) {
	const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: %s}\n"
	one, other := fmt.Sprintf(config, "b"), fmt.Sprintf(config, "c")
	for name, test := range map[string]struct {
		files map[string]string
		lines string
	}{
		"copies":                {map[string]string{"a.yaml": web, "b.yaml": web}, "2 objects are there twice, and which is meant is not known: name one of the files, or, if one is a patch, its kustomization with -k:|Deployment web is in a.yaml:3 and in b.yaml:3|Service web is in a.yaml:15 and in b.yaml:15"},
		"versions":              {map[string]string{"1/a.yaml": web, "2/a.yaml": strings.Split(web, "---")[0]}, "an object is there twice, and which is meant is not known|Deployment web is in 1/a.yaml:3 and in 2/a.yaml:3"},
		"a patch":               {map[string]string{"a.yaml": web, "patch.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 5}\n"}, "an object is there twice, and which is meant is not known|Deployment web is in a.yaml:3 and in patch.yaml:2"},
		"in one file":           {map[string]string{"a.yaml": web + "---\n" + one + "---\n" + other}, "an object is there twice, and which is meant is not known|ConfigMap c is in a.yaml:20 and in a.yaml:25"},
		"the same in two files": {map[string]string{"a.yaml": web + "---\n" + one, "b.yaml": one}, ""},
		"in two namespaces":     {map[string]string{"a.yaml": web + "---\n" + one, "b.yaml": strings.Replace(other, "name: c", "name: c, namespace: kube-system", 1)}, ""},
		"hooks":                 {map[string]string{"a.yaml": web + "---\n" + hooked("pre-install", one) + "---\n" + hooked("post-install", other)}, ""},
		"namespaces":            {map[string]string{"a.yaml": web + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n", "b.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: x, labels: {a: b}}\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := made(t, test.files)
			if test.lines == "" {
				n := 0
				for _, m := range a.Manifests {
					if m.Object.GetKind() == "ConfigMap" && m.Object.GetNamespace() == a.Namespace {
						n++
					}
				}
				if err != nil || n > 1 {
					t.Errorf("%d ConfigMaps, %v", n, err)
				}
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			got := strings.Split(err.Error(), "\n  ")
			for i, want := range strings.Split(test.lines, "|") {
				if i >= len(got) || !strings.HasPrefix(got[i], want) || len(got) != strings.Count(test.lines, "|")+1 {
					t.Fatalf("got %v, want %s", err, test.lines)
				}
			}
		})
	}
}

func hooked(event, text string) string {
	return strings.Replace(text, "{name: c}", "{name: c, annotations: {helm.sh/hook: "+event+"}}", 1)
}

func custom(version, kind string) string {
	return "---\napiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: x}\n"
}

const defines = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: servicemonitors}\nspec: {group: monitoring.coreos.com, scope: Namespaced, names: {kind: ServiceMonitor}}\n"

// What no request is answered by is left out with a note, unless the cluster may know its kind. What makes Secrets or pods is not.
func TestWhatServesNothingIsLeftOut(t *testing.T) {
	monitor, dashboard, policy, virtual := custom("monitoring.coreos.com/v1", "ServiceMonitor"), custom("grafana.integreatly.org/v1beta1", "GrafanaDashboard"), custom("kyverno.io/v1", "ClusterPolicy"), custom("networking.istio.io/v1", "VirtualService")
	for name, test := range map[string]struct {
		text    string
		without []string
		left    string // kinds in the notes
		kept    string
	}{
		"monitoring":           {text: web + monitor, left: "ServiceMonitor.monitoring.coreos.com x, because no manifest defines this kind, and no request is answered by it"},
		"dashboards, policies": {text: web + dashboard + policy, left: "GrafanaDashboard.grafana.integreatly.org x, because|ClusterPolicy.kyverno.io x, because"},
		"defined":              {text: web + monitor + defines, kept: "ServiceMonitor"},
		"Prometheus itself":    {text: web + custom("monitoring.coreos.com/v1", "Prometheus"), kept: "Prometheus"},
		"a mesh elsewhere":     {text: web + virtual, left: "VirtualService.networking.istio.io x"},
		"a mesh of its own":    {text: strings.Replace(web, "labels: {app: web}}", "labels: {app: web}, annotations: {sidecar.istio.io/inject: 'true'}}", 1) + virtual, kept: "VirtualService"},
		"a mesh by revision":   {text: strings.Replace(web, "labels: {app: web}}", "labels: {app: web, istio.io/rev: stable}}", 1) + virtual, kept: "VirtualService"},
		"a mesh by namespace":  {text: web + virtual + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: app, labels: {istio-injection: enabled}}\n", kept: "VirtualService"},
		"a front of nobody":    {text: web + custom("gateway.networking.k8s.io/v1", "Gateway") + custom("traefik.io/v1alpha1", "IngressRoute"), left: "Gateway.gateway.networking.k8s.io x, because|IngressRoute.traefik.io x, because"},
		"a front of its own":   {text: web + custom("gateway.networking.k8s.io/v1", "Gateway") + strings.NewReplacer("monitoring.coreos.com", "gateway.networking.k8s.io", "ServiceMonitor", "Gateway").Replace(defines), kept: "Gateway"},
		"an autoscaler":        {text: web + custom("keda.sh/v1alpha1", "ScaledObject"), left: "ScaledObject.keda.sh x, because"},
		"what makes pods":      {text: web + custom("keda.sh/v1alpha1", "ScaledJob"), kept: "ScaledJob"},
		"what makes Secrets":   {text: web + custom("cert-manager.io/v1", "Certificate") + custom("bitnami.com/v1alpha1", "SealedSecret"), kept: "Certificate"},
		"as the user says":     {text: web + custom("cert-manager.io/v1", "Certificate") + custom("x.io/v1", "Certificate"), without: []string{"certificate.cert-manager.io"}, left: "Certificate.cert-manager.io x, because --without says so", kept: "Certificate"},
		"by the kind alone":    {text: web + custom("cert-manager.io/v1", "Certificate"), without: []string{"Certificate"}, left: "Certificate.cert-manager.io x, because --without says so"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := made(t, map[string]string{"a.yaml": test.text}, test.without...)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // and again, when a practice is taken away
				for want := range strings.SplitSeq(test.left, "|") {
					if notes := strings.Join(a.Notes, "\n"); want != "" && !strings.Contains(notes, "Left out, and not part of the verdict: "+want) || test.left == "" && notes != "" {
						t.Errorf("notes %q, want %q", a.Notes, want)
					}
				}
				if test.kept != "" && !a.Brings(test.kept, "x") || test.kept == "" && len(a.All()) != 2 {
					t.Errorf("it has %v, want %s", a.All(), test.kept)
				}
				if a, err = a.Without(0, func(map[string]any) bool { return true }); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	for kind, want := range map[string]string{"Certificate": "without: no manifest is of kind Certificate", "deployment": "--without Deployment: that is what is tested: leave Deployment web (a.yaml) out of the manifests"} {
		if _, err := made(t, map[string]string{"a.yaml": web}, kind); err == nil || err.Error() != want {
			t.Errorf("%s: %v", kind, err)
		}
	}
	for _, kind := range []string{monitor, policy, virtual, custom("cilium.io/v2", "CiliumNetworkPolicy"), custom("security.istio.io/v1", "AuthorizationPolicy")} {
		there, err := app.NewOn(true, readFrom(t, many(t, strings.TrimPrefix(kind, "---\n"), 1)), "")
		if err == nil {
			there, err = there.Without(0, func(map[string]any) bool { return true })
		}
		if err != nil || len(there.Notes) > 0 || len(there.All()) != 3 {
			t.Errorf("on a cluster that is there already, and may know the kind: %v, notes %q, %v", there.All(), there.Notes, err)
		}
	}
	manifests, err := read(t, operator, web+monitor)
	if err != nil {
		t.Fatal(err)
	}
	manifests[0].Before = true
	a, err := app.New(manifests, "")
	if err != nil || len(a.Notes) > 0 || !a.MayHave(schema.GroupKind{Group: "monitoring.coreos.com", Kind: "ServiceMonitor"}) {
		t.Errorf("an operator may define it: %q, %v", a.Notes, err)
	}
}

const operator = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: operator, namespace: operators}\nspec: {template: {spec: {containers: [{name: c, image: i}]}}}\n"

// What the API server cannot read is refused before there is one, whatever kind of Kubernetes it is.
func TestWhatTheAPIServerCannotRead(t *testing.T) {
	for more, want := range map[string]string{
		"apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {p: hunter2!}":                                           "Secret x (a.yaml): illegal base64 data at input byte 7",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {p: 17}":                                                 "Secret x (a.yaml): line 22: data is a number, and must be a string in base64",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: other}\ndata: {p: 17}":                            "ConfigMap x (a.yaml): line 22: data is a number, and must be a string",
		"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: x}\nspec: {selector: [a]}":                     "PodDisruptionBudget x (a.yaml): line 22: spec.selector is a array, and must be an object",
		"apiVersion: batch/v1\nkind: Job\nmetadata: {name: x, annotations: {helm.sh/hook: test}}\nspec: {backoffLimit: a}": "",
		"apiVersion: example.com/v1\nkind: Secret\nmetadata: {name: x}\ndata: {p: 17}":                                     "",
	} {
		_, err := made(t, map[string]string{"a.yaml": web + "---\n" + more})
		if err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// many is a file with as many copies of a text, each with a number in place of N.
func many(t testing.TB, one string, n int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(web)
	for i := range n {
		b.WriteString("---\n" + strings.ReplaceAll(one, "-N", fmt.Sprint("-", i)))
	}
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// readFrom reads a file.
func readFrom(t testing.TB, file string) []app.Manifest {
	t.Helper()
	all, err := app.Read(app.Sources{Files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// understand is the application of manifests.
func understand(t testing.TB, all []app.Manifest) app.App {
	t.Helper()
	a, err := app.New(all, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range a.Services {
		if len(a.Behind(s.Name)) != 1 {
			t.Fatalf("behind %s: %v", s.Name, a.Behind(s.Name))
		}
	}
	return a
}

// locate asks where each object is, as a finding does.
func locate(t testing.TB, a app.App) {
	t.Helper()
	for _, m := range a.Manifests {
		if m.Place("kind") == m.Source {
			t.Fatalf("%s", m)
		}
	}
}

// ofMany are objects of which there may be many.
var ofMany = map[string]string{
	"small ones":       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-N}\n",
	"applications":     strings.ReplaceAll(strings.ReplaceAll(web, "name: web", "name: web-N"), "app: web", "part: shop, app: web-N"),
	"custom resources": "apiVersion: x.io/v1\nkind: X\nmetadata: {name: c-N}\n",
}

// Twenty times the objects are about twenty times the work, and not four hundred times: counted in allocations. What takes time without them shows in the
// benchmark.
func TestWorkIsInProportionToTheObjects(t *testing.T) {
	for name, one := range ofMany {
		counts := func(n int) (understood, located float64) {
			all := readFrom(t, many(t, one, n))
			a := understand(t, all)
			return testing.AllocsPerRun(1, func() { understand(t, all) }), testing.AllocsPerRun(1, func() { locate(t, a) })
		}
		few, fewLocated := counts(10)
		many, manyLocated := counts(200)
		if many > 25*few || manyLocated > 25*fewLocated {
			t.Errorf("%s: 10 take %.0f and %.0f allocations, 200 take %.0f and %.0f", name, few, fewLocated, many, manyLocated)
		}
	}
}

// BenchmarkManyObjects reads 100,000 objects.
func BenchmarkManyObjects(b *testing.B) {
	for name, one := range ofMany {
		b.Run(name, func(b *testing.B) {
			for _, n := range []int{10_000, 100_000} {
				file := many(b, one, n/(1+strings.Count(one, "---")))
				b.Run(fmt.Sprint(n), func(b *testing.B) {
					for b.Loop() {
						locate(b, understand(b, readFrom(b, file)))
					}
				})
			}
		})
	}
}
