package chart_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/chart"
)

// put writes files by their paths.
func put(t *testing.T, files map[string]string) {
	t.Helper()
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// fakeHelm is a helm that does what a script says, and the only program on PATH.
func fakeHelm(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "helm")
	put(t, map[string]string{path: "#!/bin/sh\n" + script})
	t.Setenv("PATH", dir)
	return path
}

func TestHelmIsAskedForAllOfTheChart(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, map[string]string{"charts/shop/Chart.yaml": "", "prod.yaml": "", "shop-1.2.3-rc.1.tgz": "", "my-shop.tgz": ""})
	helm := fakeHelm(t, `echo "WARNING: noise" >&2; printf '%s\n' "$*"`)
	const values = "https://values.example/eu.yaml"
	for name, test := range map[string]struct {
		chart chart.Chart
		want  string
	}{
		"a folder":             {chart.Chart{Path: "charts/shop", Namespace: "ns"}, "--namespace ns -- shop charts/shop"},
		"values and a release": {chart.Chart{Path: "charts/shop", Namespace: "ns", Values: []string{"prod.yaml", values}, Release: "eu"}, "--namespace ns --values prod.yaml --values " + values + " -- eu charts/shop"},
		"an archive":           {chart.Chart{Path: "shop-1.2.3-rc.1.tgz", Namespace: "ns"}, "--namespace ns -- shop shop-1.2.3-rc.1.tgz"},
		"one without version":  {chart.Chart{Path: "my-shop.tgz", Namespace: "ns"}, "--namespace ns -- my-shop my-shop.tgz"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := chart.Render(t.Context(), test.chart, helm)
			if diff := cmp.Diff("template --include-crds "+test.want+"\n", string(got)); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestWhatDoesNotRenderIsNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, map[string]string{"shop/Chart.yaml": "", "empty/values.yaml": ""})
	const broken = `Error: template: shop/templates/web.yaml:3:12: nil pointer evaluating interface {}.tag

Use --debug flag to render out invalid YAML`
	for name, test := range map[string]struct {
		chart     chart.Chart
		script    string
		want, not string
	}{
		"no such chart":    {chart.Chart{Path: "none"}, "", "there is no chart none", "stat"},
		"no chart":         {chart.Chart{Path: "empty"}, "", "folder empty is no chart: it has no Chart.yaml", ""},
		"no such values":   {chart.Chart{Path: "shop", Values: []string{"none.yaml"}}, "", "the values of chart shop: stat none.yaml", ""},
		"only values":      {chart.Chart{Values: []string{"shop/Chart.yaml"}}, "", "values or a release without a chart", ""},
		"only a release":   {chart.Chart{Release: "shop"}, "", "values or a release without a chart", ""},
		"a template":       {chart.Chart{Path: "shop"}, "echo 'WARNING: old' >&2\ncat >&2 <<'E'\n" + broken + "\nE\nexit 1", "chart shop does not render: template: shop/templates/web.yaml:3:12: nil pointer evaluating interface {}.tag\nmend", "--debug"},
		"the next step":    {chart.Chart{Path: "shop"}, "echo 'Error: no' >&2; exit 1", "helm template --include-crds --namespace  -- shop shop", "exit status"},
		"nothing is said":  {chart.Chart{Path: "shop"}, "exit 3", "chart shop does not render: exit status 3", ""},
		"half is rendered": {chart.Chart{Path: "shop"}, "echo kind: Service; echo 'Error: no' >&2; exit 1", "does not render: no\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			// The script needs cat.
			helm := filepath.Join(t.TempDir(), "helm")
			put(t, map[string]string{helm: "#!/bin/sh\n" + test.script})
			text, err := chart.Render(t.Context(), test.chart, helm)
			if err == nil || text != nil || !strings.Contains(err.Error(), test.want) || test.not != "" && strings.Contains(err.Error(), test.not) {
				t.Errorf("text %q, error %v, want one with %q and without %q", text, err, test.want, test.not)
			}
		})
	}
}

