package appfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"a readiness probe": {
			deployment("web", `{name: c, image: i, ports: [{containerPort: 8000}], readinessProbe: {httpGet: {path: /healthz, port: 8000}}}`) +
				serviceOf("web", "{port: 80, targetPort: 8000}"),
			[]string{"readiness probe of container c asks for this path", "url: http://web:80/healthz"},
		},
		"gRPC": {
			deployment("web", `{name: c, image: i, ports: [{containerPort: 9090}], readinessProbe: {grpc: {port: 9090, service: orders}}}`) +
				serviceOf("web", "{port: 9090}"),
			[]string{"grpc: web:9090", "service: orders"},
		},
		"Redis": {
			deployment("cache", `{name: c, image: i, ports: [{name: redis, containerPort: 6379}]}`) + serviceOf("cache", "{port: 6379, targetPort: redis}"),
			[]string{"tcp: cache:6379", `body: "PING\r\n"`, "+PONG"},
		},
		"a port": {
			deployment("web", `{name: c, image: i}`) + serviceOf("web", "{port: 8080}"),
			[]string{"Guessed from port 8080. Nothing says which path answers with status 200.", "url: http://web:8080/"},
		},
		"WebSockets by protocol": {
			deployment("chat", `{name: c, image: i, readinessProbe: {httpGet: {path: /healthz, port: 80}}}`) + serviceOf("chat", "{port: 80, appProtocol: kubernetes.io/ws}"),
			[]string{"Port 80 has appProtocol kubernetes.io/ws: WebSockets.", "url: ws://chat:80/\n", "# send: "},
		},
		"WebSockets by name": {
			deployment("chat", `{name: c, image: i}`) + serviceOf("chat", "{name: ws-chat, port: 8080}"),
			[]string{"Port 8080 is named ws-chat: WebSockets.", "url: ws://chat:8080/\n"},
		},
		"no WebSockets": {
			deployment("chat", `{name: c, image: i}`) + serviceOf("chat", "{name: wsgi, port: 8080, appProtocol: http}"),
			[]string{"url: http://chat:8080/"},
		},
		"nothing": {
			deployment("db", `{name: c, image: i}`) + serviceOf("db", "{port: 5432}"),
			[]string{"Nothing says what port 5432 answers.", "tcp: db:5432"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := guessed(t, "k8s", test.text)
			for _, want := range append(test.want, "manifests: [k8s]", "namespace: shop", "# - i") {
				if !strings.Contains(text, want) {
					t.Errorf("want %q in\n%s", want, text)
				}
			}
		})
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

// guess is a table's row: the lines that a guess has, and those that it must not have.
type guess struct {
	text string
	want []string
	not  []string
}

func (g guess) check(t *testing.T) {
	t.Helper()
	text := guessed(t, "k8s", g.text)
	_, text, _ = strings.Cut(text, "\nprobes:\n")
	for _, want := range g.want {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	for _, not := range g.not {
		if strings.Contains(text, not) {
			t.Errorf("%q is in\n%s", not, text)
		}
	}
}

// none is a file without a probe.
const none = "\n  []\n"
