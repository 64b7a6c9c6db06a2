package manifests_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/app/manifests"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// plan is the cluster of a test: a worker in each of three zones.
func plan() manifests.Plan {
	return manifests.PlanOf(clusters.Spec{Zones: []string{"a", "b", "c"}, Kubernetes: "v1.37.0"})
}

// web is a Deployment with a pod spec.
func web(spec string) string {
	return object("apps/v1", "Deployment", "web", "spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {"+spec+"}}}")
}

// container is a pod spec with one container and what is in it.
func container(more string) string { return "containers: [{name: c, image: i" + more + "}]" }

func object(apiVersion, kind, name, rest string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: " + name + "}\n" + rest + "\n---\n"
}

// read is an application of a text, and of what comes before it.
func read(t *testing.T, text, before string) app.App {
	t.Helper()
	all, err := app.Decode(strings.NewReader(before), "before.yaml")
	for i := range all {
		all[i].Before = true
	}
	own, ownErr := app.Decode(strings.NewReader(text), "app.yaml")
	if before == "" {
		all, err = nil, nil
	}
	if err != nil || ownErr != nil {
		t.Fatal(err, ownErr)
	}
	a, err := app.New(append(all, own...), "shop")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// lines are findings, each in a line.
func lines(all manifests.Findings) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%s %s\n", map[bool]string{true: "stops"}[f.Stops]+map[bool]string{false: "notes"}[f.Stops], f)
	}
	return b.String()
}

// golden compares what was found in some cases with a file.
func golden(t *testing.T, name string, got map[string]string) {
	t.Helper()
	var b strings.Builder
	keys := make([]string, 0, len(got))
	for key := range got {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		b.WriteString("# " + key + "\n" + got[key] + "\n")
	}
	file := filepath.Join("testdata", name)
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

const (
	operator    = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: operator, namespace: operators}\nspec: {selector: {matchLabels: {app: o}}, template: {metadata: {labels: {app: o}}, spec: {containers: [{name: c, image: i}]}}}\n---\n"
	certificate = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: c}\nspec: {secretName: db}\n---\n"
	fromDB      = `, env: [{name: A, valueFrom: {secretKeyRef: {name: db, key: password}}}]`
	set         = "spec: {selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {volumes: [{name: VOLUME, persistentVolumeClaim: {claimName: data}}], containers: [{name: c, image: i}]}}, volumeClaimTemplates: [{metadata: {name: data}, spec: {}}]}"
)

