package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

const named = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"image":"never.example/seen:1"}'}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, version: v1}}
    spec:
      initContainers: [{name: migrate, image: shop/migrate}]
      containers:
        - name: web
          image: %s
          command: [serve, --proxy=proxy.example/envoy:v1, "--sidecar-image", nothing]
          env:
            - {name: RELATED_IMAGE_AGENT, value: agent}
            - {name: SIDECAR, value: "image of the sidecar"}
            - {name: BACKEND, value: "redis:6379"}
            - {name: DATABASE, value: "postgres://db:5432/shop"}
      volumes: [{name: model, image: {reference: models/small:1}}]
---
apiVersion: db.example/v1
kind: Database
metadata: {name: db, labels: {image: label.example/never:1}}
spec: {imageName: registry.example:5000/postgres:16, replicas: 3, sidecars: [{image: exporter}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: injector}
data:
  values.yaml: |
    containers:
    - image: "mesh.example/proxy@%s"   # https://mesh.example/doc:1
      port: 80
  values.json: '{"image": "logs", "url": "http://logs:9000"}'
  words: the image is small, see apps/v1
---
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {image: secret.example/never:1}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: databases.db.example}
spec: {description: "such as registry.example/postgres:16"}
`

func TestReferencesAreFoundInEveryField(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	manifests, err := read(t, fmt.Sprintf(named, "nginx:1.25@"+digest, digest))
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(manifests, "")
	if err != nil {
		t.Fatal(err)
	}
	uses := map[app.Use]string{app.InPod: "pod", app.Named: "named", app.Possible: "possible"}
	got := map[string]string{}
	for _, r := range a.References() {
		object, field, _ := strings.Cut(r.Where, "): ")
		if !strings.Contains(object, "a.yaml:") {
			t.Errorf("%s: %s names no line", r.Image, r.Where)
		}
		object, _, _ = strings.Cut(object, " (")
		got[r.Image] = fmt.Sprintf("%s: %s: %s", uses[r.Use], object, field)
	}
	const spec = "Deployment web: spec.template.spec."
	want := map[string]string{
		"nginx:1.25@" + digest:              "pod: " + spec + "containers[0].image",
		"shop/migrate":                      "pod: " + spec + "initContainers[0].image",
		"models/small:1":                    "pod: " + spec + "volumes[0].image.reference",
		"proxy.example/envoy:v1":            "named: " + spec + "containers[0].command[1]",
		"agent":                             "named: " + spec + "containers[0].env[0].value",
		"redis:6379":                        "possible: " + spec + "containers[0].env[2].value",
		"registry.example:5000/postgres:16": "named: Database db: spec.imageName",
		"exporter":                          "named: Database db: spec.sidecars[0].image",
		"mesh.example/proxy@" + digest:      "named: ConfigMap injector: data.values.yaml",
		"logs":                              "named: ConfigMap injector: data.values.json",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
