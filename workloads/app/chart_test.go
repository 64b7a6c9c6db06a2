package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/workloads/app"
	"github.com/holdfast-ha/holdfast/workloads/chart"
)

// hook is an object with the annotations of a hook, as Helm renders it.
func hook(file, kind, name, event, weight string) string {
	return fmt.Sprintf("---\n# Source: shop/%s\napiVersion: v1\nkind: %s\nmetadata: {name: %s, annotations: {helm.sh/hook: %q, helm.sh/hook-weight: %q}}\n", file, kind, name, event, weight)
}

const crd = `---
# Source: shop/crds/carts.yaml
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.shop.example}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: baskets.shop.example}
`

// rendered reads a chart that Helm renders as a text, and the given files with it.
func rendered(t *testing.T, text string, files ...string) ([]app.Manifest, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for path, text := range map[string]string{
		filepath.Join(bin, "helm"): "#!/bin/sh\nexec cat shop/out", "shop/out": text, "shop/Chart.yaml": "name: shop", "extra.yaml": strings.Join(files, "---\n"),
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	from := app.Sources{Chart: chart.Chart{Path: "shop"}}
	if len(files) > 0 {
		from.Files = []string{"extra.yaml"}
	}
	if _, err := app.Read(from); err == nil || !strings.Contains(err.Error(), "chart shop was not rendered") {
		t.Errorf("read without rendering: %v", err)
	}
	if err := from.Render(t.Context()); err != nil {
		t.Fatal(err)
	}
	return app.Read(from)
}

// A chart is installed as Helm does it, into a namespace in which what is not of the chart is there already.
func TestTheOrderOfAChart(t *testing.T) {
	text := "# Source: shop/templates/web.yaml" + web + crd +
		hook("templates/a.yaml", "Secret", "late", "pre-install,pre-upgrade", "5") +
		hook("templates/a.yaml", "Pod", "b-same", "pre-install", "") +
		hook("templates/a.yaml", "ConfigMap", "a-same", "pre-install", "0") +
		hook("templates/a.yaml", "Pod", "early", "pre-install", "-10") +
		hook("charts/db/templates/b.yaml", "Pod", "both", "pre-install,post-install", "1") +
		hook("templates/b.yaml", "Pod", "first-after", "post-install", "0") +
		hook("templates/t.yaml", "Pod", "check", "test", "") +
		hook("templates/u.yaml", "Pod", "backup", "pre-upgrade,post-rollback", "") +
		hook("templates/u.yaml", "Pod", "strange", "crd-install", "") +
		hook("templates/u.yaml", "Deployment", "old", "test", "") +
		"---\n# Source: shop/templates/empty.yaml\n---\n"
	manifests, err := rendered(t, text, store, "apiVersion: v1\nkind: Secret\nmetadata: {name: token}\n")
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(manifests, "")
	if err != nil {
		t.Fatal(err)
	}
	list := func(all []app.Manifest) (words []string) {
		for _, m := range all {
			words = append(words, fmt.Sprintf("%d %s", m.Stage, m))
		}
		return words
	}
	want := []string{
		"0 CustomResourceDefinition carts.shop.example (shop/crds/carts.yaml)",
		"0 CustomResourceDefinition baskets.shop.example (shop/crds/carts.yaml)",
		"0 Secret token (extra.yaml)", "0 StatefulSet redis (extra.yaml)",
		"1 Pod early (shop/templates/a.yaml)", "1 ConfigMap a-same (shop/templates/a.yaml)", "1 Pod b-same (shop/templates/a.yaml)",
		"1 Pod both (shop/charts/db/templates/b.yaml)", "1 Secret late (shop/templates/a.yaml)",
		"2 Service web (shop/templates/web.yaml)", "2 Deployment web (shop/templates/web.yaml)",
		"3 Pod first-after (shop/templates/b.yaml)", "3 Pod both (shop/charts/db/templates/b.yaml)",
	}
	if diff := cmp.Diff(want, list(a.Manifests)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[4:9], list(a.At(app.BeforeInstall))); diff != "" {
		t.Errorf("before the installation (-want +got):\n%s", diff)
	}
	never := []string{
		"4 Pod check (shop/templates/t.yaml)", "4 Pod backup (shop/templates/u.yaml)", "4 Pod strange (shop/templates/u.yaml)", "4 Deployment old (shop/templates/u.yaml)",
	}
	if diff := cmp.Diff(never, list(a.NotRun)); diff != "" {
		t.Errorf("not run (-want +got):\n%s", diff)
	}
	if len(a.Workloads) != 2 || a.Workloads[1].Name != "web" && a.Workloads[0].Name != "web" {
		t.Errorf("workloads %+v", a.Workloads)
	}
	for _, m := range a.Manifests {
		if ofChart := !strings.HasPrefix(m.Source, "extra"); (m.Chart != "") != ofChart {
			t.Errorf("%s: digest %q", m, m.Chart)
		}
	}
}

// A hook is neither under test nor a reason to refuse the rest, and what a chart renders is checked as any manifest is.
func TestWhatAChartRendersIsChecked(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"nothing":           {"", "no manifests"},
		"comments":          {"---\n# Source: shop/templates/web.yaml\n# off\n", "no manifests"},
		"only hooks":        {hook("t.yaml", "Deployment", "web", "pre-install", ""), "there is nothing to test"},
		"no name":           {"---\n# Source: shop/templates/x.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", "shop/templates/x.yaml: a ConfigMap has no metadata.name"},
		"no YAML":           {"---\n# Source: shop/templates/x.yaml\nkind: [\n", "shop/templates/x.yaml"},
		"a typo in a field": {"# Source: shop/templates/web.yaml" + strings.Replace(web, "replicas:", "replica:", 1), "(shop/templates/web.yaml)"},
	} {
		t.Run(name, func(t *testing.T) {
			manifests, err := rendered(t, test.text)
			if err == nil {
				_, err = app.New(manifests, "")
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// An archive has no files to point at.
func TestTemplatesOfAnArchive(t *testing.T) {
	t.Chdir(t.TempDir())
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for path, text := range map[string]string{filepath.Join(bin, "helm"): "#!/bin/sh\nexec cat shop-1.0.0.tgz", "shop-1.0.0.tgz": hook("templates/a.yaml", "Pod", "a", "pre-install", "")} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	from := app.Sources{Chart: chart.Chart{Path: "shop-1.0.0.tgz"}}
	if err := from.Render(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := app.Read(from)
	if err != nil || len(all) != 1 || all[0].Source != "shop-1.0.0.tgz: templates/a.yaml" {
		t.Errorf("%v, %v", all, err)
	}
}
