package intent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/run/intent"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/reading"
)

const file = `apiVersion: holdfast.dev/v1alpha1
kind: App
cluster: {uid: cluster-1}
app: {namespace: shop}
probes: [{name: home, url: "http://web/"}, {name: fast, url: "http://web/fast", rate: 50}]
faults: [rollout, cordon]
disturb: {pods: 2, before: ./tell.sh}
`

// shop is a cluster in which two workloads run, of which a probe reaches one.
func shop() reading.Reader {
	deployment := func(name string) *appsv1.Deployment {
		labels := map[string]string{"app": name}
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "shop/" + name + ":1"}}},
			}},
		}
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080}},
	}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Address: "10.0.0.5"}}}}
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
		Host: "shop.example.com", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
			Path: "/", Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web"}},
		}}}},
	}}}}
	kinds := map[schema.GroupVersionResource]string{{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}: "HTTPRouteList"}
	return reading.Reader{
		Client:  fake.NewClientset(deployment("web"), deployment("queue"), service, node, ingress),
		Dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds),
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), appfile.Name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestRead(t *testing.T) {
	got, err := intent.Read(t.Context(), appfile.Choice{File: write(t, file)}, shop(), intent.Options{Context: "staging", Disturb: true, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	r := got.Request
	if r.UID != "cluster-1" || r.Context != "staging" || !r.Disturb || r.Namespace != "shop" || r.Home != "holdfast" || r.Seed != 7 || r.Limits.Pods != 2 {
		t.Errorf("got %+v", r)
	}
	if diff := cmp.Diff([]disturb.Object{{Kind: disturb.KindDeployment, Name: "web"}}, r.Workloads); diff != "" {
		t.Errorf("workloads (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]disturb.Load{{Name: "home", Rate: disturb.GentleRate}, {Name: "fast", Rate: 50, Asked: true}}, r.Load); diff != "" {
		t.Errorf("load (-want +got):\n%s", diff)
	}
	if len(got.Probes) != 2 || got.Probes[0].URL != "http://web.shop/" || got.Probes[1].URL != "http://web.shop/fast" || got.Probes[1].Rate != 50 {
		t.Errorf("probes %+v", got.Probes)
	}
	want := []string{"before the first fault, this machine would run: ./tell.sh", "no probe reaches Deployment queue, so nothing is done to it"}
	if diff := cmp.Diff(want, got.Notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// What the file promises counts, and is looked through before anything is done.
func TestReadPromises(t *testing.T) {
	const promises = "promises: {voluntary: {failed: 3}, involuntary: {ends-within: 20s}, probes: {fast: {voluntary: {failed: 0, slower-by: 50ms}}}}\n"
	got, err := intent.Read(t.Context(), appfile.Choice{File: write(t, file+promises)}, shop(), intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := apptest.Promises{
		Each: apptest.Promise{Failed: apptest.Allowance{AtMost: 3}, EndsWithin: 20 * time.Second},
		Of:   map[string]apptest.Promise{"fast": {SlowerBy: 50 * time.Millisecond, EndsWithin: 20 * time.Second}},
	}
	if diff := cmp.Diff(want, got.Promises); diff != "" {
		t.Errorf("promises (-want +got):\n%s", diff)
	}
	if notes := strings.Join(got.Notes(), "\n"); !strings.Contains(notes, "holdfast.yaml promises less than the default: of the requests of probe home, 3 may fail") {
		t.Errorf("notes %s", notes)
	}
	for promises, want := range map[string]string{
		"promises: {probes: {hone: {voluntary: {failed: 3}}}}":                                                      "holdfast.yaml: line 8, column 21: promises.probes: there is no probe hone: did you mean home?",
		"promises: {voluntary: {failed: 3, slower-by: 50ms}}":                                                       "failed and slower-by for the same probe",
		"promises: {voluntary: {failed: 3}}\n#probes: [{name: home, url: \"http://web/\", expect: {like: before}}]": "expect like before, and failed above 0",
	} {
		text := file + promises
		if other, probes, is := strings.Cut(promises, "#"); is {
			text = strings.Replace(file, "probes:", "#", 1) + other + probes
		}
		if _, err := intent.Read(t.Context(), appfile.Choice{File: write(t, text)}, shop(), intent.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", promises, err, want)
		}
	}
}

// Flags are enough, and replace the faults of a file.
func TestReadFlags(t *testing.T) {
	got, err := intent.Read(t.Context(), appfile.Choice{Namespace: "shop", URLs: []string{"http://web/"}, Faults: []string{"drain"}}, shop(), intent.Options{})
	if err != nil || len(got.Request.Faults) != 1 || got.Request.Faults[0].Name != "drain" || len(got.Request.Workloads) != 1 {
		t.Errorf("%+v, %v", got.Request, err)
	}
	if got.Request.UID != "" || got.Request.Context != "" {
		t.Errorf("a cluster is named that the user has not named: %+v", got.Request)
	}
}

// A URL may lead to the application from outside of the cluster.
func TestReadWhatIsReachedFromOutside(t *testing.T) {
	for _, url := range []string{"http://10.0.0.5:30080/", "https://shop.example.com/"} {
		got, err := intent.Read(t.Context(), appfile.Choice{Namespace: "shop", URLs: []string{url}}, shop(), intent.Options{})
		if err != nil || len(got.Request.Workloads) != 1 || got.Request.Workloads[0].Name != "web" || got.Probes[0].URL != url {
			t.Errorf("%s: %+v, %v", url, got, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		choice appfile.Choice
		want   string
	}{
		"no namespace":      {appfile.Choice{URLs: []string{"http://web/"}}, "no namespace: name that of the application"},
		"no such namespace": {appfile.Choice{Namespace: "shp", URLs: []string{"http://web/"}}, "namespace shp has no Deployment and no StatefulSet"},
		"no probe":          {appfile.Choice{Namespace: "shop"}, "no probe: give a URL with --url, such as http://SERVICE.shop/. Services of the namespace: web"},
		"no such fault":     {appfile.Choice{Namespace: "shop", URLs: []string{"http://web/"}, Faults: []string{"freeze"}}, `fault "freeze": on a cluster that holdfast did not make`},
		"no such Service":   {appfile.Choice{Namespace: "shop", URLs: []string{"http://wep/"}}, "it is not known which Service of namespace shop the requests to http://wep.shop/ reach"},
		"no such node port": {appfile.Choice{Namespace: "shop", URLs: []string{"http://10.0.0.6:30080/"}}, "it is not known which Service"},
		"node ports":        {appfile.Choice{File: write(t, strings.Replace(file, "url: \"http://web/\"", "url: \"http://web/\", from: outside", 1))}, "from: outside is for a cluster that holdfast makes: give the URL that clients outside of yours have, with --load outside"},
		"no such file":      {appfile.Choice{File: "/nowhere/holdfast.yaml"}, "/nowhere/holdfast.yaml"},
	} {
		if _, err := intent.Read(t.Context(), test.choice, shop(), intent.Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
