package workloads

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

func jobOf(t *testing.T, l Load) *batchv1.Job {
	t.Helper()
	objects, err := l.Objects(place)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 1 {
		t.Fatalf("%d objects, want one owner to delete", len(objects))
	}
	return objects[0].(*batchv1.Job)
}

// Workers are on the load node and on the named nodes in equal numbers, or on any node that is no victim.
func TestWhereWorkersAre(t *testing.T) {
	nodes := map[string]map[string]string{
		"load": {labelRole: roleLoad, Host: "load"}, "w1": {labelRole: roleWorker, Host: "w1"}, "w2": {labelRole: roleWorker, Host: "w2"},
		"foreign": {Host: "foreign"},
	}
	for want, l := range map[string]Load{
		"load":            {Workers: 4},
		"load w1":         {AlsoOn: []string{"w1"}},
		"foreign load w1": {Anywhere: true, NotOn: []string{"w2"}},
	} {
		job := jobOf(t, l)
		pod := &corev1.Pod{Spec: job.Spec.Template.Spec}
		var may []string
		for _, name := range []string{"foreign", "load", "w1", "w2"} {
			fits, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: nodes[name]}})
			if err != nil {
				t.Fatal(err)
			}
			if fits {
				may = append(may, name)
			}
		}
		if got := strings.Join(may, " "); got != want {
			t.Errorf("%+v: on %s, want %s", l, got, want)
		}
		spread := pod.Spec.TopologySpreadConstraints[0]
		if spread.TopologyKey != Host || spread.MaxSkew != 1 || (spread.WhenUnsatisfiable == corev1.DoNotSchedule) == l.Anywhere {
			t.Errorf("%+v: spread %+v", l, spread)
		}
		if tolerated := len(pod.Spec.Tolerations) > 0; tolerated == l.Anywhere {
			t.Errorf("%+v: tolerations %v", l, pod.Spec.Tolerations)
		}
	}
	if n := (Load{AlsoOn: []string{"w1", "w2"}}).WithDefaults().Workers; n != 3 {
		t.Errorf("%d workers on the load node and two others", n)
	}
}

func TestLoadThatCannotBe(t *testing.T) {
	for want, l := range map[string]Load{
		`spill: "much" is no size of a disk`:       {Spill: "much"},
		`spill: "-1Gi" is no size of a disk`:       {Spill: "-1Gi"},
		"ends the workers before they begin":       {Deadline: -time.Second},
		"and on nodes besides the load node":       {Anywhere: true, AlsoOn: []string{"w1"}},
		"not on some nodes, and on the load node":  {NotOn: []string{"w1"}},
		`load: resources: "lots": quantities must`: {Resources: Resources{Memory: "lots"}},
	} {
		if _, err := l.Objects(place); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%+v: %v, want %q", l, err, want)
		}
	}
}

// Rule 21, turned off: without the nodes to avoid, a load worker and a healer may be on the node that is drained, and the drain takes away what watches it.
func TestWithoutAvoidingANodeItsWorkersGoWithIt(t *testing.T) {
	drained := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", Labels: map[string]string{Host: "w1"}}}
	other := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w2", Labels: map[string]string{Host: "w2"}}}
	for avoided, avoid := range map[bool][]string{true: {"w1"}, false: nil} {
		for what, made := range map[string]interface{ Objects(Place) ([]Object, error) }{
			"load worker": Load{Anywhere: true, NotOn: avoid}, "healer": Healer{Run: "r", Account: "healer", Avoid: avoid},
		} {
			objects, err := made.Objects(Place{Namespace: "holdfast", Image: "i"})
			if err != nil {
				t.Fatal(err)
			}
			var spec corev1.PodSpec
			for _, o := range objects {
				switch o := o.(type) {
				case *batchv1.Job:
					spec = o.Spec.Template.Spec
				case *appsv1.Deployment:
					spec = o.Spec.Template.Spec
				}
			}
			for node, may := range map[*corev1.Node]bool{drained: !avoided, other: true} {
				fits, err := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: spec}).Match(node)
				if err != nil || fits != may {
					t.Errorf("the node avoided: %t: a %s may be on %s: %t, %v", avoided, what, node.Name, fits, err)
				}
			}
		}
	}
}
