package disturb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Each rule is refused by a test of its own, or is kept by a package of which a test says that it is about the rule.
func TestEachRuleHasItsTest(t *testing.T) {
	seen := map[string]bool{}
	for i, r := range Rules {
		if r.Number != i+1 || r.Promise == "" || seen[r.ID] {
			t.Errorf("rule %d, %q, is number %d, or promises nothing, or its name is there twice", i+1, r.ID, r.Number)
		}
		seen[r.ID] = true
		checked := r.run != nil || r.step != nil
		if !checked && r.Where == "" {
			t.Errorf("rule %d is kept by nothing", r.Number)
		}
		if checked {
			name := strings.ReplaceAll(r.ID, "-", "_") + "_test.go"
			if _, err := os.Stat(name); err != nil {
				t.Errorf("rule %d is checked, and has no test: %v", r.Number, err)
			}
		}
		if r.Where != "" {
			if !tested(t, filepath.Join("..", "..", r.Where), r.Number) {
				t.Errorf("rule %d is kept by %s, of which no test says so", r.Number, r.Where)
			}
		}
	}
	if len(Rules) != 23 {
		t.Errorf("%d rules, want 23", len(Rules))
	}
}

// tested reports whether a comment of a test says that it is about a rule: "Rules 2 and 23: ...".
func tested(t *testing.T, folder string, rule int) bool {
	t.Helper()
	return said(t, folder, fmt.Sprintf(`// .*\b[Rr]ules? (\d+(,| and) )*%d\b`, rule))
}

// said reports whether a test of a folder has a text.
func said(t *testing.T, folder, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(text)
	return slices.ContainsFunc(files, func(name string) bool {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return said.Match(text)
	})
}

// off is a rule that is turned off, and what goes wrong then.
type off struct {
	rule   Rule
	faults string
	change func(*world) // of a world on which the faults go
	// wrong reports whether a plan, of which nothing is refused, would do what the rule is there to stop.
	wrong func(w *world, p Plan) bool
}

// victims are the names of the pods that a step ends.
func victims(p Plan) (all []string) {
	for _, pod := range p.Steps[0].victims {
		all = append(all, pod.Name)
	}
	return all
}

