package appfile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
)

// onACluster has no manifests: the application runs already.
const onACluster = `apiVersion: holdfast.dev/v1alpha1
kind: App
cluster: {uid: 1f0c}
app: {namespace: shop}
probes: [{url: "http://web/"}]
faults: [rollout, drain, node-kill]
disturb:
  pods: 2
  duration: 3m
  failures: 20
  window: {days: [Mon, Tue], from: "09:00", to: "16:30", zone: Europe/Berlin}
  neighbours: [mail]
  scaleVolumes: [db]
  trustRegistry: true
  before: ./tell.sh
  after: ./tell.sh --over
  nodeKill: {command: "halt $NODE", undo: "start $NODE"}
`

func TestDisturbance(t *testing.T) {
	f, err := appfile.Read(write(t, onACluster))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Disturbance()
	if err != nil {
		t.Fatal(err)
	}
	var faults []string
	for _, one := range got.Faults {
		faults = append(faults, one.Name)
	}
	if diff := cmp.Diff([]string{"rollout", "drain", "node-kill"}, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	want := disturb.Request{
		UID: "1f0c", Hook: disturb.Hook{Command: "halt $NODE", Undo: "start $NODE"},
		Limits: disturb.Limits{
			Pods: 2, Failures: 20, Duration: 3 * time.Minute, Neighbours: []string{"mail"}, ScaleVolumes: []string{"db"}, TrustRegistry: true,
			Window: &disturb.Window{Days: []string{"Mon", "Tue"}, From: "09:00", To: "16:30", Zone: "Europe/Berlin"},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(disturb.Request{}, "Faults")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A file that says nothing of it has the careful defaults.
func TestDisturbanceDefaults(t *testing.T) {
	const small = "apiVersion: holdfast.dev/v1alpha1\nkind: App\ncluster: {uid: 1f0c}\napp: {namespace: shop}\nprobes: [{url: \"http://web/\"}]\n"
	for name, more := range map[string]string{"none": "", "empty": "disturb: {}\n", "an empty part": "disturb: {nodeKill: {}}\n"} {
		f, err := appfile.Read(write(t, small+more))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := f.Disturbance()
		want := disturb.Limits{Pods: 1, Failures: 50, Duration: 5 * time.Minute}
		if diff := cmp.Diff(want, got.Limits); err != nil || diff != "" || len(got.Faults) != 3 || got.Faults[0].OnNode {
			t.Errorf("%s: %v, %d faults, (-want +got):\n%s", name, err, len(got.Faults), diff)
		}
	}
}

// What would allow more than was meant is refused, and never read as the default.
func TestDisturbanceRefuses(t *testing.T) {
	for name, test := range map[string]struct{ old, with, want string }{
		"no cluster":           {"cluster: {uid: 1f0c}\n", "", "disturb: it is about a cluster that holdfast did not make"},
		"no UID":               {"{uid: 1f0c}", "{}", "disturb: it is about a cluster that holdfast did not make: name it with cluster: {uid: ...}"},
		"no pods":              {"pods: 2", "pods: 0", "disturb.pods: 0: want at least 1"},
		"less than none":       {"pods: 2", "pods: -1", "disturb.pods: -1"},
		"words":                {"pods: 2", "pods: many", `disturb.pods: "many": want a number`},
		"no failure":           {"failures: 20", "failures: 0", "disturb.failures: 0: want at least 1"},
		"no time":              {"duration: 3m", "duration: 0s", "disturb.duration: 0s: want 30s to 2h0m0s"},
		"all night":            {"duration: 3m", "duration: 9h", "disturb.duration: 9h0m0s"},
		"a typo in a duration": {"duration: 3m", "duration: 3 minutes", "disturb.duration: want a duration such as 2s"},
		"a typo":               {"neighbours:", "neighbors:", "there is no field disturb.neighbors: did you mean neighbours?"},
		"a typo in the key":    {"trustRegistry:", "trustregistry:", "there is no field disturb.trustregistry"},
		"an empty window":      {`window: {days: [Mon, Tue], from: "09:00", to: "16:30", zone: Europe/Berlin}`, "window: ", "disturb.window: want fields of its own"},
		"no such day":          {"Mon, Tue", "Monday", `disturb.window: day "Monday"`},
		"a number for a time":  {`from: "09:00"`, "from: 9", `disturb.window: from "9"`},
		"backwards":            {`to: "16:30"`, `to: "08:00"`, "disturb.window: it ends at 08:00"},
		"no undo":              {`, undo: "start $NODE"`, "", "disturb.nodeKill: want both, command and undo"},
		"a fault of kind's":    {"drain,", "partition,", `fault "partition": on a cluster that holdfast did not make, want one of rollout, delete-pod`},
		"a fault twice":        {"drain,", "rollout,", "faults[1]: rollout is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(onACluster, test.old) {
				t.Fatalf("the file has no %q", test.old)
			}
			f, err := appfile.Read(write(t, strings.Replace(onACluster, test.old, test.with, 1)))
			if err == nil {
				_, err = f.Disturbance()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// A test deploys the application. A file without manifests has none to deploy.
func TestAnApplicationThatRunsAlreadyIsNotDeployed(t *testing.T) {
	_, err := appfile.Choice{File: write(t, onACluster)}.Test(t.Context())
	if err == nil || !strings.Contains(err.Error(), "it names no manifests: the application runs already in the cluster that the file names") {
		t.Errorf("%v", err)
	}
}