func TestWhatCannotWork(t *testing.T) {
	plain, db, secretDB := web(container("")), web(container(fromDB)), object("v1", "Secret", "db", "stringData: {password: x}")
	named := func(name string) string { return strings.Replace(db, "name: db", "name: "+name, 1) }
	role := func(kind, rule string) string {
		return object("rbac.authorization.k8s.io/v1", kind, "makes", "rules: [{"+rule+"}]")
	}
	claim := func(class string) string {
		return object("v1", "PersistentVolumeClaim", "data", "spec: {storageClassName: "+class+"}")
	}
	got := map[string]string{}
	for name, test := range map[string]struct{ text, before string }{
		"nothing": {plain, ""},

		"secret: absent":                      {db, ""},
		"secret: optional":                    {web(container(`, envFrom: [{secretRef: {name: db, optional: true}}]`)), ""},
		"secret: there":                       {db + secretDB, ""},
		"secret: of another namespace":        {db + "apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: other}\nstringData: {password: x}\n", ""},
		"secret: of a custom resource":        {db + certificate, operator},
		"secret: named after a resource":      {named("c-ca") + certificate, operator},
		"secret: named after a release":       {named("web-db") + strings.Replace(certificate, "{name: c}", "{name: web}", 1), operator},
		"secret: a Role may create it":        {db + role("Role", "apiGroups: [''], resources: [secrets], verbs: [get, create]"), ""},
		"secret: a ClusterRole may do all":    {db + role("ClusterRole", "apiGroups: ['*'], resources: ['*'], verbs: ['*']"), ""},
		"secret: a role of each cluster may":  {db + object("rbac.authorization.k8s.io/v1", "RoleBinding", "b", "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}"), ""},
		"secret: a Role may read it":          {db + role("Role", "apiGroups: [''], resources: [secrets], verbs: [get, list]"), ""},
		"secret: a Role may create others":    {db + role("Role", "apiGroups: [''], resources: [configmaps], verbs: [create]"), ""},
		"secret: without the key":             {db + object("v1", "Secret", "db", "stringData: {passwort: x}"), ""},
		"accounts and claims":                 {web("serviceAccountName: robot, volumes: [{name: v, persistentVolumeClaim: {claimName: data}}], " + container("")), ""},
		"claim: of a template":                {plain + object("apps/v1", "StatefulSet", "db", strings.Replace(set, "VOLUME", "data", 1)), ""},
		"claim: another volume":               {plain + object("apps/v1", "StatefulSet", "db", strings.Replace(set, "VOLUME", "old", 1)), ""},
		"claim: made of a template":           {web("volumes: [{name: v, persistentVolumeClaim: {claimName: data-db-0}}], "+container("")) + object("apps/v1", "StatefulSet", "db", strings.Replace(set, "VOLUME", "data", 1)), ""},
		"claim: a class of a cloud":           {plain + claim("gp3"), ""},
		"claim: the class of kind":            {plain + claim("standard"), ""},
		"claim: a provisioner of a cloud":     {plain + claim("fast") + object("storage.k8s.io/v1", "StorageClass", "fast", "provisioner: ebs.csi.aws.com"), ""},
		"ConfigMaps of volumes":               {web("volumes: [{name: v, projected: {sources: [{configMap: {name: kube-root-ca.crt}}, {configMap: {name: c}}]}}], " + container("")), ""},
		"classes":                             {web("priorityClassName: high, runtimeClassName: gvisor, " + container("")), ""},
		"the priority of the cluster":         {web("priorityClassName: system-cluster-critical, " + container("")), ""},
		"node: a label of a cloud":            {web("nodeSelector: {cloud.google.com/gke-nodepool: big}, " + container("")), ""},
		"node: an affinity":                   {web("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: gpu, operator: Exists}]}]}}}, " + container("")), ""},
		"node: of another cluster":            {web("nodeName: ip-10-0-0-1, " + container("")), ""},
		"node: a zone that is there":          {web("nodeSelector: {topology.kubernetes.io/zone: b, kubernetes.io/os: linux}, " + container("")), ""},
		"node: the control plane":             {web("nodeSelector: {node-role.kubernetes.io/control-plane: ''}, " + container("")), ""},
		"node: the control plane's own":       {web("tolerations: [{operator: Exists}], nodeSelector: {node-role.kubernetes.io/control-plane: ''}, " + container("")), ""},
		"node: no pods":                       {plain + object("apps/v1", "ReplicaSet", "r", "spec: {replicas: 0, template: {spec: {nodeSelector: {gpu: big}, "+container("")+"}}}"), ""},
		"device: a GPU":                       {web(container(", resources: {limits: {nvidia.com/gpu: 1}}")), ""},
		"device: none":                        {web(container(`, resources: {limits: {nvidia.com/gpu: 0, amd.com/gpu: "0"}}`)), ""},
		"kind: undefined":                     {plain + certificate, ""},
		"kind: defined":                       {plain + certificate, object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "certificates", "spec: {group: cert-manager.io, names: {kind: Certificate}, scope: Namespaced}")},
		"kind: mistyped":                      {plain + object("v1", "Servce", "web", ""), ""},
		"kind: a removed version":             {plain + object("policy/v1beta1", "PodDisruptionBudget", "web", ""), ""},
		"kind: another kind's group":          {plain + object("apps/v1", "Ingress", "web", ""), ""},
		"driver: absent":                      {web("volumes: [{name: v, csi: {driver: secrets-store.csi.k8s.io}}], " + container("")), ""},
		"driver: brought":                     {web("volumes: [{name: v, csi: {driver: disks.org}}], " + container("")), object("storage.k8s.io/v1", "CSIDriver", "disks.org", "")},
		"Service: a name of the outside":      {plain + object("v1", "Service", "db", "spec: {type: ExternalName, externalName: db.example.com}"), ""},
		"Service: a name of the cluster":      {plain + object("v1", "Service", "db", "spec: {type: ExternalName, externalName: db.other.svc.cluster.local}"), ""},
		"autoscaler without metrics":          {plain + object("autoscaling/v2", "HorizontalPodAutoscaler", "web", ""), ""},
		"a Deployment that is paused":         {strings.Replace(plain, "replicas: 3", "replicas: 3, paused: true", 1), ""},
		"three reasons, each with its line":   {strings.Replace(db, "spec: {containers", "spec: {nodeName: node-1, containers", 1) + object("policy/v1beta1", "PodDisruptionBudget", "web", ""), ""},
		"host: a volume of a folder":          {plain + object("v1", "PersistentVolume", "x", "spec: {hostPath: {path: /}}"), ""},
		"host: a class of folders":            {plain + object("storage.k8s.io/v1", "StorageClass", "x", "provisioner: rancher.io/local-path\nparameters: {pathPattern: ../../etc}"), ""},
		"host: a class without folders":       {plain + object("storage.k8s.io/v1", "StorageClass", "x", "provisioner: rancher.io/local-path"), ""},
		"host: an operator in another place":  {plain, operator},
		"host: a binding in kube-system":      {plain + "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: x, namespace: kube-system}\n", ""},
		"host: a disk of a node, from before": {plain, object("v1", "PersistentVolume", "x", "spec: {local: {path: /etc}}")},
	} {
		got[name] = lines(manifests.Check(read(t, test.text, test.before), plan()))
	}
	golden(t, "findings.txt", got)
}

