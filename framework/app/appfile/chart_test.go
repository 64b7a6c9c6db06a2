package appfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/app/manifests"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

const ofChart = `apiVersion: holdfast.dev/v1alpha1
kind: App
app:
  chart: {path: charts/shop, values: [prod.yaml, /abs/eu.yaml, "https://values.example/eu.yaml"], release: shop}
  before: [operators/, "https://example.com/crds.yaml"]
  secrets: generate
  namespace: shop
probes: [{url: "http://web/"}]
`

// The paths of a chart, and of what comes before it, are relative to the file.
func TestChartsAndWhatComesBefore(t *testing.T) {
	path := write(t, ofChart)
	f, err := appfile.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	want := app.Sources{
		Chart:  app.Chart{Path: filepath.Join(dir, "charts/shop"), Values: []string{filepath.Join(dir, "prod.yaml"), "/abs/eu.yaml", "https://values.example/eu.yaml"}, Release: "shop"},
		Before: []string{filepath.Join(dir, "operators"), "https://example.com/crds.yaml"},
	}
	if diff := cmp.Diff(want, f.Sources()); diff != "" || f.App.Secrets != manifests.GenerateSecrets {
		t.Errorf("secrets %q, sources (-want +got):\n%s", f.App.Secrets, diff)
	}
	for name, test := range map[string]struct{ old, with, want string }{
		"a typo":                   {"values:", "value:", "line 4, column 30: there is no field app.chart.value: did you mean values?"},
		"a chart that is a text":   {`{path: charts/shop, values: [prod.yaml, /abs/eu.yaml, "https://values.example/eu.yaml"], release: shop}`, "charts/shop", "line 4, column 10: app.chart: want fields of its own"},
		"a chart without a path":   {"path: charts/shop, ", "", "app.chart: it has no path"},
		"a folder that is no list": {`[operators/, "https://example.com/crds.yaml"]`, "operators/", "line 5, column 11: app.before: want a list"},
		"nothing but what is before": {
			`  chart: {path: charts/shop, values: [prod.yaml, /abs/eu.yaml, "https://values.example/eu.yaml"], release: shop}` + "\n", "", "app: it names no manifests, no kustomize folder and no chart",
		},
	} {
		if _, err := appfile.Read(write(t, strings.Replace(ofChart, test.old, test.with, 1))); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
	}
}

const service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n"

// Flags add to the file: the last values win, and a release of its own replaces the file's.
func TestFlagsAddToAFileWithAChart(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		appfile.Name: strings.NewReplacer(`, /abs/eu.yaml, "https://values.example/eu.yaml"`, "", `, "https://example.com/crds.yaml"`, "").Replace(ofChart), "prod.yaml": "", "eu.yaml": "",
		"charts/shop/Chart.yaml": "", "operators/o.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: o}\n", "more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var args []string
	c := appfile.Choice{
		Sources: app.Sources{Chart: app.Chart{Values: []string{"eu.yaml"}, Release: "mine"}, Before: []string{"more.yaml"}},
		Helm: manifests.Helm{
			Find: func() (string, error) { return "helm", nil },
			Run: func(_ context.Context, _ string, given ...string) ([]byte, []byte, error) {
				args = given
				return []byte(service + "---" + strings.Replace(workload, "image: web", "image: web, env: [{name: A, valueFrom: {secretKeyRef: {name: db, key: k}}}]", 1)), nil, nil
			},
		},
	}
	if err := c.Find(nil); err != nil {
		t.Fatal(err)
	}
	test, err := c.Test(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"mine", "--values", "prod.yaml", "--values", "eu.yaml"}, append(args[1:2:2], args[6:10]...)); diff != "" {
		t.Errorf("Helm's arguments %q (-want +got):\n%s", args, diff)
	}
	var before []string
	for _, m := range test.App.Before.Objects {
		before = append(before, m.Object.GetKind()+" "+m.Object.GetName())
	}
	if diff := cmp.Diff([]string{"Secret db", "ConfigMap o", "ConfigMap m"}, before); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	synctest.Test(t, func(t *testing.T) { // the random values of each time are no change
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.Changed(ctx, test, func(problem string) { t.Error(problem) }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with other random values: %v, want no change", err)
		}
	})
}
