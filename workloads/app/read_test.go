package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// put writes files below the working folder of the test, and changes to it.
func put(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// secret is what no message may show.
const secret = "hunter2"

const (
	builds  = "resources: [web.yaml]\n"
	overlay = "resources: [../../base]\n"
	// generates is what is said of each generator, and swallows has a quotation mark that is not closed where it was meant to be.
	generates = "build the kustomization in k: a configMapGenerator or secretGenerator has what it cannot read: want literals such as NAME=VALUE, and files and envs that are there|"
	swallows  = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: \"db\nstringData:\n  p: " + secret + "\n  q: \"\n"
	noName    = "its kind, apiVersion, name or namespace is no name: look for a quotation mark that is missing"
	sealed    = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\ndata: {password: 'ENC[AES256_GCM,data:x]'}\nsops: {version: 3.9.0, mac: x}\n"
)

// What a user has is recognised, and named with what to use in its place. Nothing of a file is shown.
func TestWhatIsNoManifestIsRecognised(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string // after "read manifests: "
	}{
		"a kustomization":     {map[string]string{"k8s/web.yaml": web, "k8s/kustomization.yaml": builds}, "k8s is a kustomization: use -k k8s in place of -f k8s"},
		"of an older name":    {map[string]string{"k8s/web.yaml": web, "k8s/Kustomization": builds}, "k8s is a kustomization: use -k k8s in place of -f k8s"},
		"overlays":            {map[string]string{"k8s/base/kustomization.yaml": builds, "k8s/base/web.yaml": web, "k8s/base/patch.yaml": "spec: {a: b}", "k8s/overlays/dev/kustomization.yaml": overlay, "k8s/overlays/prod/kustomization.yml": overlay}, "k8s/overlays/dev is a kustomization: use -k k8s/overlays/dev in place of -f k8s (others: k8s/overlays/prod)"},
		"a part of it":        {map[string]string{"k8s/parts.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"}, "k8s/parts.yaml: it is a part of a kustomization: use -k k8s"},
		"a chart":             {map[string]string{"k8s/shop/Chart.yaml": "name: shop", "k8s/shop/templates/web.yaml": "{{ .Values.x }}", "k8s/shop/charts/db/Chart.yaml": "name: db"}, "k8s/shop is a Helm chart: use --chart k8s/shop"},
		"values":              {map[string]string{"k8s/web.yaml": web, "k8s/values-prod.yaml": "db: {password: " + secret + "}"}, "k8s/values-prod.yaml: it has no kind, so it is no manifest. It looks like the values of a chart: use --chart, or leave it out"},
		"Compose":             {map[string]string{"k8s/compose.yaml": "services: {web: {environment: [PASSWORD=" + secret + "]}}"}, "k8s/compose.yaml: it has no kind, so it is no manifest. It looks like a file of Docker Compose: leave it out"},
		"a dashboard":         {map[string]string{"k8s/board.json": `{"panels": [], "x": "` + secret + `"}`}, "k8s/board.json: it has no kind, so it is no manifest. It looks like a dashboard of Grafana: leave it out"},
		"a list":              {map[string]string{"k8s/patch.yaml": "- {op: replace, value: " + secret + "}"}, "k8s/patch.yaml: it is no object with fields, so it is no manifest: leave it out"},
		"one word":            {map[string]string{"k8s/token.yaml": secret}, "k8s/token.yaml: it is no object with fields"},
		"an item of a list":   {map[string]string{"k8s/all.yaml": "apiVersion: v1\nkind: List\nitems: [{password: " + secret + "}, {kind: Secret, x: " + secret + "}]"}, "k8s/all.yaml: it has no kind, so it is no manifest: leave it out"},
		"the second document": {map[string]string{"k8s/all.yaml": web + "---\npassword: " + secret}, "k8s/all.yaml: line 19: it has no kind, so it is no manifest: leave it out"},
		"no version":          {map[string]string{"k8s/db.yaml": "kind: Secret\nmetadata: {name: db}\nstringData: {p: " + secret + "}"}, "k8s/db.yaml: the Secret has no apiVersion"},
		"a patch":             {map[string]string{"k8s/db.yaml": "apiVersion: v1\nkind: Secret\nstringData: {p: " + secret + "}"}, "k8s/db.yaml: the Secret has no metadata.name: name it, or, if it is a patch of a kustomization, use -k"},
		"SOPS":                {map[string]string{"k8s/db.yaml": sealed}, "k8s/db.yaml: the Secret is encrypted with SOPS, and Kubernetes cannot read it: decrypt it for the test, or leave it out and let holdfast make one of random values with --secrets generate"},
		"a long kind":         {map[string]string{"k8s/db.yaml": "kind: \"Secret\n  p: " + secret + "\"\n"}, "k8s/db.yaml: " + noName},
		"an open name":        {map[string]string{"k8s/db.yaml": web + "---\n" + swallows}, "k8s/db.yaml: line 19: " + noName},
		"an open namespace":   {map[string]string{"k8s/db.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\n  namespace: 'prod\nstringData:\n  p: '" + "\n  q: " + secret}, "k8s/db.yaml: " + noName},
		"of a custom kind":    {map[string]string{"k8s/db.yaml": "apiVersion: db.example.com/v1\nkind: Db\nmetadata: {name: 'db}\np: " + secret + "'}"}, "k8s/db.yaml: " + noName},
		"300 letters":         {map[string]string{"k8s/db.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: " + strings.Repeat("x", 300) + "}\n"}, "k8s/db.yaml: " + noName},
		"a template":          {map[string]string{"k8s/db.yaml": "kind: Secret\nmetadata: {name: {{ .name }}}\np: " + secret}, "k8s/db.yaml: near line 1: it is no YAML. If it is a template, render it first, a chart of Helm with --chart"},
		"a rule with braces":  {map[string]string{"k8s/rule.yaml": web + "---\nkind: PrometheusRule\nsummary: '{{ $labels.pod }}'\n\texpr: " + secret}, "k8s/rule.yaml: near line 21: it is no YAML: found character that cannot start any token. If it is a template, render it first, a chart of Helm with --chart"},
		"an alias":            {map[string]string{"k8s/db.yaml": web + "---\nkind: Secret\np: *" + secret}, "k8s/db.yaml: near line 19: it is no YAML"},
		"a key of keys":       {map[string]string{"k8s/db.yaml": "{p: " + secret + "}: x"}, "k8s/db.yaml: near line 1: it is no YAML"},
		"a tag":               {map[string]string{"k8s/db.yaml": "p: !!int " + secret}, "k8s/db.yaml: near line 1: it is no YAML"},
		"no YAML":             {map[string]string{"k8s/db.yaml": web + "---\na: b\np: [" + secret}, "k8s/db.yaml: near line 20: it is no YAML: did not find expected ',' or ']'"},
		"no JSON":             {map[string]string{"k8s/db.json": `{"p": "` + secret + `",, }`}, "k8s/db.json: near line 1: it is no YAML: did not find expected node content"},
		"nothing with an end": {map[string]string{"k8s/a.txt": "", "k8s/B.YAML": ""}, "k8s has no file with .yaml, .yml or .json at its end (it has B.YAML, a.txt)"},
	} {
		t.Run(name, func(t *testing.T) {
			put(t, test.files)
			_, err := app.Read(app.Sources{Files: []string{"k8s"}})
			if err == nil || !strings.HasPrefix(err.Error(), "read manifests: "+test.want) {
				t.Fatalf("got  %v\nwant read manifests: %s", err, test.want)
			}
			if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
				t.Errorf("it shows what is in the file, or more than a line: %v", err)
			}
		})
	}
}