// What is root on a node is root on this machine. Where Pod Security does not stop that, the check does, unless the file trusts the application.
func TestNoWayToTheRootOfANode(t *testing.T) {
	const (
		pod      = "{containers: [{name: c, image: i}], volumes: [{name: root, hostPath: {path: /}}]}"
		template = "selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: " + pod + "}"
	)
	in := func(apiVersion, kind, spec string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: x, namespace: kube-system}\nspec: {" + spec + "}\n---\n"
	}
	for name, test := range map[string]struct{ text, before string }{
		"a DaemonSet":             {in("apps/v1", "DaemonSet", template), ""},
		"a Pod":                   {in("v1", "Pod", strings.Trim(pod, "{}")), ""},
		"a Job":                   {in("batch/v1", "Job", template), ""},
		"a CronJob":               {in("batch/v1", "CronJob", "jobTemplate: {spec: {"+template+"}}"), ""},
		"a ReplicaSet":            {in("apps/v1", "ReplicaSet", template), ""},
		"a ReplicationController": {in("v1", "ReplicationController", strings.Replace(template, "matchLabels: {app: x}", "app: x", 1)), ""},
		"an operator":             {"", in("apps/v1", "Deployment", template)},
		"a hook":                  {strings.Replace(in("batch/v1", "Job", template), "{name: x,", `{name: x, annotations: {helm.sh/hook: pre-install},`, 1), ""},
		"a disk of a node":        {"", object("v1", "PersistentVolume", "x", "spec: {local: {path: /etc}}")},
	} {
		a := read(t, web(container(""))+test.text, test.before)
		if err := manifests.Check(a, plan()).Err(); err == nil || !strings.Contains(err.Error(), "for 1 reason:") || !strings.HasSuffix(err.Error(), "say app: {privileged: true} in its file") {
			t.Errorf("%s: %v", name, err)
		}
		a.Privileged = true
		if err := manifests.Check(a, plan()).Err(); err != nil {
			t.Errorf("%s: it is trusted, and yet: %v", name, err)
		}
	}
}

// What the cluster may have although no manifest creates it is not refused.
func TestAClusterThatIsThereMayHaveMore(t *testing.T) {
	p := plan()
	p.Existing = true
	text := web("priorityClassName: high, volumes: [{name: v, csi: {driver: disks.org}}], "+container("")) + certificate +
		object("v1", "PersistentVolumeClaim", "data", "spec: {storageClassName: gp3}")
	if err := manifests.Check(read(t, text, ""), p).Err(); err != nil {
		t.Error(err)
	}
}

// A chart may choose a removed version because of what Helm knows by itself, which cannot be taken from it.
func TestARemovedVersionOfAChart(t *testing.T) {
	a := read(t, web(container(""))+object("policy/v1beta1", "PodDisruptionBudget", "web", ""), "")
	for i := range a.Manifests {
		a.Manifests[i].Chart = "abc"
	}
	if err := manifests.Check(a, plan()).Err(); err == nil || !strings.Contains(err.Error(), "use policy/v1 by a value of the chart, if it has one: Helm tells") {
		t.Error(err)
	}
}

// What a Service says and the requests cannot meet is noted, and what lets no request through is refused. Of a Service that is not asked, the
// application's own pods may meet all of it.
func TestWhatRequestsDoNotMeet(t *testing.T) {
	got := map[string]string{}
	for what, asked := range map[string]manifests.Way{
		"at its cluster IP": manifests.AtClusterIP, "as an entry": manifests.AtEntry, "at its balancer": manifests.AtBalancer, "at its node ports": manifests.AtNodePorts,
		"in two ways": manifests.AtClusterIP | manifests.AtNodePorts, "not": 0,
	} {
		for _, spec := range []string{
			"ports: [{port: 80}]", "type: ClusterIP, sessionAffinity: None, internalTrafficPolicy: Cluster", "type: NodePort, externalTrafficPolicy: Cluster",
			"type: NodePort, externalTrafficPolicy: Local", "type: LoadBalancer, externalTrafficPolicy: Local", "sessionAffinity: ClientIP",
			"trafficDistribution: PreferClose", "internalTrafficPolicy: Local",
		} {
			p := plan()
			p.Asked = map[string]manifests.Way{"shop/web": asked, "other/web": manifests.AtClusterIP}
			if said := lines(manifests.Check(read(t, web(container(""))+object("v1", "Service", "web", "spec: {"+spec+"}"), ""), p)); said != "" {
				got["asked "+what+": "+spec] = said
			}
		}
	}
	golden(t, "traffic.txt", got)
}