func TestRenderingEndsWithItsContext(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, map[string]string{"shop/Chart.yaml": ""})
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("it is over")
	cancel(over)
	if _, err := chart.Render(ctx, chart.Chart{Path: "shop"}, fakeHelm(t, "")); !errors.Is(err, over) {
		t.Errorf("error %v, want %v", err, over)
	}
}

func TestTheUsersOwnHelmIsTaken(t *testing.T) {
	compiled := 0
	compile := func(_ context.Context, p workloads.Program) (string, error) {
		compiled++
		return p.Name + "@" + p.Version, nil
	}
	t.Setenv("PATH", t.TempDir())
	none := chart.Helm{Compile: compile}
	for range 2 {
		if path, err := none.Path(t.Context()); err != nil || path != "helm@"+chart.Program().Version {
			t.Errorf("path %s, %v", path, err)
		}
	}
	broken := chart.Helm{Compile: func(context.Context, workloads.Program) (string, error) { return "", errors.New("no network") }}
	if _, err := broken.Path(t.Context()); err == nil || !strings.Contains(err.Error(), "install it: no network") {
		t.Errorf("error %v", err)
	}
	if _, err := (&chart.Helm{}).Path(t.Context()); err == nil || !strings.Contains(err.Error(), "helm is not on PATH: install it") {
		t.Errorf("error %v", err)
	}
	own := fakeHelm(t, "")
	if path, err := (&chart.Helm{Compile: compile}).Path(t.Context()); err != nil || path != own || compiled != 1 {
		t.Errorf("path %s, %v; compiled %d times", path, err, compiled)
	}
}

func TestHooksAreRead(t *testing.T) {
	type notes = map[string]string
	for name, test := range map[string]struct {
		notes notes
		want  chart.Hook
		is    bool
	}{
		"none":               {nil, chart.Hook{}, false},
		"another annotation": {notes{"helm.sh/hook-weight": "3"}, chart.Hook{}, false},
		"one event":          {notes{"helm.sh/hook": "pre-install"}, chart.Hook{Events: []string{"pre-install"}}, true},
		"all of it": {
			notes{"helm.sh/hook": " Post-Install, pre-upgrade", "helm.sh/hook-weight": " -5", "helm.sh/hook-delete-policy": "before-hook-creation, hook-succeeded"},
			chart.Hook{Events: []string{"post-install", "pre-upgrade"}, Weight: -5, DeleteSucceeded: true}, true,
		},
		"no number": {notes{"helm.sh/hook": "test", "helm.sh/hook-weight": "heavy"}, chart.Hook{Events: []string{"test"}}, true},
		"empty":     {notes{"helm.sh/hook": ""}, chart.Hook{Events: []string{""}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, is := chart.HookOf(&metav1.ObjectMeta{Annotations: test.notes})
			if diff := cmp.Diff(test.want, got); diff != "" || is != test.is {
				t.Errorf("is a hook: %t (-want +got):\n%s", is, diff)
			}
		})
	}
}

func TestTheDigestFollowsTheFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, map[string]string{"shop/Chart.yaml": "a", "shop/templates/web.yaml": "b", "shop/artifacts/run.json": "", "shop/.git/HEAD": "", "prod.yaml": ""})
	if err := os.Symlink("shop", "linked"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"shop", "linked"} {
		c := chart.Chart{Path: path, Values: []string{"prod.yaml"}}
		before, err := c.Digest()
		if err != nil {
			t.Fatal(err)
		}
		for file, changes := range map[string]bool{
			"shop/templates/web.yaml": true, "shop/templates/new.yaml": true, "prod.yaml": true, "shop/artifacts/run.json": false, "shop/.git/HEAD": false,
		} {
			put(t, map[string]string{file: "of " + path})
			after, err := c.Digest()
			if err != nil || (after != before) != changes {
				t.Errorf("%s: a change of %s is noticed: %t, %v", path, file, after != before, err)
			}
			before = after
		}
	}
}