// Nothing of a file is shown either where kustomize or a server of manifests reads it, or a document of a chart. The innermost cause is what is said.
func TestAKustomizationThatIsNotBuilt(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a file that is not there": {map[string]string{"k/kustomization.yaml": "resources: [../base]\n", "base/kustomization.yaml": "resources: [web.yaml]\n"}, "/base/web.yaml, which a kustomization names"},
		"a chart":                  {map[string]string{"k/kustomization.yaml": "helmCharts: [{name: x, repo: 'https://charts.test'}]\n"}, "build the kustomization in k: it renders a Helm chart: run 'kustomize build --enable-helm', and use its output with -f"},
		"no folder":                {map[string]string{"x": ""}, "/k|"},
		"no kustomization":         {map[string]string{"k/web.yaml": web}, "/k'|"},
		"values":                   {map[string]string{"k/kustomization.yaml": builds, "k/web.yaml": "p: " + secret}, "build the kustomization in k: web.yaml: missing Resource metadata"},
		"an alias":                 {map[string]string{"k/kustomization.yaml": builds, "k/web.yaml": "kind: Secret\np: *" + secret}, "build the kustomization in k: web.yaml: kustomize cannot build it, and its words may show what is in a file: 'kustomize build k' tells them|"},
		"no YAML":                  {map[string]string{"k/kustomization.yaml": builds, "k/web.yaml": "a: [" + secret + "\nb: c"}, "build the kustomization in k: web.yaml: yaml: line 1: did not find expected ',' or ']'"},
		"literals":                 {map[string]string{"k/kustomization.yaml": "secretGenerator: [{name: db, literals: [user=jane, password=" + secret + ", 'token: x']}]\n"}, generates},
		"a literal for a file":     {map[string]string{"k/kustomization.yaml": "secretGenerator: [{name: db, files: [password=" + secret + "]}]\n"}, generates},
		"two in one":               {map[string]string{"k/kustomization.yaml": "configMapGenerator: [{name: db, files: [a=b=" + secret + "]}]\n"}, generates},
		"a literal for envs":       {map[string]string{"k/kustomization.yaml": "secretGenerator: [{name: db, envs: [password=" + secret + "]}]\n"}, generates},
		"of a base":                {map[string]string{"k/kustomization.yaml": "resources: [../base]\n", "base/kustomization.yaml": "secretGenerator: [{name: db, literals: [" + secret + "]}]\n"}, generates},
		"a patch":                  {map[string]string{"k/kustomization.yaml": builds + "patches: [{patch: '[{op: replace, path: /spec/x, value: " + secret + "}'}]\n", "k/web.yaml": web}, "build the kustomization in k: unable to parse SM or JSON patch|"},
		"a patch of nothing":       {map[string]string{"k/kustomization.yaml": builds + "patches: [{patch: '{kind: Secret, apiVersion: v1, metadata: {name: db}, stringData: {p: " + secret + "}}'}]\n", "k/web.yaml": web}, "build the kustomization in k: no matches for Id Secret.v1.[noGrp]/db.[noNs]|"},
		"an open quotation mark":   {map[string]string{"k/kustomization.yaml": "resources: [a.yaml, b.yaml]\n", "k/a.yaml": swallows, "k/b.yaml": swallows}, "build the kustomization in k: b.yaml: may not add resource with an already registered id: Secret.v1.[noGrp]/db|"},
		"a URL":                    {map[string]string{"k/kustomization.yaml": "resources: ['https://jane:" + secret + "@127.0.0.1:1/x.yaml']\n"}, "build the kustomization in k: it names a URL that cannot be read from here: download what is there, and name that|"},
		"a repository":             {map[string]string{"k/kustomization.yaml": "resources: ['https://jane:" + secret + "@127.0.0.1:1/x/y?ref=v1']\n"}, "build the kustomization in k: it names a URL that cannot be read"},
		"an unknown field":         {map[string]string{"k/kustomization.yaml": "resource: [" + secret + "]\n"}, "build the kustomization in k: json: unknown field \"resource\"|"},
		"a map for a list":         {map[string]string{"k/kustomization.yaml": "resources: {a: " + secret + "}\n"}, "build the kustomization in k: json: cannot unmarshal object into Go struct field Kustomization.resources|"},
		"a word for a list":        {map[string]string{"k/kustomization.yaml": builds + "configurations: [c.yaml]\n", "k/web.yaml": web, "k/c.yaml": "namePrefix: " + secret}, "build the kustomization in k: json: cannot unmarshal string into Go struct field TransformerConfig.namePrefix|"},
		"twice":                    {map[string]string{"k/kustomization.yaml": "resources: [web.yaml, b.yaml]\n", "k/web.yaml": web, "k/b.yaml": web}, "build the kustomization in k: b.yaml: may not add resource with an already registered id"},
	} {
		t.Run(name, func(t *testing.T) {
			put(t, test.files)
			_, err := app.Read(app.Sources{Kustomize: "k"})
			if err == nil || !strings.Contains(err.Error()+"|", test.want) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "accumul") {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
	put(t, map[string]string{"k/kustomization.yaml": builds + "namePrefix: my-\n", "k/web.yaml": web})
	if all, err := app.Read(app.Sources{Kustomize: "k"}); err != nil || len(all) != 2 || all[0].Object.GetName() != "my-web" || all[0].Place("kind") != "k" {
		t.Errorf("%v, %v", all, err)
	}
}

const deployment = `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop", "annotations": {"n": "\ud83d\ude00"}}, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "shop"}}, "template": {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [{"name": "c", "image": "example.com\/shop:1"}]}}}}`

// JSON is read as kubectl reads it, beside YAML with braces.
func TestJSON(t *testing.T) {
	const service = `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"}, "spec": {"ports": [{"port": 80}]}}`
	for name, text := range map[string]string{
		"one after the other": deployment + service, "a list": `{"apiVersion": "v1", "kind": "List", "items": [` + deployment + "," + service + "]}",
		"documents": deployment + "\n---\n" + service, "YAML with braces": deployment + "\n--- # next\n{apiVersion: v1, kind: Service, metadata: {name: shop}}",
		"a typed list":      deployment + "\n---\napiVersion: v1\nkind: ServiceList\nitems: [{metadata: {name: shop}}]",
		"on the line":       "--- " + deployment + "\n--- {apiVersion: v1, kind: Service, metadata: {name: shop}}\n---\n# nothing\n---\n",
		"a byte order mark": "\ufeff" + deployment + "\n---\n" + service,
	} {
		t.Run(name, func(t *testing.T) {
			put(t, map[string]string{"shop.json": text})
			all, err := app.Read(app.Sources{Files: []string{"shop.json"}})
			if err != nil || len(all) != 2 || all[1].Object.GetKind() != "Service" || all[1].Object.GetName() != "shop" {
				t.Fatalf("%v, %v", all, err)
			}
			a, err := app.New(all, "")
			if err != nil || a.Images()[0] != "example.com/shop:1" || a.Manifests[1].Object.GetAnnotations()["n"] != "😀" || a.Workloads[0].Replicas != 2 {
				t.Errorf("%v, %v", a.Manifests, err)
			}
		})
	}
}

// A pipe, a socket and a link to a folder are no manifests, and a folder that has them is read to its end. A pipe that is named is read.
func TestWhatIsNoRegularFileIsNotOpened(t *testing.T) {
	put(t, map[string]string{"k8s/web.yaml": web, "k8s/.more/x.txt": ""})
	for _, err := range []error{unix.Mkfifo("k8s/pipe.yaml", 0o600), os.Symlink("pipe.yaml", "k8s/link.yaml"), os.Symlink(".more", "k8s/folder.json"), unix.Mkfifo("given", 0o600), os.Symlink("k8s", "named")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"k8s", "named"} {
		if all, err := app.Read(app.Sources{Files: []string{name}}); err != nil || len(all) != 2 {
			t.Errorf("%s: %v, %v", name, all, err)
		}
	}
	go func() { _ = os.WriteFile("given", []byte(web), 0o600) }()
	all, err := app.Read(app.Sources{Files: []string{"given"}})
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	if at := all[0].Place("kind"); at != "given" { // and it is not opened again
		t.Errorf("at %s", at)
	}
}
