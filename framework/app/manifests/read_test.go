package manifests_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/manifests"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// rendered is what Helm prints of testdata/shop.
const rendered = "testdata/rendered.yaml"

// helm is a Helm that prints a text.
type helm struct {
	path   string // where it is found; empty: it is not
	stdout string
	stderr string
	fails  bool

	args     []string
	compiled bool
}

func (h *helm) options() manifests.Helm {
	return manifests.Helm{
		Find: func() (string, error) {
			if h.path == "" {
				return "", errors.New("not found")
			}
			return h.path, nil
		},
		Compile: func(context.Context) (string, error) {
			h.compiled = true
			return "/cache/helm", nil
		},
		Run: func(_ context.Context, path string, args ...string) ([]byte, []byte, error) {
			h.args = append([]string{path}, args...)
			if h.fails {
				return nil, []byte(h.stderr), errors.New("exit status 1")
			}
			return []byte(h.stdout), []byte(h.stderr), nil
		},
	}
}

func text(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The application of a chart has its hooks, its definitions, and the templates as the sources of its objects.
func TestAChart(t *testing.T) {
	h := &helm{path: "/usr/bin/helm", stdout: text(t, rendered)}
	from := app.Sources{Chart: app.Chart{Path: "testdata/shop", Values: []string{"testdata/shop/values.yaml"}, Release: "r"}, Before: []string{"testdata/before"}}
	a, err := manifests.Read(t.Context(), from, manifests.Options{Namespace: "ns", Helm: h.options()})
	if err != nil {
		t.Fatal(err)
	}
	chart, err := filepath.Abs("testdata/shop")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/usr/bin/helm", "template", "r", chart, "--include-crds", "--namespace", "ns", "--values", "testdata/shop/values.yaml"}
	if diff := cmp.Diff(want, h.args[:len(want)]); diff != "" {
		t.Errorf("Helm's arguments (-want +got):\n%s", diff)
	}
	var got []string
	for _, m := range a.All() {
		got = append(got, m.Object.GetNamespace()+" "+m.String())
	}
	want = []string{
		"operators Deployment operator (testdata/before/operator.yaml)", " CustomResourceDefinition carts.shop.org (testdata/shop/crds/cart.yaml)",
		"ns Service r-web (testdata/shop/templates/web.yaml)", "ns Deployment r-web (testdata/shop/templates/web.yaml)",
		"ns Job migrate (testdata/shop/templates/hooks.yaml)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if len(a.PreInstall) != 1 || !a.PreInstall[0].DeleteSucceeded || len(a.Before.Objects) != 1 || len(a.Notes) != 1 || !strings.Contains(a.Notes[0], "Pod smoke (testdata/shop/templates/hooks.yaml) is left out") {
		t.Errorf("hooks %v, before %v, notes %q", a.PreInstall, a.Before.Objects, a.Notes)
	}
	if len(a.Namespaces) != 1 || a.Namespaces[0].Labels["team"] != "platform" {
		t.Errorf("namespaces %+v", a.Namespaces)
	}
}

// A chart that asks the cluster what it knows is answered for the test's cluster, with what comes before the application.
func TestAChartIsToldWhatTheClusterKnows(t *testing.T) {
	const definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: carts.shop.org}\nspec: {group: shop.org, scope: Namespaced, names: {kind: Cart}, versions: [{name: v1, served: true}, {name: v1beta1, served: false}]}\n"
	before := filepath.Join(t.TempDir(), "carts.yaml")
	if err := os.WriteFile(before, []byte(definition), 0o600); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]struct{ has, not []string }{
		"": {
			[]string{"policy/v1", "policy/v1/PodDisruptionBudget", "networking.k8s.io/v1/Ingress", "autoscaling/v2/HorizontalPodAutoscaler", "v1/Service", "apiextensions.k8s.io/v1/CustomResourceDefinition", "shop.org/v1", "shop.org/v1/Cart"},
			[]string{"policy/v1beta1", "policy/v1beta1/PodDisruptionBudget", "autoscaling/v2beta2", "extensions/v1beta1", "shop.org/v1beta1", "v1/ListOptions", "storage.k8s.io/v1alpha1", "networking.k8s.io/v1beta1"},
		},
		"v1.24.3": {[]string{"policy/v1/PodDisruptionBudget", "policy/v1beta1/PodDisruptionBudget"}, []string{"extensions/v1beta1", "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"}},
	} {
		h := &helm{path: "helm", stdout: text(t, rendered)}
		o := h.options()
		o.Kubernetes = version
		if _, err := manifests.Read(t.Context(), app.Sources{Chart: app.Chart{Path: "testdata/shop"}, Before: []string{before}}, manifests.Options{Helm: o}); err != nil {
			t.Fatal(err)
		}
		at := slices.Index(h.args, "--kube-version")
		if at < 0 || version != "" && h.args[at+1] != version || version == "" && !strings.HasPrefix(h.args[at+1], "v1.") {
			t.Errorf("%q: %q", version, h.args)
		}
		for i, one := range slices.Concat(want.has, want.not) {
			if told := slices.Contains(h.args, one) && h.args[slices.Index(h.args, one)-1] == "--api-versions"; told != (i < len(want.has)) {
				t.Errorf("%q: told of %s: %t", version, one, told)
			}
		}
	}
}

