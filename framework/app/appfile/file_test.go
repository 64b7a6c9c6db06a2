package appfile_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/workloads/app"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

const whole = `# yaml-language-server: $schema=...
apiVersion: holdfast.dev/v1alpha1
kind: App
app:
  manifests: [k8s/]
  images: [web.tar, /abs/redis.tar]
  namespace: shop
probes:
  - name: checkout
    url: http://web/cart
    method: POST
    headers: {X-Probe: "1", Authorization: {fromSecret: probe-token/header}}
    body: '{"sku": 1}'
    expect: {status: [201], contains: '"ok":true', json: {path: "{.items[0].id}", equals: 7}, within: 2s}
    rate: 20
    lanes: [fresh]
    behind: [cart]
  - url: http://web/
    idle: 5s
    expect: {like: before}
faults: [rollout, drain]
`

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), appfile.Name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestFromOutside(t *testing.T) {
	for from, want := range map[string]string{"outside": "", "inside": `probe web: from: "inside": want outside, or leave it out`} {
		f, err := appfile.Read(write(t, "apiVersion: holdfast.dev/v1alpha1\nkind: App\napp: {manifests: [k8s]}\nprobes: [{url: http://web/, from: "+from+"}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		probes, err := f.ProbesOf()
		if want == "" && (err != nil || !probes[0].Outside) || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %+v, %v", from, probes, err)
		}
	}
}

func TestReadsEveryField(t *testing.T) {
	path := write(t, whole)
	f, err := appfile.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	if diff := cmp.Diff([]string{filepath.Join(dir, "web.tar"), "/abs/redis.tar"}, f.App.Images); diff != "" {
		t.Errorf("images are relative to the file (-want +got):\n%s", diff)
	}
	probes, err := f.ProbesOf()
	if err != nil {
		t.Fatal(err)
	}
	if len(probes) != 2 || probes[0].Name != "checkout" || probes[0].Request.Method != http.MethodPost || probes[0].Request.Body != `{"sku": 1}` ||
		probes[0].Expect.Status[0] != 201 || probes[0].Rate != 20 || len(probes[0].Lanes) != 1 || probes[0].Behind[0] != "cart" || probes[0].Like || probes[0].Idle != 0 ||
		!probes[1].Like || probes[1].Idle != 5*time.Second || probes[1].Name != "web-2" {
		t.Errorf("probes %+v", probes)
	}
	request, seven := probes[0].Request, "7"
	if diff := cmp.Diff(map[string]string{"X-Probe": "1"}, request.Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if from := request.FromSecret["Authorization"]; from.Name != "probe-token" || from.Key != "header" || len(request.FromSecret) != 1 {
		t.Errorf("headers from Secrets %+v", request.FromSecret)
	}
	want := expect.Answer{Status: []int{201}, Contains: `"ok":true`, JSON: &expect.JSON{Path: "{.items[0].id}", Equals: &seven}, Within: 2 * time.Second}
	if diff := cmp.Diff(want, probes[0].Expect); diff != "" {
		t.Errorf("expectation (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(appfile.Faults{"rollout", "drain"}, f.Faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	for name, test := range map[string]struct{ old, with, want string }{
		"a typo":                 {"  images:", "  image:", "line 6, column 3: there is no field app.image: did you mean images?"},
		"a typo in a list":       {"    method:", "    metod:", "line 11, column 5: there is no field probes[0].metod: did you mean method?"},
		"a field twice":          {"kind: App", "kind: App\nkind: App", "line 4, column 1: field kind is there twice"},
		"a text for a list":      {"[k8s/]", "k8s/", "line 5, column 14: app.manifests: want a list"},
		"a list for a text":      {"shop", "[shop]", "line 7, column 14: app.namespace: want a text"},
		"like something else":    {"within: 2s", "like: after", `line 14, column 101: probes[0].expect.like: "after": want before`},
		"no time to be idle":     {"rate: 20", "idle: 0s", `line 15, column 11: idle "0s": want a duration such as 5s, above 0s and at most 1m`},
		"too long to be idle":    {"rate: 20", "idle: 2m", `idle "2m": want a duration`},
		"idle things":            {"rate: 20", "idle: [5s]", "probes[0].idle: want a duration such as 5s"},
		"a text for a rate":      {"rate: 20", "rate: many", `line 15, column 11: probes[0].rate: "many": want a number of requests a second, above 0 and at most 50000`},
		"no rate at all":         {"rate: 20", "rate: 0", `line 15, column 11: probes[0].rate: "0": want a number of requests a second, above 0`},
		"a negative rate":        {"rate: 20", "rate: -1", `probes[0].rate: "-1": want a number of requests a second`},
		"too high a rate":        {"rate: 20", "rate: 1e9", `probes[0].rate: "1e9": want a number of requests a second`},
		"no number":              {"rate: 20", "rate: .nan", `probes[0].rate: ".nan": want a number of requests a second`},
		"a second application":   {whole, whole + "---\n" + whole, "line 24: a second document begins: a file is about one application"},
		"a second text":          {whole, whole + "---\nx\n", "line 23: a second document begins"},
		"broken at the end":      {whole, whole + "---\na: [b\n", "did not find expected ',' or ']'"},
		"the third one":          {whole, whole + "---\n---\n# nothing\n---\n" + whole, "a second document begins"},
		"no namespace":           {"namespace: shop", "namespace: Not A Namespace", `app.namespace "Not A Namespace": want a name of lower-case letters, digits and dashes`},
		"a long namespace":       {"namespace: shop", "namespace: " + strings.Repeat("x", 64), "want a name of lower-case letters"},
		"a fault twice":          {"[rollout, drain]", "[rollout, drain, rollout]", "line 21, column 26: faults[2]: rollout is there twice"},
		"of a workload twice":    {"[rollout, drain]", "[{drain: web}, drain, {drain: web}]", "faults[2]: drain web is there twice"},
		"a typo in a header":     {"fromSecret", "fromSecrets", "line 12, column 45: there is no field probes[0].headers.Authorization.fromSecrets: did you mean fromSecret?"},
		"a list for a header":    {`"1"`, `["1"]`, "line 12, column 24: probes[0].headers.X-Probe: want a text, or fromSecret"},
		"a header of nothing":    {"{fromSecret: probe-token/header}", "{}", `line 12, column 44: fromSecret: "/" is no key of a Secret: want NAME/KEY`},
		"a Secret without a key": {"probe-token/header", "probe-token", `line 12, column 57: fromSecret: "probe-token/" is no key of a Secret: want NAME/KEY`},
		"a way out of a Secret":  {"probe-token/header", "probe-token/../x", `"probe-token/../x" is no key of a Secret`},
		"a time without a unit":  {"within: 2s", "within: 2", "line 14, column 103: probes[0].expect.within: want a duration such as 2s or 500ms"},
		"a list for a time":      {"within: 2s", "within: [2s]", "line 14, column 103: probes[0].expect.within: want a duration such as 2s or 500ms"},
		"a text for JSON":        {`{path: "{.items[0].id}", equals: 7}`, "7", "line 14, column 58: probes[0].expect.json: want fields of its own"},
		"a typo in JSON":         {"equals", "equal", "line 14, column 83: there is no field probes[0].expect.json.equal: did you mean equals?"},
		"another version":        {"v1alpha1", "v2", `apiVersion "holdfast.dev/v2": this holdfast reads holdfast.dev/v1alpha1`},
		"another kind":           {"kind: App", "kind: Deployment", `kind "Deployment": want App`},
		"no manifests":           {"  manifests: [k8s/]\n", "", "app: it names no manifests, no kustomize folder and no chart"},
		"no YAML":                {"kind: App", "kind: [App", "line"},
		"nothing in it":          {whole, "", "it is empty"},
		"a list of nothings":     {whole, "- a\n", "line 1, column 1: the file: want fields of its own"},
		"a chart as a text":      {"  namespace: shop", "  chart: shop", "line 7, column 10: app.chart: want fields of its own"},
		"a typo in a chart":      {"  namespace: shop", "  chart: {path: shop, value: [a]}", "line 7, column 23: there is no field app.chart.value: did you mean values?"},
		"one file as values":     {"  namespace: shop", "  chart: {path: shop, values: a}", "line 7, column 31: app.chart.values: want a list"},
		"a chart of values":      {"  namespace: shop", "  chart: {values: [a]}", "app.chart: it has no path"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := appfile.Read(write(t, strings.Replace(whole, test.old, test.with, 1)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// What looks like a second document, or like the same fault, and is none.
func TestWhatIsNotThereTwice(t *testing.T) {
	for name, text := range map[string]string{
		"an end": whole + "---\n", "a comment": whole + "---\n# nothing\n", "marks": "---\n" + whole + "...\n", "no rate": strings.Replace(whole, "rate: 20", "rate:", 1),
		"two workloads": strings.Replace(whole, "[rollout, drain]", "[{drain: web}, {drain: db}, drain]", 1),
	} {
		if _, err := appfile.Read(write(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASmallFileHasDefaults(t *testing.T) {
	f, err := appfile.Read(write(t, "apiVersion: holdfast.dev/v1alpha1\nkind: App\napp: {manifests: [k8s/]}\nprobes: [{url: \"http://web/\"}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	probes, err := f.ProbesOf()
	if err != nil || len(probes) != 1 || probes[0].Name != "web" {
		t.Errorf("probes %+v, %v", probes, err)
	}
}

// What has the form of a path is an archive, beside the file. Everything else is a reference, and stays as it is.
func TestImagesAreArchivesOrReferences(t *testing.T) {
	path := write(t, strings.Replace(whole, "images: [web.tar, /abs/redis.tar]", "images: [shop/web:dev, ./db.tar, saved, web]\n  pull: never", 1))
	dir := filepath.Dir(path)
	if err := os.WriteFile(filepath.Join(dir, "saved"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := appfile.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"shop/web:dev", filepath.Join(dir, "db.tar"), filepath.Join(dir, "saved"), "web"}, f.App.Images); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	if f.App.Pull != appfile.PullNever {
		t.Errorf("pull %q", f.App.Pull)
	}
}

const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}
`

func TestImagesOfTheCommandLine(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"web.yaml": workload, "web.tar": ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	choice := appfile.Choice{Sources: app.Sources{Files: []string{"web.yaml"}}, Images: []string{"web.tar", "shop/web:dev"}, Pull: appfile.PullNever}
	test, err := choice.Test(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(here, "web.tar"), "shop/web:dev"}, test.App.Given); diff != "" || !test.App.PullNever {
		t.Errorf("pull never: %t; given (-want +got):\n%s", test.App.PullNever, diff)
	}
	for name, test := range map[string]struct {
		images []string
		pull   string
		want   string
	}{
		"no such archive": {[]string{"none.tar"}, "", "image archive: stat"},
		"no reference":    {[]string{"Web Shop"}, "", "image Web Shop: there is no such file, and it is no reference"},
		"another policy":  {nil, "always", `pull "always": want missing or never`},
	} {
		choice.Images, choice.Pull = test.images, test.pull
		if _, err := choice.Test(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
	}
}

// What a protocol does not have is refused, and not left out.
func TestExpectationsOfOtherProtocols(t *testing.T) {
	const small = "apiVersion: holdfast.dev/v1alpha1\nkind: App\napp: {manifests: [k8s/]}\nprobes: [{%s}]\n"
	for name, test := range map[string]struct{ probe, want string }{
		"TCP and a time":        {`tcp: "db:5432", expect: {within: 1s}`, "expects a text only"},
		"TCP and JSON":          {`tcp: "db:5432", body: x, expect: {json: {path: "{.a}"}}`, "expects a text only"},
		"TCP and a Secret":      {`tcp: "db:5432", headers: {A: {fromSecret: a/b}}`, "TCP has no method or headers"},
		"gRPC and a time":       {`grpc: "api:9090", expect: {within: 1s}`, "a health check has no"},
		"gRPC and a Secret":     {`grpc: "api:9090", headers: {A: {fromSecret: a/b}}`, "a health check has no"},
		"TCP and before":        {`tcp: "db:5432", expect: {like: before}`, "expects a text only"},
		"gRPC and before":       {`grpc: "api:9090", expect: {like: before}`, "a health check has no"},
		"TCP and a text":        {`tcp: "db:5432", body: x, expect: {contains: y}`, ""},
		"a header that is none": {`url: "http://web/", headers: {A: null}`, ""},
	} {
		f, err := appfile.Read(write(t, fmt.Sprintf(small, test.probe)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err = f.ProbesOf(); test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
	}
}

// A fault is a name, or a name with a workload. What cannot be one has its place, and what may have been meant.
func TestFaultsOfAFile(t *testing.T) {
	const head = "apiVersion: holdfast.dev/v1alpha1\nkind: App\napp: {manifests: [k8s]}\nprobes: [{url: \"http://web/\"}]\n"
	f, err := appfile.Read(write(t, head+"faults: [rollout, {delete-pod: cache}]\n"))
	if err != nil || len(f.Faults) != 2 || f.Faults[0] != "rollout" || f.Faults[1] != "delete-pod:cache" {
		t.Errorf("faults %q, %v", f.Faults, err)
	}
	for text, want := range map[string]string{
		"faults: [rollout, drian]":         `line 5, column 19: faults[1]: there is no fault "drian": did you mean drain?`,
		"faults: [{delete-pdo: cache}]":    `line 5, column 11: faults[0]: there is no fault "delete-pdo": did you mean delete-pod?`,
		"faults: [cordon]":                 `there is no fault "cordon": it is only done to a cluster that is there already`,
		"faults: [{drain: web, scale: a}]": "line 5, column 10: faults[0]: want the name of a fault such as drain, or with one workload {drain: web}",
		"faults: [{drain: }]":              "faults[0]: want the name of a fault",
		"faults: drain":                    "line 5, column 9: faults: want a list",
	} {
		if _, err := appfile.Read(write(t, head+text+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	rate := strings.Replace(head, "{url:", "{rate: 10/s, url:", 1)
	if _, err := appfile.Read(write(t, rate)); err == nil || !strings.Contains(err.Error(), `line 4, column 17: probes[0].rate: "10/s": want a number`) || strings.Contains(err.Error(), "float") {
		t.Errorf("a rate that is no number: %v", err)
	}
}

// A cluster that is there already may know kinds that no manifest defines. What is of such kinds is deployed there.
func TestOnAClusterThatIsThere(t *testing.T) {
	path := write(t, "apiVersion: holdfast.dev/v1alpha1\nkind: App\napp: {manifests: [web.yaml]}\nprobes: [{url: http://web/}]\n")
	const manifests = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}\n" +
		"---\napiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {name: web}\n"
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "web.yaml"), []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, existing := range []bool{false, true} {
		test, err := appfile.Choice{File: path, Existing: existing}.Test(t.Context())
		if err != nil || test.Existing != existing || test.App.Brings("AuthorizationPolicy", "web") != existing {
			t.Errorf("existing %t: %v, notes %q, %v", existing, test.Existing, test.App.Notes, err)
		}
	}
}
