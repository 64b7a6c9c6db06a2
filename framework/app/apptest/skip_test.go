package apptest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
)

// stateful is web as a StatefulSet with an update strategy.
func stateful(strategy string) string {
	return strings.Replace(strings.Replace(manifests, "kind: Deployment\nmetadata: {name: web}\nspec:\n", "kind: StatefulSet\nmetadata: {name: web}\nspec:\n  serviceName: web\n", 1),
		"  replicas: 3\n", "  replicas: 3\n  updateStrategy: "+strategy+"\n", 1)
}

// A rollout that replaces no pod, or not all of them, is skipped by name before there is a cluster. The other faults are not.
func TestARolloutThatReplacesNoPodIsSkipped(t *testing.T) {
	for name, test := range map[string]struct{ manifests, why string }{
		"OnDelete":     {stateful("{type: OnDelete}"), "Skipped: rollout of StatefulSet web, because its pods are replaced only when they are deleted (OnDelete)."},
		"a partition":  {stateful("{rollingUpdate: {partition: 2}}"), "Skipped: rollout of StatefulSet web, because its rolling update has the partition 2, so not all of its pods are replaced."},
		"no partition": {stateful("{rollingUpdate: {partition: 0}}"), ""},
		"a Deployment": {manifests, ""},
	} {
		a, _ := read(t, test.manifests)
		tried := apptest.Test{App: a, Probes: []apptest.Probe{apptest.OfURL("http://web/", 0)}, Faults: []string{"drain", "rollout"}}
		specs, _, err := tried.Scenarios()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var names []string
		for _, s := range specs {
			names = append(names, s.Name)
			if slices.Contains(s.Notes, test.why) != (test.why != "") {
				t.Errorf("%s: notes %q", name, s.Notes)
			}
		}
		if want := []string{"app/drain", "app/rollout"}[:len(names)]; !slices.Equal(names, want) || (len(names) == 1) != (test.why != "") {
			t.Errorf("%s: scenarios %q", name, names)
		}
		tried.Faults = []string{"bad-image"}
		const bad = "Skipped: bad-image of StatefulSet web"
		if _, _, err = tried.Scenarios(); (err != nil) != (test.why != "") || err != nil && !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: a bad image alone: %v", name, err)
		}
		tried.Faults = []string{"rollout"}
		if _, _, err = tried.Scenarios(); (err != nil) != (test.why != "") || err != nil && !strings.Contains(err.Error(), "nothing is left to test:\n  "+test.why) {
			t.Errorf("%s: a rollout alone: %v", name, err)
		}
		ablated, _, err := tried.Ablate(1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, s := range ablated {
			if strings.HasPrefix(s.Name, "app/rollout") && test.why != "" {
				t.Errorf("%s: an ablation runs %s", name, s.Name)
			}
		}
	}
}

// onEveryNode is web as a DaemonSet, with or without an update strategy.
func onEveryNode(strategy string) string {
	return strings.Replace(strings.Replace(manifests, "kind: Deployment\nmetadata: {name: web}\n", "kind: DaemonSet\nmetadata: {name: web}\n", 1), "  replicas: 3\n", strategy, 1)
}

