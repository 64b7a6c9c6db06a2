package appcheck_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/appcheck"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// What the API server refuses for its name or its selector is found before there is a cluster, and what it takes is not.
func TestWhatTheAPIServerWouldRefuse(t *testing.T) {
	const nameNext, selectorNext = ": rename it in the manifests of the test", ": have the labels of the pod template in spec.selector.matchLabels"
	workload := func(kind, selector string) string {
		return object("apps/v1", kind, "db", "spec: {"+selector+"template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: i}]}}}")
	}
	for name, test := range map[string]struct {
		text  string
		stops []string
	}{
		"capitals":               {object("v1", "ConfigMap", "Shop_1", ""), []string{"ConfigMap Shop_1: metadata.name: Kubernetes takes no such name: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character" + nameNext}},
		"a dot in a Service":     {object("v1", "Service", "shop.v1", ""), []string{"Service shop.v1: metadata.name: Kubernetes takes no such name: must not contain dots" + nameNext}},
		"a dot elsewhere":        {object("v1", "ConfigMap", "shop.v1", ""), nil},
		"a Role of a system":     {object("rbac.authorization.k8s.io/v1", "Role", "system:Shop_1", ""), nil},
		"a Role with a slash":    {object("rbac.authorization.k8s.io/v1", "Role", "a/b", ""), []string{"Role a/b: metadata.name: Kubernetes takes no such name: may not contain '/'" + nameNext}},
		"a Role of a folder":     {object("rbac.authorization.k8s.io/v1", "Role", "'..'", ""), []string{"Role ..: metadata.name: Kubernetes takes no such name: may not be '..'" + nameNext}},
		"another selector":       {workload("StatefulSet", "selector: {matchLabels: {app: other}}, "), []string{`StatefulSet db: spec.selector: it does not select the pods of its template, which have the labels "app=db"` + selectorNext}},
		"no selector":            {workload("DaemonSet", ""), []string{"DaemonSet db: spec: it has no selector" + selectorNext}},
		"a selector of nothing":  {workload("Deployment", "selector: {}, "), []string{"Deployment db: spec: it has no selector" + selectorNext}},
		"no such operator":       {workload("Deployment", "selector: {matchExpressions: [{key: app, operator: Is, values: [db]}]}, "), []string{"Deployment db: spec.selector: an operator in it is not known, or has other values than it needs" + selectorNext}},
		"by an expression":       {workload("Deployment", "selector: {matchExpressions: [{key: app, operator: In, values: [db, x]}]}, "), nil},
		"fewer than no replicas": {object("apps/v1", "StatefulSet", "db", "spec: {replicas: -1, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: i}]}}}"), []string{"StatefulSet db: spec.replicas: there cannot be -1: have 0 or more"}},
		"no such port of a pod":  {object("batch/v1", "Job", "db", "spec: {template: {spec: {containers: [{name: c, image: i, ports: [{containerPort: 80}, {containerPort: 99999}]}]}}}"), []string{"Job db: spec.template.spec.containers[0].ports[1]: there is no port 99999: have one from 1 to 65535"}},
		"a probe in two ways":    {object("batch/v1", "Job", "db", "spec: {template: {spec: {containers: [{name: c, image: i, livenessProbe: {httpGet: {port: 1}, tcpSocket: {port: 1}}}]}}}"), []string{`Job db: spec.template.spec.containers[0]: a probe of container "c" asks in no way, or in several: have one of exec, grpc, httpGet and tcpSocket`}},
		"a probe in no way":      {object("batch/v1", "Job", "db", "spec: {template: {spec: {containers: [{name: c, image: i, startupProbe: {periodSeconds: 1}, readinessProbe: {exec: {command: [x]}}}]}}}"), []string{`Job db: spec.template.spec.containers[0]: a probe of container "c" asks in no way, or in several: have one of exec, grpc, httpGet and tcpSocket`}},
		"no such port":           {object("v1", "Service", "db", "spec: {ports: [{port: 0}]}"), []string{"Service db: spec.ports[0]: Kubernetes takes no such port: give it a number from 1 to 65535, and, beside others, a name"}},
		"a port without a name":  {object("v1", "Service", "db", "spec: {ports: [{port: 80, name: a}, {port: 81}]}"), []string{"Service db: spec.ports[1]: Kubernetes takes no such port: give it a number from 1 to 65535, and, beside others, a name"}},
		"one port without":       {object("v1", "Service", "db", "spec: {ports: [{port: 80}]}"), nil},
		"no image":               {object("batch/v1", "Job", "db", "spec: {template: {spec: {initContainers: [{name: i, image: ''}], containers: [{name: c}]}}}"), []string{`Job db: spec.template.spec.initContainers[0]: container "i" has no image: name the image that it runs`, `Job db: spec.template.spec.containers[0]: container "c" has no image: name the image that it runs`}},
		"a Job, which has none":  {object("batch/v1", "Job", "db", "spec: {template: {spec: {containers: [{name: c, image: i}]}}}"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			stops, _ := found(appcheck.Check(read(t, web(container(""))+test.text, ""), plan(t)))
			for i := range stops {
				stops[i] = withoutFile(stops[i])
			}
			if diff := cmp.Diff(test.stops, stops); diff != "" {
				t.Errorf("what stops the application (-want +got):\n%s", diff)
			}
		})
	}
}

