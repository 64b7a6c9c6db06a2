package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/app/appfile"
)

// kubeconfigOf writes one with a context `staging` for an API server.
func kubeconfigOf(t *testing.T, url string) {
	t.Helper()
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "%s"}}], users: [{name: u, user: {}}],
contexts: [{name: staging, context: {cluster: c, user: u}}]}`, url)
	if err := os.WriteFile("kubeconfig", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// init copies an application from a live namespace: it only reads, and no Secret.
func TestInitFromANamespaceOnlyReads(t *testing.T) {
	t.Chdir(t.TempDir())
	objects := map[string]string{
		"deployments": `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "uid": "1"}, "spec": {"template": {
			"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1", "envFrom": [{"secretRef": {"name": "keys"}}]}]}}}}`,
		"services": `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"clusterIP": "10.0.0.1",
			"selector": {"app": "web"}, "ports": [{"port": 80}]}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || strings.Contains(r.URL.Path, "secrets") {
			t.Errorf("it sent %s %s", r.Method, r.URL.Path)
		}
		kind := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"apiVersion": "v1", "kind": "List", "items": [%s]}`, objects[kind])
	}))
	defer server.Close()
	kubeconfigOf(t, server.URL)
	args := []string{"init", "--kubeconfig", "kubeconfig", "--context", "staging", "-n", "shop"}
	out, code, err := execute(t, args...)
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	for _, want := range []string{"2 manifests of namespace shop are in manifests", "The secrets are missing: holdfast reads none.", "no manifest creates Secret keys"} {
		if !strings.Contains(out, want) {
			t.Errorf("got\n%s\nwant %q in it", out, want)
		}
	}
	file, err := os.ReadFile("holdfast.yaml")
	if err != nil || !strings.Contains(string(file), "manifests: [manifests]") || !strings.Contains(string(file), "url: http://web:80/") {
		t.Errorf("got %v\n%s", err, file)
	}
	if schema, err := os.ReadFile(appfile.SchemaName); err != nil || !strings.HasPrefix(string(file), appfile.SchemaLine+"\n") || !bytes.Equal(schema, appfile.Schema) {
		t.Errorf("the schema beside the file: %v\n%s", err, schema)
	}
	if _, code, err := execute(t, append(args, "-o", "other.yaml")...); code != 4 || err == nil || !strings.Contains(err.Error(), "manifests exists already") {
		t.Errorf("a second copy: exit code %d, %v", code, err)
	}
}

// init says what of the manifests is not tested, and what it wrote can be read although it is in the folder of the manifests.
func TestInitSaysWhatIsLeftOut(t *testing.T) {
	t.Chdir(t.TempDir())
	const shop = `{"apiVersion": "v1", "kind": "List", "items": [
{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}},
{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}},
{"apiVersion": "monitoring.coreos.com/v1", "kind": "PodMonitor", "metadata": {"name": "web"}}]}`
	if err := os.WriteFile("shop.json", []byte(shop), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-f", "."}, {"test", "--check"}} {
		out, code, err := execute(t, args...)
		if code != 0 || err != nil || !strings.Contains(out, "note: Left out, and not part of the verdict: PodMonitor.monitoring.coreos.com web, because") {
			t.Errorf("%q: exit code %d, %v\n%s", args, code, err, out)
		}
	}
}

// Secrets of which random values will do are made, and the file says so. Of others init says that they are missing, as before.
func TestInitHasSecretsMade(t *testing.T) {
	const shop = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i, MORE}]}}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
`
	const password = "env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}, {name: USER, valueFrom: {secretKeyRef: {name: users, key: name}}}"
	for name, test := range map[string]struct {
		more string
		made string
		code int // of test --check
	}{
		"keys that pods name":    {password + "]", "# No object creates these Secrets, so that they get random values: db, users.", 0},
		"whatever it has":        {"envFrom: [{secretRef: {name: db}}]", "", 4},
		"a certificate":          {strings.Replace(password, "key: name", "key: tls.crt", 1) + "]", "", 4},
		"one of them whole":      {password + "], envFrom: [{secretRef: {name: more}}]", "", 4},
		"one that may be absent": {"envFrom: [{secretRef: {name: db, optional: true}}]", "", 0},
		"none":                   {"args: [web]", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("shop.yaml", []byte(strings.Replace(shop, "MORE", test.more, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			out, code, err := execute(t, "init", "-f", "shop.yaml")
			if code != 0 || err != nil || strings.Contains(out, "no manifest creates") != (test.code != 0) {
				t.Fatalf("exit code %d, %v\n%s", code, err, out)
			}
			file, err := os.ReadFile("holdfast.yaml")
			if err != nil || strings.Contains(string(file), "\n  secrets: generate\n") != (test.made != "") || !strings.Contains(string(file), test.made) {
				t.Errorf("%v\n%s", err, file)
			}
			out, code, _ = execute(t, "test", "--check")
			if code != test.code || strings.Contains(out, "Secret db is generated by holdfast.") != (test.made != "") {
				t.Errorf("exit code %d\n%s", code, out)
			}
		})
	}
}

// What init writes is found wherever the file is, and says again what the user has left out.
func TestInitWritesWhatTestFinds(t *testing.T) {
	const shop = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
---
{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: web}}
---
{apiVersion: example.com/v1, kind: Database, metadata: {name: web}}
`
	t.Chdir(t.TempDir())
	if err := errors.Join(os.MkdirAll("here/k8s", 0o755), os.MkdirAll("elsewhere", 0o755), os.WriteFile("here/k8s/shop.yaml", []byte(shop), 0o600)); err != nil {
		t.Fatal(err)
	}
	top, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("here")
	for _, at := range []string{"h.yaml", "../elsewhere/h.yaml", top + "/elsewhere/absolute.yaml", "k8s/h.yaml", top + "/here/beside.yaml"} {
		for _, args := range [][]string{{"init", "-f", "k8s", "--without", "Certificate,Database.example.com", "-o", at}, {"test", "--check", at}} {
			out, code, err := execute(t, args...)
			if code != 0 || err != nil || !strings.Contains(out, "Left out, and not part of the verdict: Database.example.com web, because --without says so") {
				t.Errorf("%q: exit code %d, %v\n%s", args, code, err, out)
			}
		}
	}
}

func TestInitRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("overlay", 0o755), os.WriteFile("overlay/kustomization.yaml", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	kubeconfigOf(t, "http://127.0.0.1:1")
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no manifests":          {[]string{"init"}, 4, "no manifests"},
		"a kustomization":       {[]string{"init", "-f", "overlay"}, 4, "overlay is a kustomization: use -k overlay in place of -f overlay"},
		"a cluster and files":   {[]string{"init", "--context", "staging", "-f", "k8s/"}, 4, "--context with -f, -k or --chart"},
		"no namespace":          {[]string{"init", "--context", "staging"}, 4, "name the namespace"},
		"no such context":       {[]string{"init", "--kubeconfig", "kubeconfig", "--context", "prod", "-n", "shop"}, 4, `no context "prod"`},
		"a cluster that is off": {[]string{"init", "--kubeconfig", "kubeconfig", "--context", "staging", "-n", "shop"}, 3, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			_, code, err := execute(t, test.args...)
			if code != test.code || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("exit code %d, %v; want %d and %q", code, err, test.code, test.want)
			}
		})
	}
}

// init says that no request can show whether an application works that no Service leads to, and writes the rest of the file.
func TestInitSaysThatNothingCanBeAsked(t *testing.T) {
	t.Chdir(t.TempDir())
	const worker = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: worker}\nspec: {selector: {matchLabels: {app: w}}, template: {metadata: {labels: {app: w}}, spec: {containers: [{name: c, image: i}]}}}\n"
	if err := os.WriteFile("worker.yaml", []byte(worker), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code, err := execute(t, "init", "-f", "worker.yaml")
	if want := "Nothing can be asked: no Service that clients use leads to Deployment worker. Add one that answers clients"; code != 0 || err != nil || !strings.Contains(out, want) {
		t.Errorf("exit code %d, %v, want %q in\n%s", code, err, want, out)
	}
	if file, err := os.ReadFile("holdfast.yaml"); err != nil || !strings.Contains(string(file), "probes:\n  # Nothing can be asked: ") {
		t.Errorf("%v\n%s", err, file)
	}
}
