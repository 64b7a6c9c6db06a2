package appfile_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
)

const promised = `apiVersion: holdfast.dev/v1alpha1
kind: App
app: {manifests: [web.yaml]}
probes:
  - {name: shop, url: "http://web/"}
  - {name: checkout, url: "http://web/cart"}
  - url: http://web/health
promises:
  voluntary: {failed: 0.1%}
  involuntary: {ends-within: 60s}
  probes:
    checkout:
      voluntary: {failed: 0, slower-by: 500ms}
      involuntary: {ends-within: 20s}
    web-3: {voluntary: {failed: 3}}
`

// promises reads the promises of a file, whose manifests are there.
func promises(t *testing.T, text string, urls ...string) (apptest.Promises, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{appfile.Name: text, "web.yaml": workload + "---\n" + service} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	test, err := appfile.Choice{File: appfile.Name, URLs: urls}.Test(t.Context())
	return test.Promises, err
}

func TestPromises(t *testing.T) {
	few := apptest.Allowance{Share: 0.001}
	for name, test := range map[string]struct {
		text string
		want apptest.Promises
	}{
		"of each class and of probes": {promised, apptest.Promises{
			Each: apptest.Promise{Failed: few, EndsWithin: time.Minute},
			Of: map[string]apptest.Promise{
				"checkout": {SlowerBy: 500 * time.Millisecond, EndsWithin: 20 * time.Second},
				"web-3":    {Failed: apptest.Allowance{AtMost: 3}, EndsWithin: time.Minute},
			},
		}},
		"none": {before(promised, "promises:"), apptest.Promises{}},
		"the defaults, in full": {
			strings.NewReplacer("failed: 0.1%", "failed: 0", "{ends-within: 60s}", "{}", "    checkout:\n      voluntary: {failed: 0, slower-by: 500ms}\n      involuntary: {ends-within: 20s}\n", "", "failed: 3", "failed: 0.0%").Replace(promised),
			apptest.Promises{},
		},
		"nothing in them": {before(promised, "promises:") + "promises:\n  voluntary:\n  involuntary: {ends-within: }\n  probes: {shop: }\n", apptest.Promises{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := promises(t, test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A probe that --url adds can be named, too.
func TestPromisesOfProbesOfTheCommandLine(t *testing.T) {
	got, err := promises(t, strings.Replace(promised, "web-3", "web-4", 1), "http://web/more")
	if err != nil || got.Of["web-4"].Failed.AtMost != 3 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestPromisesThatAreNone(t *testing.T) {
	const wanted, span = "want a number of requests such as 3, or a share of them such as 0.1%, below 100%", "want a duration such as 20s, above 0s and at most 1h"
	rows := map[string]struct{ old, with, want string }{
		"an unknown probe":       {"checkout:", "chekout:", "line 12, column 5: promises.probes: there is no probe chekout: did you mean checkout?"},
		"a probe of nobody":      {"web-3:", "accounts:", "line 15, column 5: promises.probes: there is no probe accounts: want one of shop, checkout, web-3"},
		"an unknown class":       {"  voluntary: {failed: 0.1%}", "  volunary: {failed: 0.1%}", "line 9, column 3: there is no field promises.volunary: did you mean voluntary?"},
		"an unknown promise":     {"{failed: 0.1%}", "{fail: 0.1%}", "line 9, column 15: there is no field promises.voluntary.fail: "},
		"of another class":       {"{failed: 0.1%}", "{ends-within: 3s}", "line 9, column 15: there is no field promises.voluntary.ends-within: want one of failed, slower-by"},
		"a probe's typo":         {"{voluntary: {failed: 3}}", "{failed: 3}", "line 15, column 13: there is no field promises.probes.web-3.failed: want one of involuntary, voluntary"},
		"a list":                 {"0.1%", "[3]", "line 9, column 23: promises.voluntary.failed: " + wanted},
		"fields":                 {"0.1%", "{atMost: 3}", "line 9, column 23: promises.voluntary.failed: " + wanted},
		"a list of times":        {"60s", "[60s]", "line 10, column 30: promises.involuntary.ends-within: " + span},
		"a text for promises":    {from(promised, "promises:"), "promises: none\n", "line 8, column 11: promises: want fields of its own"},
		"a text for a class":     {"{failed: 0.1%}", "none", "line 9, column 14: promises.voluntary: want fields of its own"},
		"a list of probes":       {from(promised, "    checkout:"), "    [checkout]\n", "line 12, column 5: promises.probes: want names of probes, each with what is promised of it"},
		"a text for probes":      {from(promised, "    checkout:"), "    checkout\n", "line 12, column 5: promises.probes: want names of probes"},
		"a probe twice":          {"web-3:", "checkout:", "line 15"},
		"few failures, all fast": {"failed: 0, slower-by", "slower-by", "line 13, column 30: failed and slower-by for the same probe: how long a request that failed would have taken is not known, so promise one of the two"},
		"both for all":           {"failed: 0.1%", "slower-by: 1s, failed: 1", "line 9, column 26: failed and slower-by for the same probe"},
	}
	for _, value := range []string{"-1", "0.1", "100%", "250%", "-1%", `"3"`, "0x10", "010", "99999999999999999999", ".inf", "few"} {
		rows["failed: "+value] = struct{ old, with, want string }{"0.1%", value, fmt.Sprintf("line 9, column 23: failed %q: %s", strings.Trim(value, `"`), wanted)}
	}
	for _, value := range []string{"0s", "60", "-5s", "2h"} {
		rows["ends-within: "+value] = struct{ old, with, want string }{"60s", value, fmt.Sprintf("line 10, column 30: %q: %s", value, span)}
	}
	for name, test := range rows {
		t.Run(name, func(t *testing.T) {
			_, err := promises(t, strings.Replace(promised, test.old, test.with, 1))
			if err == nil || !strings.Contains(err.Error(), appfile.Name+": ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// before is what a text has before a mark, and from is the rest.
func before(text, mark string) string { text, _, _ = strings.Cut(text, mark); return text }

func from(text, mark string) string { return strings.TrimPrefix(text, before(text, mark)) }
