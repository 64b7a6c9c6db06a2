package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/deploy"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// What a test cannot begin with is said before any cluster is made.
func TestTestRefusesWhatItCannotTest(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"nothing to test":     {[]string{"test"}, "no manifests: there is no holdfast.yaml here"},
		"no such file":        {[]string{"test", "-f", "k8s/", "--url", "http://web/"}, "there is no file or folder k8s/"},
		"a file and flags":    {[]string{"test", "my.yaml", "-f", "k8s/"}, "the manifests are named in that file"},
		"nothing to watch":    {[]string{"test", "--watch", "-f", "-", "--url", "http://web/"}, "no manifests"},
		"no such chart":       {[]string{"test", "--chart", "charts/shop", "--url", "http://web/"}, "chart: there is no file or folder charts/shop"},
		"a file and a chart":  {[]string{"test", "my.yaml", "--chart", "charts/shop"}, "the manifests are named in that file"},
		"values of no chart":  {[]string{"test", "-f", ".", "--values", "prod.yaml", "--url", "http://web/"}, "values or a release without a Helm chart"},
		"nothing but before":  {[]string{"test", "--before", "operators/"}, "no manifests: there is no holdfast.yaml here"},
		"no such description": {[]string{"test", "my.yaml"}, "my.yaml: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, code, err := execute(t, test.args...)
			if code != 4 || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("exit code %d, %v; want 4 and %q", code, err, test.want)
			}
		})
	}
}

