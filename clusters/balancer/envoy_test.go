package balancer

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/google/go-cmp/cmp"
)

// kindTemplates are the constants of kind's source that contain the templates of Envoy's files.
func kindTemplates(t *testing.T) map[string]string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kind").Output()
	if err != nil {
		t.Fatalf("find kind's source, which these templates are read from: %v", err)
	}
	file := filepath.Join(strings.TrimSpace(string(dir)), "pkg/cluster/internal/loadbalancer/config.go")
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(tree, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if text, ok := spec.Values[0].(*ast.BasicLit); ok {
				found[spec.Names[0].Name], _ = strconv.Unquote(text.Value)
			}
		}
		return true
	})
	return found
}

// written writes the files into a temporary directory, as kind writes them for these control planes.
func written(t *testing.T, servers map[string]string, ipv6 bool) (bootstrap string) {
	t.Helper()
	dir, kind := t.TempDir(), kindTemplates(t)
	data := struct {
		ControlPlanePort int
		BackendServers   map[string]string
		IPv6             bool
	}{6443, servers, ipv6}
	paths := map[string]string{}
	for name, constant := range map[string]string{"cds.yaml": "ProxyCDSConfigTemplate", "lds.yaml": "ProxyLDSConfigTemplate"} {
		parsed, err := template.New(name).Funcs(template.FuncMap{"hostPort": func(address string) (map[string]string, error) {
			host, port, err := net.SplitHostPort(address)
			return map[string]string{"host": host, "port": port}, err
		}}).Parse(kind[constant])
		if err != nil {
			t.Fatalf("kind's %s: %v", constant, err)
		}
		var text bytes.Buffer
		if err := parsed.Execute(&text, data); err != nil {
			t.Fatal(err)
		}
		paths[name] = filepath.Join(dir, name)
		write(t, paths[name], text.String())
	}
	bootstrap = filepath.Join(dir, "envoy.yaml")
	write(t, bootstrap, fmt.Sprintf(kind["DynamicFilesystemConfigTemplate"], "x", "x-external-load-balancer", paths["cds.yaml"], paths["lds.yaml"]))
	return bootstrap
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The plan contains everything relevant that this version of kind writes.
func TestReadPlanOfKind(t *testing.T) {
	got, err := readPlan(written(t, map[string]string{"a": "a:6443", "b": "b:6443", "c": "c:6443"}, false))
	if err != nil {
		t.Fatal(err)
	}
	want := plan{
		listen: "0.0.0.0:6443", name: "kube_apiservers", connect: 250 * time.Millisecond,
		check:    check{path: "/healthz", tls: true, timeout: 3 * time.Second, interval: 2 * time.Second, fall: 2, rise: 1},
		backends: []string{"a:6443", "b:6443", "c:6443"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(plan{}, check{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := readPlan(written(t, map[string]string{"a": "a:6443"}, true)); err != nil || got.listen != "[::]:6443" {
		t.Errorf("IPv6: %q, %v", got.listen, err)
	}
}

func TestReadPlanRefuses(t *testing.T) {
	for _, c := range []struct {
		name, file, old, new string
		nothing              bool
		want                 string
	}{
		{name: "empty, as kind starts it", file: "cds.yaml", nothing: true},
		{name: "no listener yet", file: "lds.yaml", nothing: true},
		{name: "no YAML", file: "lds.yaml", old: "resources:", new: "resources: {", want: "read "},
		{name: "another cluster", file: "lds.yaml", old: "cluster: kube_apiservers", new: "cluster: other", want: `cluster "kube_apiservers"`},
		{name: "no health check", file: "cds.yaml", old: "health_checks:", new: "other:", want: "0 health checks"},
		{name: "an odd time", file: "cds.yaml", old: "interval: 2s", new: "interval: soon", want: "interval of the health check"},
		{name: "no time", file: "cds.yaml", old: "connect_timeout: 0.25s", new: "connect_timeout: 0s", want: "want at least a millisecond"},
		{name: "no threshold", file: "cds.yaml", old: "unhealthy_threshold: 2", new: "", want: "thresholds 0 and 1"},
		{name: "no endpoints", file: "cds.yaml", old: "lb_endpoints", new: "others", want: "no endpoints"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bootstrap := written(t, map[string]string{"a": "a:6443"}, false)
			file := filepath.Join(filepath.Dir(bootstrap), c.file)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), c.old, c.new, 1)
			if c.nothing {
				changed = "resources: []"
			} else if changed == string(text) {
				t.Fatalf("kind writes no %q any more", c.old)
			}
			write(t, file, changed)
			_, err = readPlan(bootstrap)
			if err == nil || errors.Is(err, errNothing) != c.nothing || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := readPlan(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no bootstrap file: %v", err)
	}
}
