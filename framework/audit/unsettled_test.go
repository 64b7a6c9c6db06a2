package audit

import "testing"

func TestUnsettled(t *testing.T) {
	web := Workload{Kind: Deployment, Namespace: shop, Name: "web", Replicas: 2}
	for _, test := range []struct {
		name      string
		workloads []Workload
		unread    []Unread
		want      bool
	}{
		{"everything was read", []Workload{web}, nil, false},
		{"what the rule needs was not", []Workload{web}, []Unread{{Resource: Budgets}}, true},
		{"not in this namespace", []Workload{web}, []Unread{{Resource: Budgets, Namespace: shop}}, true},
		{"not in another namespace", []Workload{web}, []Unread{{Resource: Budgets, Namespace: "bank"}}, false},
		{"what another rule needs was not", []Workload{web}, []Unread{{Resource: EndpointSlices}}, false},
		{"the workload is gone", nil, []Unread{{Resource: Budgets}}, false},
		{"another workload is there", []Workload{{Kind: StatefulSet, Namespace: shop, Name: "web"}}, []Unread{{Resource: Budgets}}, false},
		{"the workloads were not read", nil, []Unread{{Resource: Deployments}}, true},
		{"the workloads of another kind were not read", nil, []Unread{{Resource: StatefulSets}}, false},
		{"the namespace was not", nil, []Unread{{Resource: Namespaces, Namespace: shop}}, true},
	} {
		c := Cluster{Workloads: test.workloads, Unread: test.unread}
		if got := Audit(c, Options{}).Unsettled(&c, "no-budget", shop, Deployment, "web"); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
