package fault

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/workloads"
)

// have adds what the workload's pods read.
func (w *world) have(kind string) {
	meta := metav1.ObjectMeta{Name: "backend", Namespace: "ns"}
	var o runtime.Object = &corev1.Secret{ObjectMeta: meta}
	if kind == "ConfigMap" {
		o = &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"a": "b"}}
	}
	_ = w.client.Tracker().Add(o)
}

// configured has the API server say yes, and do nothing if it is deaf.
func (w *world) configured(a k8stesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.patches = append(w.patches, string(a.(k8stesting.PatchAction).GetPatch()))
	if w.deaf {
		return true, nil, nil
	}
	if !w.frozen { // the kubelets' turn
		has := !strings.Contains(w.patches[len(w.patches)-1], "null")
		if w.lag == 0 {
			w.configFiles = has
			return false, nil, nil
		}
		time.AfterFunc(w.lag, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.configFiles = has
		})
	}
	return false, nil, nil
}

// filesOf are those of some files that kubelets have written.
func (w *world) filesOf(files []string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.configFiles {
		return ""
	}
	return strings.Join(slices.DeleteFunc(slices.Clone(files), func(file string) bool { return strings.Contains(file, "/"+w.late+"/") }), "\n")
}

func (w *world) config() map[string]string {
	o, err := w.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("configmaps"), "ns", "backend")
	if err != nil {
		panic(err)
	}
	return o.(*corev1.ConfigMap).Data
}

var (
	live   = ConfigChange{Config: workloads.Config{Kind: "ConfigMap", Name: "backend", Folder: "volumes/kubernetes.io~configmap/conf"}}
	secret = ConfigChange{Config: workloads.Config{Kind: "Secret", Name: "backend"}}
)

// A change that running pods see is active when each of them has it, by the file on its node, and over when none has it. The object is then exactly
// as it was.
func TestAConfigurationThatRunningPodsSee(t *testing.T) {
	for name, test := range map[string]struct {
		lag  time.Duration
		late string // the UID of a pod whose kubelet does nothing
		want string // an error
	}{
		"at once":                 {0, "-", ""},
		"as late as kubelets are": {90 * time.Second, "-", ""},
		"one pod never sees it":   {0, "3", "waited 3m0s for the pods of backend to have the change of ConfigMap backend: last seen by the files on their nodes, 5 of 6 pods have the change"},
	} {
		t.Run(name, inBubble(func(t *testing.T) {
			w, target := worldFor(t, live)
			w.lag, w.late = test.lag, test.late
			before := maps.Clone(w.config())
			began := time.Now()
			heal, err := inject(t.Context(), live, target)
			switch took := time.Since(began); {
			case test.want != "":
				if err == nil || !strings.HasPrefix(err.Error(), test.want) || len(w.seen) != 0 {
					t.Errorf("got %v, seen %q", err, w.seen)
				}
			case err != nil || len(w.seen) != 1 || w.seen[0] != "nodes=[] pods=6 by the files on their nodes, 6 of 6 pods have the change of ConfigMap backend" || w.hit != 6:
				t.Errorf("seen %q of %d, %v", w.seen, w.hit, err)
			case took < test.lag || took > test.lag+2*configLook:
				t.Errorf("it took %s", took)
			case len(w.config()) != 2 || len(w.podNames()) != 6 || w.podNames()[0] != "pod-001":
				t.Errorf("%v, %q", w.config(), w.podNames())
			}
			if err := heal(t.Context()); err != nil || !maps.Equal(w.config(), before) || w.configFiles {
				t.Errorf("undo: %v, %v, files %t", err, w.config(), w.configFiles)
			}
			if len(w.patches) != 2 {
				t.Errorf("patched %q", w.patches)
			}
		}))
	}
}

// What only new pods see, or what a checksum follows, comes with a rolling update. The object and the template are exactly as before afterwards.
func TestAConfigurationThatIsRolledOut(t *testing.T) {
	followed := live
	followed.Config.Followed = true
	for name, f := range map[string]ConfigChange{"read at the start": secret, "a checksum follows it": followed} {
		t.Run(name, inBubble(func(t *testing.T) {
			w, target := worldFor(t, f)
			old, before := w.podNames(), w.deployment().Spec.Template
			heal, err := inject(t.Context(), f, target)
			if err != nil || len(w.seen) != 1 || !strings.HasPrefix(w.seen[0], "nodes=[] pods=6 6 pods exist, 6 of the newest revision") || w.hit != 0 {
				t.Fatalf("seen %q, %v", w.seen, err)
			}
			if now := w.podNames(); slices.ContainsFunc(now, func(name string) bool { return slices.Contains(old, name) }) {
				t.Errorf("of %q there are still some in %q", old, now)
			}
			if active, saw, err := w.lasting(t.Context()); !active || err != nil {
				t.Errorf("before the undo it is no longer in force: %s, %v", saw, err)
			}
			if err := heal(t.Context()); err != nil || len(w.deployment().Spec.Template.Annotations) != len(before.Annotations) {
				t.Errorf("undo: %v, %v", err, w.deployment().Spec.Template)
			}
			value := `"Y2hhbmdlZA=="`
			if f.Config.Kind == "ConfigMap" {
				value = `"changed"`
			}
			if want := `{"data":{".holdfast.dev-change":` + value + `}}`; w.patches[0] != want || !slices.Contains(w.patches, `{"data":{".holdfast.dev-change":null}}`) {
				t.Errorf("patched %q", w.patches)
			}
		}))
	}
}

// A change that is there already is not ours to take out, and an object that is not there cannot be changed.
func TestAConfigurationThatCannotBeChanged(t *testing.T) {
	for want, spoil := range map[string]func(*world, *ConfigChange){
		"change ConfigMap backend: it has the key .holdfast.dev-change already: remove it first": func(w *world, _ *ConfigChange) {
			m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "backend", Namespace: "ns"}, Data: map[string]string{configKey: "of another"}}
			_ = w.client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("configmaps"), m, "ns")
		},
		`read ConfigMap other: configmaps "other" not found`: func(_ *world, f *ConfigChange) { f.Config.Name = "other" },
		"change the configuration of backend: none is named": func(_ *world, f *ConfigChange) { f.Config.Name = "" },
	} {
		w, target := worldFor(t, live)
		f := live
		spoil(w, &f)
		heal, err := inject(t.Context(), f, target)
		if err == nil || err.Error() != want || len(w.patches) != 0 {
			t.Errorf("got %v, want %s; patched %q", err, want, w.patches)
		}
		if err := heal(t.Context()); err != nil || len(w.patches) != 0 {
			t.Errorf("undo: %v, patched %q", err, w.patches)
		}
	}
}
