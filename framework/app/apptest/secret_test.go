package apptest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

const secret = `---
apiVersion: v1
kind: Secret
metadata: {name: token}
data: {old: eA==}
stringData: {header: Bearer x}
`

// The key of a Secret that is in the manifests is looked for before a cluster is made. Other Secrets may be made in the cluster.
func TestHeadersFromSecrets(t *testing.T) {
	a, _ := read(t, careful+secret)
	for name, test := range map[string]struct{ secret, key, want string }{
		"in data":         {"token", "old", ""},
		"in stringData":   {"token", "header", ""},
		"no such key":     {"token", "heder", "has no key heder: add it, or correct fromSecret"},
		"of the cluster":  {"made-later", "header", ""},
		"of another kind": {"web", "header", ""},
	} {
		p := apptest.OfURL("http://web/", 0)
		p.Request = request.Request{FromSecret: map[string]request.SecretKey{"Authorization": {Name: test.secret, Key: test.key}}}
		specs, _, err := apptest.Test{App: a, Probes: []apptest.Probe{p}, Faults: []string{"rollout"}}.Scenarios()
		if test.want != "" {
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "Bearer") {
				t.Errorf("%s: error %v, want one with %q", name, err, test.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(map[string][]string{test.secret: {test.key}}, specs[0].LoadWorkload(nil).Secrets); diff != "" {
			t.Errorf("%s: what the load workers get (-want +got):\n%s", name, diff)
		}
	}
}

// An answer may come later than expected and is still read: late is another failure than none.
func TestTimeOutsLeaveRoomForLateAnswers(t *testing.T) {
	a, _ := read(t, careful)
	for within, want := range map[time.Duration]load.Timeouts{
		0:                {},
		2 * time.Second:  {},
		3 * time.Second:  {Response: 5 * time.Second, Request: 5 * time.Second},
		10 * time.Second: {Response: 12 * time.Second, Request: 12 * time.Second},
	} {
		p := apptest.OfURL("http://web/", 0)
		p.Expect = expect.Answer{Within: within}
		specs, _, err := apptest.Test{App: a, Probes: []apptest.Probe{p}, Faults: []string{"rollout"}}.Scenarios()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, specs[0].Load[0].Timeouts); diff != "" {
			t.Errorf("within %s (-want +got):\n%s", within, diff)
		}
	}
}
