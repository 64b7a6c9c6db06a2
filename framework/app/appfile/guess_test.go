package appfile_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

func deployment(name, containers string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + "}\nspec:\n  selector: {matchLabels: {app: " + name + "}}\n" +
		"  template:\n    metadata: {labels: {app: " + name + "}}\n    spec: {containers: [" + containers + "]}\n---\n"
}

func serviceOf(name, port string) string {
	return "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec: {selector: {app: " + name + "}, ports: [" + port + "]}\n---\n"
}

// Each guess is written with what it rests on, and the file can be read and tested as it is.
func TestGuesses(t *testing.T) {
	const ready = "{name: c, image: i, ports: [{containerPort: 8000}], readinessProbe: {httpGet: {path: /healthz, port: 8000}}}"
	checkGuesses(t, map[string]string{
		"a readiness probe":      deployment("web", ready) + serviceOf("web", "{port: 80, targetPort: 8000}"),
		"gRPC":                   deployment("web", `{name: c, image: i, ports: [{containerPort: 9090}], readinessProbe: {grpc: {port: 9090, service: orders}}}`) + serviceOf("web", "{port: 9090}"),
		"Redis":                  deployment("cache", `{name: c, image: i, ports: [{name: redis, containerPort: 6379}]}`) + serviceOf("cache", "{port: 6379, targetPort: redis}"),
		"a port":                 deployment("web", `{name: c, image: i}`) + serviceOf("web", "{port: 8080}"),
		"WebSockets by protocol": deployment("chat", ready) + serviceOf("chat", "{port: 80, appProtocol: kubernetes.io/ws}"),
		"WebSockets by name":     deployment("chat", `{name: c, image: i}`) + serviceOf("chat", "{name: ws-chat, port: 8080}"),
		"no WebSockets":          deployment("chat", `{name: c, image: i}`) + serviceOf("chat", "{name: wsgi, port: 8080, appProtocol: http}"),
		"nothing":                deployment("db", `{name: c, image: i}`) + serviceOf("db", "{port: 5432}"),
	})
	text := guessed(t, "k8s", deployment("web", ready)+serviceOf("web", "{port: 80}"))
	for _, want := range []string{"manifests: [k8s]", "namespace: shop", "# - i"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}

// guessed is the file that is guessed from manifests in a folder. It can be read, its promises too if they are no comments, and what it says can be
// tested.
func guessed(t *testing.T, folder, text string) string {
	t.Helper()
	dir := t.TempDir()
	manifests := filepath.Join(dir, folder)
	if err := os.Mkdir(manifests, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(manifests, "all.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	from := app.Sources{Files: []string{manifests}}
	read, err := app.Read(from)
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(read, "shop")
	if err != nil {
		t.Fatal(err)
	}
	text, missing := appfile.Guess(a, from, dir)
	path := filepath.Join(dir, appfile.Name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := appfile.Read(path)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	probes, err := file.ProbesOf()
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if (missing != "") != (len(probes) == 0) || missing != "" && !strings.Contains(text, "# "+missing) {
		t.Errorf("missing is %q in\n%s", missing, text)
	}
	if _, _, err := (apptest.Test{App: a, Probes: probes, Faults: file.Faults, Existing: true}).Scenarios(); err != nil && len(probes) > 0 {
		t.Errorf("%v in\n%s", err, text)
	}
	promised := strings.NewReplacer("# promises:", "promises:", "#   voluntary", "  voluntary", "#   involuntary", "  involuntary").Replace(text)
	if err := os.WriteFile(path, []byte(promised), 0o600); err != nil {
		t.Fatal(err)
	}
	test, err := appfile.Choice{File: path}.Test(t.Context())
	if want := (apptest.Promise{EndsWithin: time.Minute}); err != nil || test.Promises.Each != want {
		t.Errorf("the promises, without being comments: %+v, %v in\n%s", test.Promises, err, promised)
	}
	return text
}

// checkGuesses compares the probes that are guessed from manifests with those of a file. No guess shows a secret.
func checkGuesses(t *testing.T, manifests map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		_, text, _ := strings.Cut(guessed(t, "k8s", manifests[name]), "\nprobes:\n")
		text, _, _ = strings.Cut(text, "# What is promised by default")
		if b.WriteString("# " + name + "\n" + text + "\n"); strings.Contains(text, "hunter2") {
			t.Errorf("%s: a secret is in\n%s", name, text)
		}
	}
	file := filepath.Join("testdata", t.Name()+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if diff := cmp.Diff(string(want), b.String()); err != nil || diff != "" {
		t.Errorf("%v, %s (-want +got), go test -update rewrites it:\n%s", err, file, diff)
	}
}