// The Secrets that are made have what pods refer to, and nothing is refused with them.
func TestSecretsAreGenerated(t *testing.T) {
	a := read(t, web(`volumes: [{name: tls, secret: {secretName: tls, items: [{key: tls.crt, path: a}]}}], containers: [{name: c, image: i, envFrom: [{secretRef: {name: all}}], env: [
        {name: A, valueFrom: {secretKeyRef: {name: db, key: user}}}, {name: B, valueFrom: {secretKeyRef: {name: db, key: password}}},
        {name: C, valueFrom: {secretKeyRef: {name: maybe, key: x, optional: true}}}, {name: D, valueFrom: {secretKeyRef: {name: there, key: x}}}]}]`)+
		object("v1", "Secret", "there", "stringData: {x: 'y'}"), "")
	with, gaps := manifests.Generate(a)
	made := slices.DeleteFunc(with.All(), func(m app.Manifest) bool { return m.Source != manifests.Generated })
	var got []string
	for _, m := range made {
		data, _ := m.Object.Object["stringData"].(map[string]any)
		for key, value := range data {
			got = append(got, m.Object.GetName()+" "+key)
			if text, _ := value.(string); len(text) < 20 {
				t.Errorf("%s has the value %q", m, text)
			}
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"db password", "db user", "tls tls.crt"}, got); diff != "" || len(made) != 3 || made[0].Object.GetNamespace() != "shop" {
		t.Errorf("%d Secrets; keys (-want +got):\n%s", len(made), diff)
	}
	if len(gaps) != 2 || !strings.Contains(gaps[0], "Secret all is generated with no key. Deployment web") || !strings.Contains(gaps[1], "Secret tls is generated with random text as tls.crt") {
		t.Errorf("gaps %q", gaps)
	}
	if err := manifests.Check(with, plan()).Err(); err != nil {
		t.Errorf("with them: %v", err)
	}
}

// Of the applications of suites/apps, which are known to work, nothing is refused.
func TestApplicationsThatWorkAreNotRefused(t *testing.T) {
	folders, err := filepath.Glob("../../../suites/apps/*/k8s")
	if err != nil || len(folders) < 4 {
		t.Fatalf("%d applications, %v", len(folders), err)
	}
	for _, folder := range folders {
		all, err := app.Read(app.Sources{Files: []string{folder}})
		if err != nil {
			t.Fatal(err)
		}
		a, err := app.New(all, "")
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		for _, f := range manifests.Check(a, plan()) {
			if f.Stops {
				t.Errorf("%s: %s", folder, f)
			}
		}
	}
}

// However a file is broken, no message shows what is in it: not of those that read it, that make the application of it, and that check it.
func TestNoMessageShowsWhatIsInAFile(t *testing.T) {
	const secret = "hunter2"
	whole := object("v1", "Secret", "db", "stringData:\n  p: "+secret+"\n  q: \""+secret+"\"\n  r: '"+secret+"'\ntype: Opaque") +
		web(`nodeSelector: {disk: "ssd"}, `+strings.Replace(container(fromDB), "image", "args: [--password="+secret+"], image", 1)) +
		object("apps/v1", "StatefulSet", "s", "spec:\n  selector: {matchLabels: {app: 's'}}\n  template:\n    metadata: {labels: {app: \"s\"}}\n    spec:\n      serviceAccountName: \"s\"\n      containers: [{name: \"c\", image: 'i', env: [{name: P, value: "+secret+"}]}]\n")
	random, signs := rand.New(rand.NewPCG(1, 2)), "{}[]:,&*!|>'\"%@?-# \n\t\x00"
	after := map[string]int{}
	for range 1500 {
		text := []byte(whole)
		for range 1 + random.IntN(3) {
			at := random.IntN(len(text))
			if !strings.ContainsRune(secret, rune(text[at])) { // or else it would be another word
				text[at] = signs[random.IntN(len(signs))]
			}
		}
		all, err := app.Decode(strings.NewReader(string(text)), "db.yaml")
		said, step := fmt.Sprint(err), "reading"
		if err == nil {
			a, err := app.New(all, "shop")
			said, step = fmt.Sprint(err, a.Notes, a.Images()), "making"
			if err == nil {
				said, step = said+fmt.Sprint(manifests.Check(a, plan())), "checking"
			}
		}
		if after[step]++; strings.Contains(said, secret) {
			t.Fatalf("%s: %s\n%s", step, said, text)
		}
	}
	if after["reading"] < 300 || after["making"] < 50 || after["checking"] < 200 {
		t.Errorf("how far 1,500 got: %v", after)
	}
}