// However a file is broken, no message shows what is in it: not of those that read it, that make the application of it, and that check it.
func TestNoMessageShowsWhatIsInAFile(t *testing.T) {
	const secret = "hunter2"
	whole := object("v1", "Secret", "db", "stringData:\n  p: "+secret+"\n  q: \""+secret+"\"\n  r: '"+secret+"'\ntype: Opaque") +
		web(`nodeSelector: {disk: "ssd"}`+"\n      "+strings.Replace(container(fromDB), "image", "args: [--password="+secret+"], image", 1)) +
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
		manifests, err := app.Decode(strings.NewReader(string(text)), "db.yaml")
		said, step := fmt.Sprint(err), "reading"
		if err == nil {
			a, err := app.New(manifests, "shop")
			said, step = fmt.Sprint(err, a.Notes, a.Images()), "making"
			if err == nil {
				said, step = said+fmt.Sprint(appcheck.Check(a, plan(t))), "checking"
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

// An absent Secret is noted where pods may create it without being told its name, and stops the application where they may not.
func TestSecretsThatPodsMayMake(t *testing.T) {
	const account = "serviceAccountName: maker\n      initContainers: [{name: make, image: i, command: [make]}]\n      "
	role := func(kind, rule string) string {
		return object("rbac.authorization.k8s.io/v1", kind, "makes", "rules: [{"+rule+"}]")
	}
	bind := func(kind, role, subject string) string {
		return object("rbac.authorization.k8s.io/v1", kind, "makes", "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: "+role+"}\nsubjects: [{kind: ServiceAccount, name: "+subject+"}]")
	}
	in := func(text string) string {
		return strings.Replace(text, "{name: makes}", "{name: makes, namespace: other}", 1)
	}
	const all = "apiGroups: [''], resources: [secrets], verbs: [get, create]"
	for name, test := range map[string]struct {
		text string
		may  bool
	}{
		"a Role":                       {role("Role", all) + bind("RoleBinding", "Role, name: makes", "maker"), true},
		"a ClusterRole, all of it":     {role("ClusterRole", "apiGroups: ['*'], resources: ['*'], verbs: ['*']") + bind("ClusterRoleBinding", "ClusterRole, name: makes", "maker, namespace: shop"), true},
		"a role of each cluster":       {bind("RoleBinding", "ClusterRole, name: edit", "maker"), true},
		"a ClusterRole in a namespace": {in(role("ClusterRole", all)) + bind("RoleBinding", "ClusterRole, name: makes", "maker"), true},
		"bound in a namespace":         {role("ClusterRole", all) + in(bind("ClusterRoleBinding", "ClusterRole, name: makes", "maker")), true},
		"a Role of another namespace":  {in(role("Role", all)) + bind("RoleBinding", "Role, name: makes", "maker"), false},
		"reading only":                 {role("Role", "apiGroups: [''], resources: [secrets], verbs: [get, list]") + bind("RoleBinding", "Role, name: makes", "maker"), false},
		"other objects":                {role("Role", "apiGroups: [''], resources: [configmaps], verbs: [create]") + bind("RoleBinding", "Role, name: makes", "maker"), false},
		"another account":              {role("Role", all) + bind("RoleBinding", "Role, name: makes", "other"), false},
		"another role":                 {role("Role", all) + bind("RoleBinding", "Role, name: others", "maker"), false},
		"not bound":                    {role("Role", all), false},
	} {
		t.Run(name, func(t *testing.T) {
			a := read(t, web(account+container(fromDB))+object("v1", "ServiceAccount", "maker", "")+test.text, "")
			stops, notes := found(appcheck.Check(a, plan(t)))
			const want = "no manifest creates Secret db; pods of the application are allowed to create it: if the application does not start, add it to the manifests"
			if noted := len(notes) == 1 && strings.Contains(notes[0], want); noted != test.may || (len(stops) == 0) != test.may {
				t.Errorf("stops %q, notes %q", stops, notes)
			}
			if made, _ := appcheck.Generate(a); len(made) != 1 {
				t.Errorf("generated on request: %v", made)
			}
		})
	}
}

// Twenty times the objects are about twenty times the work, also where each lacks something.
func TestChecksAreInProportionToTheObjects(t *testing.T) {
	for name, one := range map[string]string{
		"absent Secrets":   strings.NewReplacer("name: web", "name: web-N", "name: db", "name: db-N").Replace(web(container(fromDB))),
		"unknown kinds":    strings.Replace(certificate, "name: c", "name: c-N", 1),
		"named ConfigMaps": strings.ReplaceAll(web("volumes: [{name: v, configMap: {name: web}}]\n      "+container(""))+object("v1", "ConfigMap", "web", ""), "name: web", "name: web-N"),
	} {
		allocations := func(n int) float64 {
			var b strings.Builder
			b.WriteString(web(container("")))
			for i := range n {
				b.WriteString("---\n" + strings.ReplaceAll(one, "-N", fmt.Sprint("-", i)))
			}
			a := read(t, b.String(), "")
			return testing.AllocsPerRun(1, func() { appcheck.Check(a, plan(t)) })
		}
		if few, many := allocations(10), allocations(200); many > 25*few {
			t.Errorf("%s: 10 take %.0f allocations, 200 take %.0f", name, few, many)
		}
	}
}
