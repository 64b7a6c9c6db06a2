package fault

import (
	"fmt"
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-ha/holdfast/framework/journal"
	"github.com/holdfast-ha/holdfast/framework/journal/journaltest"
)

// journals is the folder of the local copies of the worlds' journals.
var journals string

func TestMain(m *testing.M) {
	var err error
	if journals, err = os.MkdirTemp("", "holdfast-fault-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(journals)
	os.Exit(code)
}

// newJournal is a journal in a world's API server.
func (w *world) newJournal() *journal.Journal {
	f, err := os.CreateTemp(journals, "")
	if err != nil {
		panic(err)
	}
	if err := f.Close(); err != nil {
		panic(err)
	}
	return journaltest.New(w.client, f.Name(), w.steer)
}

// addSystem adds the namespace kube-system with what the journal changes there.
func (w *world) addSystem() {
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name, UID: types.UID(name), ResourceVersion: "1"}
	}
	home := named(metav1.NamespaceSystem)
	home.Namespace = ""
	_ = w.client.Tracker().Add(&corev1.Namespace{ObjectMeta: home})
	_ = w.client.Tracker().Add(&appsv1.DaemonSet{ObjectMeta: named("kube-proxy")})
	_ = w.client.Tracker().Add(&appsv1.Deployment{ObjectMeta: named("coredns"), Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}})
}

// steer is the controllers of what is in kube-system.
func (w *world) steer(o runtime.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch o := o.(type) {
	case *appsv1.DaemonSet:
		w.runs(o.Name, o.Spec.Template.Spec.NodeSelector["holdfast.dev/away"] == "")
	case *appsv1.Deployment:
		w.runs(o.Name, *o.Spec.Replicas > 0)
	}
}

// runs says whether a component runs from now on. The caller holds the lock.
func (w *world) runs(component string, does bool) {
	c := &w.components
	c.away = slices.DeleteFunc(c.away, func(s string) bool { return s == component })
	if does {
		c.started++
	} else if !w.deaf {
		c.away = append(c.away, component)
	}
}

// system is a Deployment of kube-system.
func (w *world) system(name string) runtime.Object {
	o, err := w.client.Tracker().Get(deployments, metav1.NamespaceSystem, name)
	if err != nil {
		panic(err)
	}
	return o
}