// turnedOff are the rules that are checked before anything is done.
var turnedOff = []off{
	{namedCluster, "rollout", func(w *world) { w.UID = "cluster-2" }, func(w *world, p Plan) bool { return p.Cluster.UID != w.UID }},
	{twoKeys, "rollout", func(w *world) { w.Namespaces[0].Labels = nil }, func(w *world, p Plan) bool {
		return p.Steps[0].Touches[0].Object.UID == w.web().UID // it was not allowed
	}},
	{permitted, "drain", func(w *world) { w.deny("patch nodes") }, func(_ *world, p Plan) bool {
		return p.Steps[0].Touches[0].Field == "spec.unschedulable" // of which the undo would be refused
	}},
	{noSecrets, "rollout", func(w *world) { w.Load[0].Secret = true }, func(w *world, p Plan) bool { return w.Load[0].Secret && len(p.Steps) == 1 }},
	{recreatable, "delete-pod", func(w *world) {
		w.Admitted[Object{Kind: KindDeployment, Namespace: shop, Name: "web", UID: w.web().UID}] = errors.New("denied")
	}, func(w *world, p Plan) bool {
		owner := newView(&w.Snapshot).ownerOf(p.Steps[0].victims[0])
		return w.Admitted[owner.Object] != nil // the pod would not come back
	}},
	{evictNeverForce, "drain", func(w *world) {
		w.neighbour("w1", "w2", "w3")
		w.each("smtp", func(p *corev1.Pod) { p.OwnerReferences = nil })
	}, func(_ *world, p Plan) bool {
		return slices.ContainsFunc(p.Steps[0].victims, func(p corev1.Pod) bool { return metav1.GetControllerOf(&p) == nil }) // which nothing makes again
	}},
	{blastRadius, "node-kill", func(w *world) {
		w.Budgets = nil
		w.each("web", func(p *corev1.Pod) { p.Spec.NodeName = "w1" })
	}, func(_ *world, p Plan) bool { return len(victims(p)) == 3 }}, // all that there are, and the file allows one
	{neighbours, "drain", func(w *world) {
		w.neighbour("w1", "w2", "w3")
		w.Limits.Neighbours = nil
	}, func(_ *world, p Plan) bool {
		return slices.ContainsFunc(victims(p), func(name string) bool { return strings.HasPrefix(name, "smtp-") })
	}},
	{timeBox, "rollout", func(w *world) { w.Limits.Duration = 3 * time.Hour }, func(_ *world, p Plan) bool { return p.Steps[0].Box.Duration > MaxDuration }},
	{steadyFirst, "rollout", func(w *world) { w.web().Status.UpdatedReplicas = 1 }, func(w *world, p Plan) bool {
		return p.Steps[0].target.unsettled != "" && p.Steps[0].Fault == "rollout" // into one that is running
	}},
	{leaveAsFound, "scale", func(w *world) {
		w.stateful().Spec.PersistentVolumeClaimRetentionPolicy = retention(retain, remove)
	}, func(_ *world, p Plan) bool {
		through := p.Steps[0].Touches[0].Ours
		return p.Steps[0].target.volumesGo && through[len(through)-1] == "2" // of three, whose last one loses its data
	}},
	{ownedFields, "scale", func(w *world) {
		w.web().ManagedFields = []metav1.ManagedFieldsEntry{managedBy("argocd-controller", `{"f:spec":{"f:replicas":{}}}`)}
	}, func(_ *world, p Plan) bool { return p.Steps[0].Touches[0].Field == "spec.replicas" }}, // which Argo CD puts back
	{oneAtATime, "rollout", func(w *world) { w.Holder = "in use by run 7" }, func(w *world, p Plan) bool { return w.Holder != "" && len(p.Steps[0].Touches) > 0 }},
	{gentleLoad, "rollout", func(w *world) { w.Load[0].Rate = 5000 }, func(w *world, p Plan) bool { return w.Load[0].Rate > GentleRate && !w.Load[0].Asked }},
	{nodeHook, "node-kill", func(w *world) { w.Hook.Undo = "" }, func(w *world, p Plan) bool { return w.Hook.Undo == "" && p.Steps[0].Node != nil }},
}

// Each rule that is checked stops something that no other rule stops: it is the only one that refuses, and without it the plan would do it.
func TestEachRuleTurnedOffLetsSomethingGoWrong(t *testing.T) {
	tried := map[int]bool{}
	for _, test := range turnedOff {
		tried[test.rule.Number] = true
		t.Run(test.rule.ID, func(t *testing.T) {
			w := newWorld(strings.Fields(test.faults)...)
			test.change(w)
			for _, r := range w.plan().refusals() {
				if r.Rule != test.rule.Number {
					t.Errorf("rule %d refuses as well: %s", r.Rule, r.Reason)
				}
			}
			if !w.plan().Refused() {
				t.Fatal("nothing is refused")
			}
			was := Rules[test.rule.Number-1]
			defer func() { Rules[test.rule.Number-1] = was }()
			Rules[test.rule.Number-1] = Rule{Number: was.Number, ID: was.ID}
			p := w.plan()
			if p.Refused() || !test.wrong(w, p) {
				t.Errorf("without the rule nothing goes wrong: refused %+v, steps %+v", p.refusals(), p.Steps)
			}
		})
	}
	for _, r := range Rules {
		if checked := r.run != nil || r.step != nil; checked != tried[r.Number] {
			t.Errorf("rule %d is checked: %t, and is turned off by this test: %t", r.Number, checked, tried[r.Number])
		}
		if r.run == nil && r.step == nil && !said(t, filepath.Join("..", "..", r.Where), fmt.Sprintf(`// Rule %d, turned off: `, r.Number)) {
			t.Errorf("rule %d is kept by %s, of which no test turns it off", r.Number, r.Where)
		}
	}
}
