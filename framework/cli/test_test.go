package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		"a chart and a file":  {[]string{"test", "my.yaml", "--chart", "shop"}, "the manifests are named in that file"},
		"values of a file":    {[]string{"test", "my.yaml", "--values", "prod.yaml"}, "values or a release without a chart"},
		"values of nothing":   {[]string{"test", "-f", ".", "--release", "shop"}, "values or a release without a chart"},
		"no such chart":       {[]string{"test", "--chart", "shop", "--url", "http://web/"}, "there is no chart shop"},
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
	if code == 4 || err == nil || !strings.Contains(out, "not run: Pod smoke (shop/templates/test.yaml), because it is a hook for test") {
		t.Errorf("exit code %d, %v\n%s", code, err, out)
	}
}

func TestAChartThatDoesNotRender(t *testing.T) {
	t.Chdir(t.TempDir())
	fakeHelm(t, "echo 'Error: no template web' >&2; exit 1")
	for _, command := range []string{"init", "test"} {
		_, code, err := execute(t, command, "--chart", "shop")
		if code != 4 || err == nil || !strings.Contains(err.Error(), "chart shop does not render: no template web\n") {
			t.Errorf("%s: exit code %d, %v", command, code, err)
		}
	}
}