// The definitions of a chart's own folders are there before the rest is rendered, and those of its templates are not.
func TestAChartIsToldOfItsOwnDefinitions(t *testing.T) {
	for name, test := range map[string]struct {
		old, with string
		told      bool
	}{
		"in its folder":       {"", "", true},
		"of a chart in it":    {"storefront/crds/", "storefront/charts/carts/crds/", true},
		"in its templates":    {"storefront/crds/", "storefront/templates/crds/", false},
		"of a template's own": {"storefront/crds/", "storefront/charts/carts/templates/", false},
	} {
		h := &helm{path: "helm", stdout: strings.Replace(text(t, rendered), test.old, test.with, 1)}
		a, err := manifests.Read(t.Context(), app.Sources{Chart: app.Chart{Path: "testdata/shop"}}, manifests.Options{Helm: h.options()})
		if err != nil || !a.Brings("CustomResourceDefinition", "carts.shop.org") || a.Manifests[0].Chart == "" {
			t.Fatalf("%s: %v, %v", name, a.Manifests, err)
		}
		if told := slices.Contains(h.args, "shop.org/v1/Cart"); told != test.told {
			t.Errorf("%s: told %t", name, told)
		}
	}
}

// The user's own Helm goes before a compiled one.
func TestHelmIsCompiledOnlyWhereThereIsNone(t *testing.T) {
	for path, compiled := range map[string]bool{"": true, "/usr/bin/helm": false} {
		h := &helm{path: path, stdout: text(t, rendered)}
		if _, err := manifests.Read(t.Context(), app.Sources{Chart: app.Chart{Path: "testdata/shop"}}, manifests.Options{Helm: h.options()}); err != nil {
			t.Fatal(err)
		}
		if h.compiled != compiled {
			t.Errorf("with %q: compiled %t", path, h.compiled)
		}
		if release, namespace := h.args[2], h.args[6]; release != "shop" || namespace != app.DefaultNamespace {
			t.Errorf("release %s, namespace %s", release, namespace)
		}
	}
	h := (&helm{}).options()
	h.Compile = func(context.Context) (string, error) { return "", errors.New("the Go toolchain is not installed") }
	_, err := manifests.Read(t.Context(), app.Sources{Chart: app.Chart{Path: "testdata/shop"}}, manifests.Options{Helm: h})
	if err == nil || !strings.HasPrefix(err.Error(), "there is no helm in PATH, and none can be made: install Helm, or render") || !strings.Contains(err.Error(), "Go toolchain") {
		t.Errorf("with neither: %v", err)
	}
}

func TestReleasesAreNamedAfterTheirCharts(t *testing.T) {
	for file, want := range map[string]string{
		"shop": "shop", "shop-1.2.3.tgz": "shop", "my-shop-v0.1.0-rc.1.tgz": "my-shop", "Web_Shop": "web-shop", "-.tgz": "release", strings.Repeat("x", 70): strings.Repeat("x", 53),
	} {
		path := filepath.Join(t.TempDir(), file)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		h := &helm{path: "helm", stdout: text(t, rendered)}
		if _, err := manifests.Read(t.Context(), app.Sources{Chart: app.Chart{Path: path}}, manifests.Options{Helm: h.options()}); err != nil || h.args[2] != want {
			t.Errorf("%s: release %q, %v; want %q", file, h.args[2], err, want)
		}
	}
}

