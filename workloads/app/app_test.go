package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers: [{name: migrate, image: shop/migrate}]
      containers: [{name: nginx, image: "nginx:1.22"}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`

const store = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: redis, namespace: shop}
spec:
  serviceName: redis
  selector: {matchLabels: {app: redis}}
  template:
    metadata: {labels: {app: redis}}
    spec: {containers: [{name: redis, image: "nginx:1.22"}]}
`

// read writes texts into files of a folder, and reads the folder.
func read(t *testing.T, texts ...string) ([]app.Manifest, error) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, string(rune('a'+i))+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return app.Read(app.Sources{Files: []string{dir}})
}

func TestAppKnowsWhatIsBehindAService(t *testing.T) {
	manifests, err := read(t, web, store)
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(manifests, "ignored, because an object names one")
	if err != nil {
		t.Fatal(err)
	}
	if a.Namespace != "shop" {
		t.Errorf("namespace %q, want that of the StatefulSet", a.Namespace)
	}
	var kinds []string
	for _, m := range a.Manifests {
		kinds = append(kinds, m.Object.GetKind()+" "+m.Object.GetNamespace())
	}
	if diff := cmp.Diff([]string{"Service shop", "Deployment shop", "StatefulSet shop"}, kinds); diff != "" {
		t.Errorf("order and namespaces (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"nginx:1.22", "shop/migrate"}, a.Images()); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	for host, known := range map[string]bool{
		"web": true, "web.shop": true, "web.shop.svc": true, "web.shop.svc.cluster.local": true,
		"web.other": false, "redis": false, "web.shop.example.com": false,
	} {
		if _, is := a.Service(host); is != known {
			t.Errorf("Service(%q) is known: %t, want %t", host, is, known)
		}
	}
	behind := a.Behind("web")
	if len(behind) != 1 || behind[0].Name != "web" || behind[0].Replicas != 3 || behind[0].Kind != "Deployment" {
		t.Errorf("behind Service web: %+v", behind)
	}
}

func TestWhatCannotBeTestedIsNamed(t *testing.T) {
	changed := func(old, with string) string { return strings.Replace(web, old, with, 1) }
	for name, test := range map[string]struct{ text, want string }{
		"a typo in a field":         {changed("replicas: 3", "replica: 3"), `unknown field "spec.replica"`},
		"a word for a number":       {changed("replicas: 3", "replicas: three"), "a.yaml): line 6: spec.replicas is a string, and must be a whole number"},
		"two namespaces":            {changed("{name: web}", "{name: web, namespace: other}") + "---" + store, "is in namespace"},
		"agents of the cluster":     {strings.ReplaceAll(agent, "metadata: {name: agent}", "metadata: {name: agent, namespace: kube-system}"), "belongs to the cluster itself"},
		"two of one name":           {web + "---\n" + strings.ReplaceAll(agent, "metadata: {name: agent}", "metadata: {name: web}"), "DaemonSet web has the name of a Deployment, and a record tells workloads apart"},
		"no workload":               {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", "there is nothing to test"},
		"a namespace of Kubernetes": {changed("{name: web}", "{name: web, namespace: kube-system}"), "belongs to the cluster itself"},
	} {
		t.Run(name, func(t *testing.T) {
			manifests, err := read(t, test.text)
			if err == nil {
				_, err = app.New(manifests, "")
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestBadFilesAreNamed(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"no YAML":    {"a: [", "a.yaml"},
		"one of two": {web + "---\na: [b\n", "a.yaml: near line 19: it is no YAML: "},
		"no kind":    {"metadata: {name: x}", "a.yaml"},
		"no name":    {"apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", "the ConfigMap has no metadata.name"},
		"empty file": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			manifests, err := read(t, test.text)
			if err == nil {
				_, err = app.New(manifests, "")
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
	if _, err := app.Read(app.Sources{Files: []string{"no/such/folder"}}); err == nil || !strings.Contains(err.Error(), "no/such/folder") {
		t.Errorf("a folder that does not exist: %v", err)
	}
}