// What cannot work in the cluster of a test is one list, before any cluster is made.
func TestTestListsWhatCannotWork(t *testing.T) {
	t.Chdir(t.TempDir())
	const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {cloud: big}
      containers: [{name: web, image: web, envFrom: [{configMapRef: {name: settings}}], env: [{name: A, valueFrom: {secretKeyRef: {name: db, key: k}}}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`
	if err := os.WriteFile("web.yaml", []byte(web), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"test", "-f", "web.yaml", "--url", "http://web/"}
	for _, test := range []struct {
		more []string
		want []string
	}{
		{nil, []string{"for 3 reasons:", "\n  Deployment web (web.yaml:11): spec.template.spec.containers[0].envFrom[0]: ConfigMap settings is created by nobody: add it",
			"Secret db is created by nobody", "let holdfast make one of random values with --secrets generate", "\n  Deployment web (web.yaml:10): spec.template.spec.nodeSelector: no node"}},
		{[]string{"--secrets", "generate"}, []string{"for 2 reasons:", "ConfigMap settings"}},
		{[]string{"--secrets", "guess"}, []string{`secrets "guess": want generate`}},
	} {
		_, code, err := execute(t, append(args, test.more...)...)
		for _, want := range test.want {
			if code != 4 || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("with %q: exit code %d, %v; want 4 and %q", test.more, code, err, want)
			}
		}
	}
	out, code, err := execute(t, "init", "-f", "web.yaml")
	if code != 0 || strings.Count(out, "cannot work here: ") != 3 {
		t.Errorf("init: exit code %d, %v\n%s", code, err, out)
	}
}

// Manifests that the API server refuses are bad input, also beside other errors.
func TestRefusedManifestsAreBadInput(t *testing.T) {
	failed := runfolder.File{Scenarios: []runfolder.ScenarioResult{{Name: "app/rollout", Error: "refused"}, {Name: "app/drain", NotBegun: "not begun: refused"}}}
	full, refused := errors.New("no space left on device"), &deploy.RefusedError{Lines: []string{"Deployment web (web.yaml:3): no"}}
	for want, errs := range map[int][]error{exit.BadUsage: {full, fmt.Errorf("create cluster x: %w", refused)}, exit.Failed: {full}} {
		if err := report(io.Discard, t.TempDir(), failed, errs...); exit.Code(err) != want {
			t.Errorf("%v: exit code %d, %v; want %d", errs, exit.Code(err), err, want)
		}
	}
}

// A file is checked without a cluster and without a container engine: what would be done is listed, and what is untested.
func TestCheckNeedsNoCluster(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PATH", "") // no container engine is asked
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: NAME}\nspec: {selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: c, image: i}]}}}\n---\n"
	manifests := strings.ReplaceAll(deployment, "NAME", "web") + strings.ReplaceAll(deployment, "NAME", "robot") +
		"apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {sessionAffinity: ClientIP, selector: {app: web}, ports: [{port: 80}]}\n"
	const file = "apiVersion: holdfast.dev/v1alpha1\nkind: App\napp: {manifests: [web.yaml]}\nprobes: [{url: \"http://web/\"}]\nfaults: [rollout]\n"
	for name, text := range map[string]string{"web.yaml": manifests, "holdfast.yaml": file, "wrong.yaml": strings.Replace(file, "rollout", "rolout", 1),
		"local.yaml": strings.Replace(file, "web.yaml", "drops.yaml", 1), "drops.yaml": strings.Replace(manifests, "sessionAffinity: ClientIP", "internalTrafficPolicy: Local", 1)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, code, err := execute(t, "test", "--check")
	for _, want := range []string{"untested: Deployment robot: no URL leads to it, and no fault is aimed at it\n", "app/rollout: ", "  promised: no request fails on any lane\n", "1 scenario would run",
		"note: Service web (web.yaml:14): spec.sessionAffinity: each load worker has one address", "note: No kept connection is idle for longer than 640ms"} {
		if code != 0 || err != nil || !strings.Contains(out, want) {
			t.Errorf("exit code %d, %v, want %q in\n%s", code, err, want, out)
		}
	}
	if _, code, err = execute(t, "test", "--check", "wrong.yaml"); code != 4 || err == nil || !strings.Contains(err.Error(), `wrong.yaml: line 5, column 10: faults[0]: there is no fault "rolout": did you mean rollout?`) {
		t.Errorf("exit code %d, %v", code, err)
	}
	if _, code, err = execute(t, "test", "--check", "local.yaml"); code != 4 || err == nil || !strings.Contains(err.Error(), "Service web (drops.yaml:14): spec.internalTrafficPolicy: ") {
		t.Errorf("a Service that drops every request: exit code %d, %v", code, err)
	}
}

// fakeHelm puts a helm on PATH that does what a script says, and a chart into the working folder.
func fakeHelm(t *testing.T, script string) {
	t.Helper()
	bin := t.TempDir()
	t.Setenv("PATH", bin) // no container engine is asked
	if err := os.Mkdir("shop", 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(bin, "helm"): "#!/bin/sh\n" + script, "shop/Chart.yaml": "name: shop", "prod.yaml": ""} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// What init writes of a chart is read by test, which names the hooks that do not run. That the probe is not what stops it shows that all was
// read.
func TestAChartFromInitToTest(t *testing.T) {
	t.Chdir(t.TempDir())
	fakeHelm(t, `/bin/cat <<E
# $*
---
# Source: shop/templates/web.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}}
---
# Source: shop/templates/web.yaml
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
# Source: shop/templates/test.yaml
apiVersion: v1
kind: Pod
metadata: {name: smoke, annotations: {helm.sh/hook: test}}
E`)
	if out, code, err := execute(t, "init", "--chart", "shop", "--values", "prod.yaml", "--release", "eu"); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	file, err := os.ReadFile("holdfast.yaml")
	if want := "  chart:\n    path: shop\n    values: [prod.yaml]\n    release: eu\n"; err != nil || !strings.Contains(string(file), want) {
		t.Errorf("%v, want %q in\n%s", err, want, file)
	}
	out, code, err := execute(t, "test", "--pull", "never")
	if code == 4 || err == nil || !strings.Contains(out, "Pod smoke (shop/templates/test.yaml) is left out: it is a hook of Helm for test") {
		t.Errorf("exit code %d, %v\n%s", code, err, out)
	}
}

func TestAChartThatDoesNotRender(t *testing.T) {
	t.Chdir(t.TempDir())
	fakeHelm(t, "echo 'Error: no template web' >&2; exit 1")
	for _, command := range []string{"init", "test"} {
		_, code, err := execute(t, command, "--chart", "shop")
		if code != 4 || err == nil || !strings.Contains(err.Error(), "render chart shop: no template web") {
			t.Errorf("%s: exit code %d, %v", command, code, err)
		}
	}
}