// What is wrong with a chart is said in Helm's words, once, and without what Helm says of itself.
func TestChartsThatDoNotRender(t *testing.T) {
	shop := app.Chart{Path: "testdata/shop"}
	for name, test := range map[string]struct {
		from app.Sources
		helm helm
		want string
	}{
		"no such chart":         {app.Sources{Chart: app.Chart{Path: "none"}}, helm{}, "chart: there is no file or folder none"},
		"a chart in a registry": {app.Sources{Chart: app.Chart{Path: "oci://charts.test/shop"}}, helm{}, "chart oci://charts.test/shop: want a folder or an archive: get it with 'helm pull' first"},
		"no such values":        {app.Sources{Chart: app.Chart{Path: "testdata/shop", Values: []string{"prod.yaml"}}}, helm{}, "values of chart testdata/shop: there is no file prod.yaml"},
		"values without chart":  {app.Sources{Files: []string{"testdata/before"}, Chart: app.Chart{Values: []string{"prod.yaml"}}}, helm{}, "values or a release without a Helm chart: name the chart with --chart"},
		"a template that fails": {
			app.Sources{Chart: shop}, helm{fails: true, stderr: "WARNING: Kubernetes configuration file is group-readable.\ncoalesce.go:301: warning: destination for shop.db is a table. Ignoring non-table value (hunter2)\nError: execution error at (storefront/templates/web.yaml:15:35): tag: say which image\n\nUse --debug flag to render out invalid YAML\n"},
			"render chart testdata/shop: execution error at (storefront/templates/web.yaml:15:35): tag: say which image",
		},
		"a Helm without words": {app.Sources{Chart: shop}, helm{fails: true}, "render chart testdata/shop: exit status 1"},
		"nothing in it":        {app.Sources{Chart: shop}, helm{stdout: "---\n# Source: storefront/templates/web.yaml\n"}, "render chart testdata/shop: with these values it has no objects"},
		"no object":            {app.Sources{Chart: shop}, helm{stdout: "---\n# Source: storefront/templates/web.yaml\nmetadata: {name: x}\n"}, "render chart testdata/shop: read manifests: "},
		"before, and no such":  {app.Sources{Chart: shop, Before: []string{"operators/"}}, helm{}, "read manifests: there is no file or folder operators/"},
	} {
		t.Run(name, func(t *testing.T) {
			test.helm.path = "helm"
			_, err := manifests.Read(t.Context(), test.from, manifests.Options{Helm: test.helm.options()})
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Fatalf("got  %v\nwant %s", err, test.want)
			}
			if name == "a template that fails" && err.Error() != test.want {
				t.Errorf("got %q, with more than Helm's words", err)
			}
		})
	}
}

func TestSecretsAreMadeWhereTheyAreAskedFor(t *testing.T) {
	for secrets, want := range map[string]string{"": "", manifests.GenerateSecrets: "Secret db is generated by holdfast.", "guess": ""} {
		h := &helm{path: "helm", stdout: text(t, rendered)}
		a, err := manifests.Read(t.Context(), app.Sources{Chart: app.Chart{Path: "testdata/shop"}}, manifests.Options{Secrets: secrets, Helm: h.options()})
		if secrets == "guess" {
			if err == nil || err.Error() != `secrets "guess": want generate, or leave it out` {
				t.Errorf("%s: %v", secrets, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if made := a.Brings("Secret", "db"); made != (want != "") || made && !slices.Contains(a.Notes, want) {
			t.Errorf("secrets %q: made %t, notes %q", secrets, made, a.Notes)
		}
	}
}

// The digest of a chart changes with its files, and not with what is written beside them.
func TestTheDigestFollowsTheFiles(t *testing.T) {
	dir := t.TempDir()
	put := func(file, text string) {
		t.Helper()
		file = filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	put("Chart.yaml", "name: shop")
	put("templates/web.yaml", "one")
	h := &helm{path: "helm", stdout: text(t, rendered)}
	digest := func() string {
		t.Helper()
		a, err := manifests.Read(t.Context(), app.Sources{Chart: app.Chart{Path: dir}}, manifests.Options{Helm: h.options()})
		if err != nil || a.Manifests[0].Chart == "" {
			t.Fatalf("digest %q, %v", a.Manifests[0].Chart, err)
		}
		return a.Manifests[0].Chart
	}
	before := digest()
	put("artifacts/1/report.md", "a run")
	put(".git/HEAD", "main")
	if digest() != before {
		t.Error("what is written beside the files of the chart changes its digest")
	}
	put("templates/web.yaml", "two")
	if digest() == before {
		t.Error("a change of a template does not change its digest")
	}
}
