package appcheck_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/app/appcheck"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// plan is the cluster of a test: a worker in each of three zones, with two CPUs and 8 Gi each.
func plan(t *testing.T) appcheck.Plan {
	t.Helper()
	p := appcheck.PlanOf(clusters.Spec{Zones: []string{"a", "b", "c"}, Kubernetes: "v1.37.0"})
	for i := range p.Nodes {
		p.Nodes[i].Status.Allocatable = quantities(t, "2", "8Gi")
	}
	return p
}

// web is a Deployment whose pod spec, replicas and kind can be changed.
func web(spec string) string {
	return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      ` + spec + `
---
`
}

// container is a pod spec with one container and what is in it.
func container(more string) string { return "containers: [{name: c, image: i" + more + "}]" }

func object(apiVersion, kind, name, rest string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: " + name + "}\n" + rest + "\n---\n"
}

// read is an application of a text, and of what comes before it.
func read(t *testing.T, text, before string) app.App {
	t.Helper()
	var all []app.Manifest
	for name, content := range map[string]string{"app.yaml": text, "before.yaml": before} {
		if content == "" {
			continue
		}
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		manifests, err := app.Read(app.Sources{Files: []string{file}})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range manifests {
			m.Before = name == "before.yaml"
			all = append(all, m)
		}
	}
	a, err := app.New(all, "shop")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// found are the findings, without files and lines, stops and notes apart.
func found(findings appcheck.Findings) (stops, notes []string) {
	for _, f := range findings {
		text := f.String()
		from, to := strings.Index(text, " ("), strings.Index(text, "): ")
		text = text[:from] + text[to+1:]
		if f.Stops {
			stops = append(stops, text)
		} else {
			notes = append(notes, text)
		}
	}
	return stops, notes
}

const (
	secretNext  = ": add it to the manifests of the test, mark it optional, or let holdfast make one of random values with --secrets generate"
	podPath     = "Deployment web: spec.template.spec."
	operator    = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: operator, namespace: operators}\nspec: {selector: {matchLabels: {app: o}}, template: {metadata: {labels: {app: o}}, spec: {containers: [{name: c, image: i}]}}}\n---\n"
	account     = "serviceAccountName: maker, containers: [{name: c, image: i, args: [--secret-name=db]}]"
	certificate = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: c}\nspec: {secretName: db}\n---\n"
	fromDB      = `, env: [{name: A, valueFrom: {secretKeyRef: {name: db, key: password}}}]`
)

func TestWhatCannotWork(t *testing.T) {
	for name, test := range map[string]struct {
		text, before string
		stops, notes []string
	}{
		"nothing": {text: web(container(""))},

		"a Secret of nobody":              {text: web(container(fromDB)), stops: []string{podPath + "containers[0].env[0]: Secret db is created by nobody" + secretNext}},
		"an optional Secret":              {text: web(container(`, envFrom: [{secretRef: {name: db, optional: true}}]`))},
		"a Secret that is there":          {text: web(container(fromDB)) + object("v1", "Secret", "db", "stringData: {password: x}")},
		"a Secret in another place":       {text: web(container(fromDB)) + "apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: other}\nstringData: {password: x}\n", stops: []string{podPath + "containers[0].env[0]: Secret db is created by nobody" + secretNext}},
		"a Secret of an operator":         {text: web(container(fromDB)) + certificate, before: operator},
		"a Secret named after a resource": {text: web(container(strings.Replace(fromDB, "name: db", "name: c-ca", 1))) + certificate, before: operator},
		"a Secret named after a release": {
			text:   web(container(strings.Replace(fromDB, "name: db", "name: web-db", 1))) + strings.Replace(certificate, "{name: c}", "{name: web}", 1),
			before: operator, stops: []string{podPath + "containers[0].env[0]: Secret web-db is created by nobody" + secretNext},
		},
		"a Secret of a Job":           {text: web(container(fromDB)) + object("v1", "ServiceAccount", "maker", "") + object("batch/v1", "Job", "make", "spec: {template: {spec: {"+account+"}}}")},
		"a Secret of nobody's Job":    {text: web(container(fromDB)) + object("batch/v1", "Job", "make", "spec: {template: {spec: {"+strings.TrimPrefix(account, "serviceAccountName: maker, ")+"}}}"), stops: []string{podPath + "containers[0].env[0]: Secret db is created by nobody" + secretNext}},
		"accounts and claims":         {text: web("serviceAccountName: robot\n      volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]\n      " + container("")), stops: []string{podPath + "volumes[0]: PersistentVolumeClaim data is created by nobody: add it to the manifests of the test", podPath + "serviceAccountName: ServiceAccount robot is created by nobody: add it to the manifests of the test"}},
		"a claim template's volume":   {text: web(container("")) + object("apps/v1", "StatefulSet", "db", "spec: {selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: data}}], containers: [{name: c, image: i}]}}, volumeClaimTemplates: [{metadata: {name: data}, spec: {}}]}")},
		"another volume":              {text: web(container("")) + object("apps/v1", "StatefulSet", "db", "spec: {selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {volumes: [{name: old, persistentVolumeClaim: {claimName: data}}], containers: [{name: c, image: i}]}}, volumeClaimTemplates: [{metadata: {name: data}, spec: {}}]}"), stops: []string{"StatefulSet db: " + "spec.template.spec.volumes[0]: PersistentVolumeClaim data is created by nobody: add it to the manifests of the test"}},
		"volumes of ConfigMaps":       {text: web("volumes: [{name: v, projected: {sources: [{configMap: {name: kube-root-ca.crt}}, {configMap: {name: c}}]}}]\n      " + container("")), stops: []string{podPath + "volumes[0].projected.sources[1]: ConfigMap c is created by nobody: add it to the manifests of the test, or mark it optional"}},
		"classes of nobody":           {text: web("priorityClassName: high\n      runtimeClassName: gvisor\n      " + container("")), stops: []string{podPath + "priorityClassName: PriorityClass high is created by nobody: add the PriorityClass to the manifests of the test, or leave the field out", podPath + "runtimeClassName: RuntimeClass gvisor is created by nobody: add the RuntimeClass to the manifests of the test, or leave the field out"}},
		"the priority of the cluster": {text: web("priorityClassName: system-cluster-critical\n      " + container(""))},

		"a node of a cloud":       {text: web("nodeSelector: {cloud.google.com/gke-nodepool: big}\n      " + container("")), stops: []string{podPath + "nodeSelector: no node of the cluster has the labels cloud.google.com/gke-nodepool=big: leave it out of the manifests of the test, or ask for a label that they have: " + workerLabels}},
		"a node of another one":   {text: web("nodeName: ip-10-0-0-1\n      " + container("")), stops: []string{podPath + "nodeName: ip-10-0-0-1 is a node of another cluster: leave it out of the manifests of the test"}},
		"a zone that is there":    {text: web("nodeSelector: {topology.kubernetes.io/zone: b, kubernetes.io/os: linux}\n      " + container(""))},
		"the control plane":       {text: web("nodeSelector: {node-role.kubernetes.io/control-plane: \"\"}\n      " + container("")), stops: []string{podPath + "nodeSelector: no node of the cluster has the labels node-role.kubernetes.io/control-plane=: leave it out of the manifests of the test, or ask for a label that they have: " + workerLabels}},
		"the control plane's own": {text: web("tolerations: [{operator: Exists}]\n      nodeSelector: {node-role.kubernetes.io/control-plane: \"\"}\n      " + container(""))},
		"too many pods apart": {
			text:  strings.Replace(web(apart+container("")), "replicas: 3", "replicas: 4", 1),
			stops: []string{podPath + "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]: 4 pods each need a kubernetes.io/hostname of their own, and their nodes have 3: ask for at most 3 replicas in the manifests of the test"},
		},
		"as many pods apart as nodes": {text: web(apart + container(""))},
		"apart from others":           {text: strings.NewReplacer("replicas: 3", "replicas: 9", "{app: web}}, topologyKey", "{app: db}}, topologyKey").Replace(web(apart + container("")))},
		"spread over nothing":         {text: web("topologySpreadConstraints: [{topologyKey: rack, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]\n      " + container("")), stops: []string{podPath + "topologySpreadConstraints[0]: no node of the cluster has label rack: spread over topology.kubernetes.io/zone or kubernetes.io/hostname"}},

		"a GPU":                 {text: web(container(", resources: {limits: {nvidia.com/gpu: 1}}")), stops: []string{podPath + "containers[0].resources.limits.nvidia.com/gpu: container c needs nvidia.com/gpu, and no node has it: remove it from the manifests of the test"}},
		"no GPU":                {text: web(container(", resources: {limits: {nvidia.com/gpu: 0, amd.com/gpu: \"0\"}, requests: {nvidia.com/gpu: 0}}"))},
		"one GPU of two kinds":  {text: web(container(", resources: {limits: {nvidia.com/gpu: 0, amd.com/gpu: 1}}")), stops: []string{podPath + "containers[0].resources.limits.amd.com/gpu: container c needs amd.com/gpu, and no node has it: remove it from the manifests of the test"}},
		"a pod that is too big": {text: web(container(", resources: {limits: {cpu: 3}}")), stops: []string{podPath + "containers: a pod requests 3 of cpu, and this machine has 2: request less in the manifests of the test", podPath + "containers: all pods together request 9 of cpu, of which these request 9, and the 3 workers on this machine have 6: request less, or have fewer replicas, in the manifests of the test"}},
		"too many pods":         {text: strings.Replace(web(container(", resources: {requests: {memory: 7Gi}}")), "replicas: 3", "replicas: 4", 1), stops: []string{podPath + "containers: all pods together request 28.0 Gi of memory, of which these request 28.0 Gi, and the 3 workers on this machine have 24.0 Gi: request less, or have fewer replicas, in the manifests of the test"}},
		"enough":                {text: web(container(", resources: {requests: {cpu: 1500m, memory: 7Gi}}"))},

		"a kind of nobody":      {text: web(container("")) + certificate, stops: []string{"Certificate c: kind: no CustomResourceDefinition of the manifests defines Certificate.cert-manager.io: name the folder with its definition, and with the controller that makes something of it, with --before, or, if nothing needs it to serve, leave it out with --without Certificate"}},
		"a kind of its own":     {text: web(container("")) + certificate, before: object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "certificates", "spec: {group: cert-manager.io, names: {kind: Certificate}, scope: Namespaced}")},
		"a mistyped kind":       {text: web(container("")) + object("v1", "Servce", "web", ""), stops: []string{"Servce web: kind: there is no kind Servce in v1: correct apiVersion and kind"}},
		"a removed version":     {text: web(container("")) + object("policy/v1beta1", "PodDisruptionBudget", "web", ""), stops: []string{"PodDisruptionBudget web: apiVersion: Kubernetes v1.25 and newer do not know policy/v1beta1: use policy/v1"}},
		"a version of old":      {text: web(container("")) + object("autoscaling/v2beta2", "HorizontalPodAutoscaler", "web", ""), stops: []string{"HorizontalPodAutoscaler web: apiVersion: Kubernetes knows no HorizontalPodAutoscaler of autoscaling/v2beta2: use autoscaling/v2"}, notes: []string{"HorizontalPodAutoscaler web: nobody serves metrics, so that it does not scale: add metrics-server with --before to test with it"}},
		"a version of a chart":  {text: web(container("")) + object("v2", "Service", "web", ""), stops: []string{"Service web: apiVersion: Kubernetes knows no Service of v2: use v1"}},
		"a group of old":        {text: web(container("")) + object("extensions/v1", "Ingress", "web", ""), stops: []string{"Ingress web: kind: there is no kind Ingress in extensions/v1: correct apiVersion and kind"}},
		"another kind's group":  {text: web(container("")) + object("apps/v1", "Ingress", "web", ""), stops: []string{"Ingress web: kind: there is no kind Ingress in apps/v1: correct apiVersion and kind"}},
		"a name of the outside": {text: web(container("")) + object("v1", "Service", "db", "spec: {type: ExternalName, externalName: db.example.com}"), notes: []string{"Service db: spec.externalName: db.example.com is outside of the cluster, and not in reach: put something in its place if the application needs it to be ready"}},
		"a name of the cluster": {text: web(container("")) + object("v1", "Service", "db", "spec: {type: ExternalName, externalName: db.other.svc.cluster.local}")},
		"a webhook of nobody":   {text: web(container("")) + webhook(""), stops: []string{"ValidatingWebhookConfiguration w: webhooks[0].clientConfig.service: Service gate in namespace gate is created by nobody" + webhookNext}},
		"a webhook to ignore":   {text: web(container("")) + webhook(", failurePolicy: Ignore"), notes: []string{"ValidatingWebhookConfiguration w: webhooks[0].clientConfig.service: Service gate in namespace gate is created by nobody" + webhookNext}},
		"a webhook with server": {text: web(container("")) + webhook(""), before: "apiVersion: v1\nkind: Service\nmetadata: {name: gate, namespace: gate}\n"},
		"an API of nobody":      {text: web(container("")) + object("apiregistration.k8s.io/v1", "APIService", "v1.x", "spec: {group: x, service: {name: gate, namespace: gate}}"), stops: []string{"APIService v1.x: spec.service: Service gate in namespace gate is created by nobody" + webhookNext}},
		"a disk of a cloud":     {text: web("volumes: [{name: v, awsElasticBlockStore: {volumeID: v}}]\n      " + container("")), stops: []string{podPath + "volumes[0].awsElasticBlockStore: a volume of this kind is outside of the cluster, and not in reach" + volumeNext}},
		"a driver of nobody":    {text: web("volumes: [{name: v, csi: {driver: secrets-store.csi.k8s.io}}]\n      " + container("")), stops: []string{podPath + "volumes[0].csi.driver: CSI driver secrets-store.csi.k8s.io is brought by nobody" + volumeNext + ", or add the driver with --before"}},
		"a driver that is told": {text: web("volumes: [{name: v, csi: {driver: disks.org}}]\n      " + container("")), before: strings.Replace(operator, "image: i", "image: i, args: [--registration=/plugins/disks.org/csi.sock]", 1)},
		"a class of a cloud":    {text: web(container("")) + object("v1", "PersistentVolumeClaim", "data", "spec: {storageClassName: gp3}"), stops: []string{"PersistentVolumeClaim data: it asks for a volume of StorageClass gp3, which is created by nobody: name no class in the manifests of the test, or class standard"}},
		"the class of kind":     {text: web(container("")) + object("v1", "PersistentVolumeClaim", "data", "spec: {storageClassName: standard}")},
		"an autoscaler":         {text: web(container("")) + object("autoscaling/v2", "HorizontalPodAutoscaler", "web", ""), notes: []string{"HorizontalPodAutoscaler web: nobody serves metrics, so that it does not scale: add metrics-server with --before to test with it"}},
		"a missing key":         {text: web(container(fromDB)) + object("v1", "Secret", "db", "stringData: {passwort: x}"), stops: []string{podPath + "containers[0].env[0]: Secret db (FILE) has no key password: add the key, or mark the reference optional"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := read(t, test.text, test.before)
			stops, notes := found(appcheck.Check(a, plan(t)))
			for i := range stops {
				stops[i] = withoutFile(stops[i])
			}
			if diff := cmp.Diff(test.stops, stops); diff != "" {
				t.Errorf("what stops the application (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.notes, notes); diff != "" {
				t.Errorf("what is noted (-want +got):\n%s", diff)
			}
		})
	}
}

const (
	workerLabels = "holdfast.dev/role=worker, kubernetes.io/arch=" + runtime.GOARCH + ", kubernetes.io/os=linux, topology.kubernetes.io/zone=a|b|c"
	apart        = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname}]}}\n      "
	webhookNext  = ": add what serves it with --before, or leave the object out of the manifests of the test"
	volumeNext   = ": put an emptyDir or a PersistentVolumeClaim in its place in the manifests of the test"
)

func webhook(more string) string {
	return object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "w", "webhooks: [{name: w, clientConfig: {service: {name: gate, namespace: gate}}"+more+"}]")
}

// What the cluster may have although nobody here creates it is not refused.
func TestAClusterThatIsThereMayHaveMore(t *testing.T) {
	p := plan(t)
	p.Existing = true
	text := web("priorityClassName: high\n      volumes: [{name: v, csi: {driver: disks.org}}]\n      "+container("")) + certificate + webhook("") +
		object("v1", "PersistentVolumeClaim", "data", "spec: {storageClassName: gp3}")
	if stops, _ := found(appcheck.Check(read(t, text, ""), p)); stops != nil {
		t.Errorf("stops %q", stops)
	}
}

// A chart may choose a removed version because of what Helm knows by itself, which cannot be taken from it.
func TestARemovedVersionOfAChart(t *testing.T) {
	for chart, want := range map[string]string{"": ": use policy/v1", "abc": "use policy/v1 by a value of the chart, if it has one: Helm tells"} {
		a := read(t, web(container(""))+object("policy/v1beta1", "PodDisruptionBudget", "web", ""), "")
		for i := range a.Manifests {
			a.Manifests[i].Chart = chart
		}
		if err := appcheck.Check(a, plan(t)).Err(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Helm") != (chart != "") {
			t.Errorf("chart %q: %v", chart, err)
		}
	}
}

// One error lists all, each with its line.
func TestOneListWithEveryFinding(t *testing.T) {
	a := read(t, web("nodeName: node-1\n      "+container(fromDB))+object("policy/v1beta1", "PodDisruptionBudget", "web", ""), "")
	err := appcheck.Check(a, plan(t)).Err()
	if err == nil || !strings.HasPrefix(err.Error(), "the application cannot work on the cluster of the test, for 3 reasons:\n  ") ||
		!strings.Contains(err.Error(), "app.yaml:11): spec.template.spec.nodeName: ") || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("got %v", err)
	}
	if err := appcheck.Check(read(t, web(container("")), ""), plan(t)).Err(); err != nil {
		t.Errorf("nothing is wrong, and it says %v", err)
	}
}

// The Secrets that are made have what pods refer to, and nothing is refused with them.
func TestSecretsAreGenerated(t *testing.T) {
	text := web(`volumes: [{name: tls, secret: {secretName: tls, items: [{key: tls.crt, path: a}]}}]
      containers: [{name: c, image: i, envFrom: [{secretRef: {name: all}}], env: [
        {name: A, valueFrom: {secretKeyRef: {name: db, key: user}}}, {name: B, valueFrom: {secretKeyRef: {name: db, key: password}}},
        {name: C, valueFrom: {secretKeyRef: {name: maybe, key: x, optional: true}}}, {name: D, valueFrom: {secretKeyRef: {name: there, key: x}}}]}]`) +
		object("v1", "Secret", "there", "stringData: {x: 'y'}")
	a := read(t, text, "")
	made, gaps := appcheck.Generate(a)
	keys := map[string][]string{}
	values := map[string]bool{}
	for _, m := range made {
		data, _ := m.Object.Object["stringData"].(map[string]any)
		keys[m.Object.GetNamespace()+"/"+m.Object.GetName()] = nil
		for _, key := range []string{"password", "tls.crt", "user", "x"} {
			if value, has := data[key].(string); has {
				keys[m.Object.GetNamespace()+"/"+m.Object.GetName()] = append(keys[m.Object.GetNamespace()+"/"+m.Object.GetName()], key)
				if values[value] = true; len(value) < 20 {
					t.Errorf("%s has the value %q", m, value)
				}
			}
		}
	}
	if diff := cmp.Diff(map[string][]string{"shop/db": {"password", "user"}, "shop/tls": {"tls.crt"}, "shop/all": nil}, keys); diff != "" || len(values) != 3 {
		t.Errorf("%d values; keys (-want +got):\n%s", len(values), diff)
	}
	if len(gaps) != 2 || !strings.Contains(gaps[0], "Secret all is generated with no key. Deployment web") || !strings.Contains(gaps[1], "Secret tls is generated with random text as tls.crt") {
		t.Errorf("gaps %q", gaps)
	}
	if err := appcheck.Check(a.With(made), plan(t)).Err(); err != nil {
		t.Errorf("with them: %v", err)
	}
}
