package apptest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// each is a workload and its Service, for each name. A Service has no dots in its name.
func each(names ...string) string {
	var all []string
	for _, name := range names {
		one := strings.NewReplacer("name: web}\nspec: {selector", "name: SERVICE}\nspec: {selector", "name: web", "name: "+name, "app: web", "app: "+name).Replace(strings.Split(careful, "---\napiVersion: policy")[0])
		all = append(all, strings.ReplaceAll(one, "SERVICE", "s-"+strings.Trim(strings.ReplaceAll(name, ".", "-0"), "-")))
	}
	return strings.Join(all, "---\n")
}

// Kubernetes' names of workloads may have dots and dashes that names of scenarios have not. No two scenarios have the same name.
func TestNamesOfScenariosAreMadeOfThoseOfWorkloads(t *testing.T) {
	for name, test := range map[string]struct{ workloads, want []string }{
		"dots":            {[]string{"shop.v1", "cart.v1"}, []string{"shop-v1", "cart-v1"}},
		"two dashes":      {[]string{"a--b", "a"}, []string{"a-b", "a"}},
		"the same":        {[]string{"shop.v1", "shop-v1", "shop--v1"}, []string{"shop-v1-2", "shop-v1", "shop-v1-3"}},
		"the same as one": {[]string{"a.b", "a--b", "a-b-2"}, []string{"a-b", "a-b-3", "a-b-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := readIn(t, "shop", each(test.workloads...))
			var probes []apptest.Probe
			for n, s := range a.Services {
				probes = append(probes, apptest.OfURL("http://"+s.Name+"/", n))
			}
			run := apptest.Test{App: a, Probes: probes, Faults: []string{"rollout"}}
			specs, _, err := run.Scenarios()
			if err != nil {
				t.Fatal(err)
			}
			var got, want []string
			for i, s := range specs {
				got, want = append(got, s.Tested+" "+s.Name), append(want, test.workloads[i]+" app/rollout-"+test.want[i])
			}
			if diff := cmp.Diff(want, got); diff != "" || len(got) != len(test.workloads) {
				t.Errorf("(-want +got):\n%s", diff)
			}
			specs, _, err = run.Ablate(1)
			seen := map[string]bool{}
			for _, s := range specs {
				if seen[s.Name] {
					t.Errorf("%s is there twice", s.Name)
				}
				seen[s.Name] = true
			}
			if err != nil || len(seen) < 4*len(test.workloads) {
				t.Errorf("an ablation of %d scenarios: %v", len(seen), err)
			}
		})
	}
}

// A test that cannot ask says what lacks, and names no URL that leads nowhere.
func TestWhatCannotBeAsked(t *testing.T) {
	const worker = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: worker}\nspec: {selector: {matchLabels: {app: w}}, template: {metadata: {labels: {app: w}}, spec: {containers: [{name: c, image: i}]}}}\n"
	const headless = "---\napiVersion: v1\nkind: Service\nmetadata: {name: db}\nspec: {clusterIP: None, selector: {app: w}, ports: [{port: 80, targetPort: 8080}]}\n"
	ported := strings.Replace(careful, "ports: [{port: 80}]", "ports: [{port: 80, targetPort: http}]", 1)
	has := func(field, port string) string {
		return strings.Replace(ported, "      containers:\n", "      initContainers: [{name: i, image: i, "+field+"ports: [{name: "+port+", containerPort: 8080}]}]\n      containers:\n", 1)
	}
	for name, test := range map[string]struct {
		text, url, want string
	}{
		"no Service":              {worker, "", "nothing can be asked: no Service that clients use leads to Deployment worker. Add one that answers clients, and a probe for it in holdfast.yaml, or name its URL"},
		"a Service of others":     {worker + strings.Replace(headless, "app: w", "app: x", 1), "", "nothing can be asked: no Service that clients use leads to Deployment worker"},
		"a headless one":          {worker + headless, "", "no probe: give the URL of a Service with --url, such as http://db.shop:8080/"},
		"no such port":            {ported, "http://web/", "probe web: port 80 of Service web leads to the port http of its pods, and no container has a port of this name"},
		"another name":            {has("restartPolicy: Always, ", "htpp"), "http://web/", "port 80 of Service web leads to the port http of its pods"},
		"of a container's end":    {has("", "http"), "http://web/", "port 80 of Service web leads to the port http of its pods"},
		"of a sidecar":            {has("restartPolicy: Always, ", "http"), "http://web/", ""},
		"a port that is a number": {careful, "http://web/", ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := apptest.Test{App: readIn(t, "shop", test.text), Faults: []string{"rollout"}}
			if test.url != "" {
				run.Probes = []apptest.Probe{apptest.OfURL(test.url, 0)}
			}
			if _, _, err := run.Scenarios(); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
	two := readIn(t, "shop", careful+"---\n"+strings.Replace(worker, "kind: Deployment\nmetadata: {name: worker}", "kind: StatefulSet\nmetadata: {name: web}", 1))
	if _, _, err := (apptest.Test{App: two, Probes: []apptest.Probe{apptest.OfURL("http://web/", 0)}}).Scenarios(); err == nil || err.Error() != "StatefulSet web has the name of a Deployment, and a record tells workloads apart by their names: rename one of them for the test" {
		t.Errorf("two workloads of one name: %v", err)
	}
	twice := apptest.OfURL("http://web/", 0)
	twice.Lanes = []history.Lane{"fresh", "reused", "fresh"}
	if _, _, err := (apptest.Test{App: shop(t), Probes: []apptest.Probe{twice}}).Scenarios(); err == nil || err.Error() != "probe web: lane fresh is there twice" {
		t.Errorf("a lane twice: %v", err)
	}
}
