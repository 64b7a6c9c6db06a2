package appfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

const web = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What is read counts: neither a comment nor a half-written file is a change.
func TestChangedWaitsForAChange(t *testing.T) {
	for what, edit := range map[string]func(t *testing.T){
		"a manifest": func(t *testing.T) { put(t, "web.yaml", strings.Replace(web, "web:1", "web:2", 1)) },
		"an image":   func(t *testing.T) { put(t, "web.tar", "another") },
	} {
		t.Run(what, func(t *testing.T) {
			t.Chdir(t.TempDir())
			put(t, "web.yaml", web)
			put(t, "web.tar", "image")
			choice := appfile.Choice{Sources: app.Sources{Files: []string{"web.yaml"}}, URLs: []string{"http://web/"}, Images: []string{"web.tar"}}
			test, err := choice.Test(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			// The edits follow each other as the reader sees them: it tells of the broken file before the good one is written.
			put(t, "web.yaml", "# a comment\n"+web[:len(web)/2])
			var told []string
			got, err := choice.Changed(t.Context(), test, func(line string) {
				told = append(told, line)
				put(t, "web.yaml", "# a comment\n"+web)
				edit(t)
			})
			if err != nil || len(told) != 1 {
				t.Fatalf("told %q, %v", told, err)
			}
			if what == "a manifest" && !slices.Equal(got.App.Images(), []string{"web:2"}) {
				t.Errorf("got images %v", got.App.Images())
			}
		})
	}
}

// Another promise is another test.
func TestChangedKnowsPromises(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "web.yaml", web)
	const file = "apiVersion: holdfast.dev/v1alpha1\nkind: App\napp: {manifests: [web.yaml]}\nprobes: [{url: \"http://web/\"}]\n"
	put(t, appfile.Name, file)
	choice := appfile.Choice{File: appfile.Name}
	test, err := choice.Test(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	put(t, appfile.Name, file+"promises: {voluntary: {failed: many}}\n") // is told, and then mended
	got, err := choice.Changed(t.Context(), test, func(problem string) {
		if !strings.Contains(problem, `line 5, column 32: failed "many"`) {
			t.Errorf("told %q", problem)
		}
		put(t, appfile.Name, file+"promises: {voluntary: {failed: 3}}\n")
	})
	if err != nil || got.Promises.Each.Failed.AtMost != 3 {
		t.Errorf("got %+v, %v", got.Promises, err)
	}
}

// What a chart makes by chance, such as a password, is no change; a change of its files is one.
func TestChangedKnowsChanceFromChange(t *testing.T) {
	t.Chdir(t.TempDir())
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if err := os.Mkdir("shop", 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, "shop/Chart.yaml", "name: shop")
	put(t, "web.yaml", web)
	put(t, "calls", "0")
	// Each time it renders another image. The third time a file of the chart changes, which the fourth time is there from the beginning.
	helm := filepath.Join(bin, "helm")
	put(t, helm, `#!/bin/sh
n=$(( $(cat calls) + 1 )); echo $n > calls
[ $n -lt 3 ] || echo "n: $n" > shop/values.yaml
echo '# Source: shop/templates/web.yaml'
sed "s/web:1/web:$n/" web.yaml
`)
	if err := os.Chmod(helm, 0o755); err != nil {
		t.Fatal(err)
	}
	choice := appfile.Choice{Sources: app.Sources{Chart: app.Chart{Path: "shop"}}, URLs: []string{"http://web/"}}
	test, err := choice.Test(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := choice.Changed(t.Context(), test, func(problem string) { t.Error(problem) })
	if err != nil || !slices.Equal(got.App.Images(), []string{"web:4"}) {
		t.Errorf("got images %v, %v; want those of the fourth time", got.App.Images(), err)
	}
}

func TestChangedEndsWithItsContext(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "web.yaml", web)
	choice := appfile.Choice{Sources: app.Sources{Files: []string{"web.yaml"}}, URLs: []string{"http://web/"}}
	test, err := choice.Test(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("it is over")
	cancel(over)
	if _, err := choice.Changed(ctx, test, func(string) {}); !errors.Is(err, over) {
		t.Errorf("got %v", err)
	}
	for _, source := range []string{"-", "https://example.invalid/web.yaml"} {
		if err := (appfile.Choice{Sources: app.Sources{Files: []string{source}}}).Watchable(); err == nil {
			t.Errorf("%s can be watched", source)
		}
	}
}
