package history_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// TestOwns: each of these pods has the labels that the workloads select, and only its controller says whose it is.
func TestOwns(t *testing.T) {
	web := history.Workload{Namespace: "shop", Name: "web", Selector: map[string]string{"app": "shop"}}
	db := history.Workload{Namespace: "shop", Name: "web", StatefulSet: true, Selector: web.Selector}
	agent := history.Workload{Namespace: "shop", Name: "web", DaemonSet: true, Selector: web.Selector}
	pod := func(owner history.Owner, hash string) *history.Pod {
		labels := map[string]string{"app": "shop"}
		if hash != "" {
			labels["pod-template-hash"] = hash
		}
		return &history.Pod{Namespace: "shop", Name: "p", Labels: labels, Owner: owner}
	}
	elsewhere, renamed := pod("ReplicaSet/web-5d4f", "5d4f"), pod("ReplicaSet/web-5d4f", "5d4f")
	elsewhere.Namespace, renamed.Labels["app"] = "other", "other"
	for what, test := range map[string]struct {
		pod          *history.Pod
		ofWeb, ofSet bool
	}{
		"of the Deployment":                                   {pod("ReplicaSet/web-5d4f", "5d4f"), true, false},
		"of a Deployment whose name begins alike":             {pod("ReplicaSet/web-canary-5d4f", "5d4f"), false, false},
		"of a Deployment that is named as one of its sets is": {pod("ReplicaSet/web-5d4f-77", "77"), false, false},
		"of a ReplicaSet without a Deployment":                {pod("ReplicaSet/web-5d4f", ""), false, false},
		"of a ReplicaSet of the Deployment's name":            {pod("ReplicaSet/web", ""), false, false},
		"of a Job":              {pod("Job/web", ""), false, false},
		"of a StatefulSet":      {pod("StatefulSet/web", ""), false, true},
		"of a DaemonSet":        {pod("DaemonSet/web", ""), false, false},
		"of nothing":            {pod(history.NoOwner, "5d4f"), false, false},
		"in another namespace":  {elsewhere, false, false},
		"of an older record":    {pod("", ""), true, true},
		"with labels of others": {renamed, true, false}, // until the controller releases it
	} {
		if ofWeb, ofSet := web.Owns(test.pod), db.Owns(test.pod); ofWeb != test.ofWeb || ofSet != test.ofSet {
			t.Errorf("a pod %s: of the Deployment %t, of the StatefulSet %t, want %t and %t", what, ofWeb, ofSet, test.ofWeb, test.ofSet)
		}
	}
	if !agent.Owns(pod("DaemonSet/web", "")) || agent.Owns(pod("StatefulSet/web", "")) || agent.Kind() != "DaemonSet" {
		t.Error("a DaemonSet owns its own pods, and no others")
	}
	if everything := (history.Workload{Namespace: "shop", Name: "web"}); everything.Owns(pod("", "")) {
		t.Error("a workload of an older record whose selector is unknown owns every pod")
	}
}