// A DaemonSet's pods belong to their nodes: what cannot be done to them is skipped by name before there is a cluster, and the rest is tested.
func TestFaultsOfADaemonSet(t *testing.T) {
	skipped := []string{
		"Skipped: drain of DaemonSet web, because a drain leaves the pods of a DaemonSet where they are (kubectl drain --ignore-daemonsets).",
		"Skipped: scale of DaemonSet web, because a DaemonSet has no replicas, but a pod on each node.",
	}
	for name, test := range map[string]struct {
		manifests    string
		faults       []string
		names, notes []string
		err          string
	}{
		"the default": {onEveryNode(""), nil, []string{"app/rollout", "app/delete-pod", "app/node-kill"}, skipped, ""},
		"OnDelete": {
			onEveryNode("  updateStrategy: {type: OnDelete}\n"), []string{"rollout", "delete-pod"}, []string{"app/delete-pod"},
			[]string{"Skipped: rollout of DaemonSet web, because its pods are replaced only when they are deleted (OnDelete)."}, "",
		},
		"others": {onEveryNode(""), []string{"memory-pressure", "coredns", "kill-container", "freeze"}, []string{"app/kill-container", "app/freeze"}, []string{
			"Skipped: memory-pressure of DaemonSet web, because its controller puts an evicted pod back on the same node, where it is evicted again.",
			"Skipped: coredns of DaemonSet web, because one replica more is asked for meanwhile, and a DaemonSet has none.",
		}, ""},
		"a drain alone": {onEveryNode(""), []string{"drain"}, nil, nil, "nothing is left to test:\n  " + skipped[0]},
	} {
		a, _ := read(t, test.manifests)
		specs, _, err := apptest.Test{App: a, Probes: []apptest.Probe{apptest.OfURL("http://web/", 0)}, Faults: test.faults}.Scenarios()
		if test.err != "" {
			if err == nil || err.Error() != test.err {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var names []string
		for _, s := range specs {
			names = append(names, s.Name)
			for _, note := range test.notes {
				if !slices.Contains(s.Notes, note) {
					t.Errorf("%s: %s has the notes %q", name, s.Name, s.Notes)
				}
			}
		}
		if !slices.Equal(names, test.names) {
			t.Errorf("%s: scenarios %q", name, names)
		}
		if c := specs[0].Controllers()[0]; c.Kind != "DaemonSet" || !strings.Contains(specs[0].Claim, "DaemonSet web") {
			t.Errorf("%s: %+v, %s", name, c, specs[0].Claim)
		}
	}
}

// A Deployment that is paused has no pods, and neither has one without replicas: nothing can be tested.
func TestNoPodsAreRefused(t *testing.T) {
	for field, want := range map[string]string{
		"replicas: 0":                 "probe web: Deployment web has no replicas, so that no pod answers: give it at least one for the test",
		"replicas: 3\n  paused: true": "spec.paused: of a Deployment that is paused when it is created, no pod is made: take it out for the test",
	} {
		a, _ := read(t, strings.Replace(manifests, "replicas: 3", field, 1))
		_, _, err := apptest.Test{App: a, Probes: []apptest.Probe{apptest.OfURL("http://web/", 0)}}.Scenarios()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", field, err)
		}
	}
	blue := strings.Replace(manifests, "metadata: {name: worker}\nspec:\n  selector: {matchLabels: {app: worker}}\n  template:\n    metadata: {labels: {app: worker}}",
		"metadata: {name: green}\nspec:\n  replicas: 0\n  selector: {matchLabels: {app: web, color: green}}\n  template:\n    metadata: {labels: {app: web, color: green}}", 1)
	a, _ := read(t, blue)
	specs, _, err := apptest.Test{App: a, Probes: []apptest.Probe{apptest.OfURL("http://web/", 0)}, Faults: []string{"delete-pod"}}.Scenarios()
	if err != nil || len(specs) != 1 || !slices.Contains(specs[0].Notes, "Skipped: delete-pod of Deployment green, because it has no replicas.") {
		t.Errorf("blue and green: %v, %+v", err, specs)
	}
}

// config-change changes what the pods read and may be changed. Where that needs new pods, and a change makes none, it is skipped, and so it is where
// there is nothing to change.
func TestAConfigurationToChange(t *testing.T) {
	const (
		reads  = "      containers: [{name: nginx, image: \"nginx:1.22\", envFrom: [{configMapRef: {name: fixed}}, {configMapRef: {name: perhaps, optional: true}}, {secretRef: {name: of-an-operator}}]}]\n"
		mounts = "      volumes: [{name: v, configMap: {name: conf}}]\n      containers: [{name: nginx, image: \"nginx:1.22\", volumeMounts: [{name: v, mountPath: /v}]}]\n"
		only   = "      containers: [{name: nginx, image: \"nginx:1.22\", envFrom: [{configMapRef: {name: fixed}}, {secretRef: {name: fast}}]}]\n"
		kept   = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: fixed}\nimmutable: true\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: fast}\nimmutable: true\n---\n" +
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: of-an-operator}\n"
	)
	with := func(manifests, containers string) string {
		old := "    spec: {containers: [{name: nginx, image: \"nginx:1.22\"}]}\n"
		return strings.Replace(manifests, old, "    spec:\n"+containers, 1) + kept
	}
	followed := strings.Replace(with(manifests, mounts), "    metadata: {labels: {app: web}}", "    metadata: {labels: {app: web}, annotations: {checksum/config: a}}", 1)
	for name, test := range map[string]struct{ manifests, skipped, fault, note string }{
		"nothing":            {manifests, "it mounts and reads no ConfigMap and no Secret", "", ""},
		"immutable":          {with(manifests, only), "its configuration is immutable (ConfigMap fixed, Secret fast)", "", ""},
		"of an operator":     {with(manifests, reads), "", "change Secret of-an-operator", "and rolls out, because pods that run do not see it."},
		"a folder":           {with(manifests, mounts), "", "change ConfigMap conf", "and waits until the pods have it while they run."},
		"a checksum":         {followed, "", "change ConfigMap conf", "and rolls out, because the pod template has a checksum of its configuration."},
		"OnDelete":           {with(stateful("{type: OnDelete}"), reads), "its pods are replaced only when they are deleted (OnDelete)", "", ""},
		"OnDelete, a folder": {with(stateful("{type: OnDelete}"), mounts), "", "change ConfigMap conf", "and waits until the pods have it while they run."},
	} {
		a, _ := read(t, test.manifests)
		specs, _, err := apptest.Test{App: a, Probes: []apptest.Probe{apptest.OfURL("http://web/", 0)}, Faults: []string{"config-change"}}.Scenarios()
		if test.skipped != "" {
			if err == nil || !strings.Contains(err.Error(), "Skipped: config-change of ") || !strings.Contains(err.Error(), "because "+test.skipped+".") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || len(specs) != 1 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s, rolls := specs[0], strings.Contains(test.note, "rolls out")
		if s.Faults[0].String() != test.fault || !strings.HasSuffix(s.Notes[0], test.note) || !strings.HasPrefix(s.Claim, "a change of the configuration and its rollback of ") {
			t.Errorf("%s: %s, %q: %s", name, s.Faults[0], s.Notes, s.Claim)
		}
		if completes := slices.Contains(recorded(t, s), `RolloutCompletes {"workload":"web"}`); completes != rolls {
			t.Errorf("%s: promises %q", name, recorded(t, s))
		}
	}
}
