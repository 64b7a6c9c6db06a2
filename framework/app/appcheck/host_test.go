package appcheck_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/app/appcheck"
)

// What is root on a node is root on this machine. Where Pod Security does not stop that, the check does, unless the file trusts the application.
func TestNoWayToTheRootOfANode(t *testing.T) {
	const (
		pod      = "{containers: [{name: c, image: i}], volumes: [{name: root, hostPath: {path: /}}]}"
		template = "selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: " + pod + "}"
	)
	in := func(namespace, apiVersion, kind, spec string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: x, namespace: " + namespace + "}\nspec: {" + spec + "}\n---\n"
	}
	const system, folder = "no Pod Security level is enforced on pods in kube-system: have it in a namespace of its own; ", "it makes any folder of a node a volume: "
	for name, test := range map[string]struct{ text, before, want string }{
		"a DaemonSet":             {in("kube-system", "apps/v1", "DaemonSet", template), "", system},
		"a Pod":                   {in("kube-system", "v1", "Pod", strings.TrimSuffix(strings.TrimPrefix(pod, "{"), "}")), "", system},
		"a Job":                   {in("kube-system", "batch/v1", "Job", template), "", system},
		"a CronJob":               {in("kube-system", "batch/v1", "CronJob", "jobTemplate: {spec: {"+template+"}}"), "", system},
		"a ReplicaSet":            {in("kube-system", "apps/v1", "ReplicaSet", template), "", system},
		"a ReplicationController": {in("kube-system", "v1", "ReplicationController", strings.Replace(template, "matchLabels: {app: x}", "app: x", 1)), "", system},
		"an operator":             {"", in("kube-system", "apps/v1", "Deployment", template), system},
		"a hook":                  {strings.Replace(in("kube-system", "batch/v1", "Job", template), "{name: x,", `{name: x, annotations: {helm.sh/hook: pre-install},`, 1), "", system},
		"a folder of a node":      {object("v1", "PersistentVolume", "x", "spec: {hostPath: {path: /}}"), "", "spec.hostPath: " + folder},
		"a disk of a node":        {"", object("v1", "PersistentVolume", "x", "spec: {local: {path: /etc}}"), "spec.local: " + folder},
		"a class of folders":      {object("storage.k8s.io/v1", "StorageClass", "x", "provisioner: rancher.io/local-path\nparameters: {pathPattern: ../../etc}"), "", "parameters.pathPattern: " + folder},

		"an operator elsewhere":    {"", in("operators", "apps/v1", "Deployment", template), ""},
		"a DaemonSet elsewhere":    {in("agents", "apps/v1", "DaemonSet", template), "", ""},
		"a binding in kube-system": {in("kube-system", "rbac.authorization.k8s.io/v1", "RoleBinding", ""), "", ""},
		"a class without folders":  {object("storage.k8s.io/v1", "StorageClass", "x", "provisioner: rancher.io/local-path"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := read(t, web(container(""))+test.text, test.before)
			stops, _ := found(appcheck.Check(a, plan(t)))
			if (len(stops) == 1) != (test.want != "") || len(stops) > 0 && (!strings.Contains(stops[0], test.want) || !strings.HasSuffix(stops[0], "say app: {privileged: true} in its file")) {
				t.Errorf("%q, want %q", stops, test.want)
			}
			a.Privileged = true
			if stops, _ := found(appcheck.Check(a, plan(t))); len(stops) > 0 {
				t.Errorf("it is trusted, and yet: %q", stops)
			}
		})
	}
}
