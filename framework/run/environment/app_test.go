package environment

import (
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// TestNothingOfTheLoadIsInTheNamespaceUnderTest: a level of Pod Security, a quota or a webhook there would keep the load worker from starting, and
// the load worker would take a place of the quota.
func TestNothingOfTheLoadIsInTheNamespaceUnderTest(t *testing.T) {
	s := quiet()
	s.Load = scenario.DefaultLoad
	env, cluster, _ := newEnvironment(t, s.WithDefaults())
	if err := env.makeNamespace(t.Context()); err != nil {
		t.Fatal(err)
	}
	objects, err := env.wanted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	jobs := 0
	for _, o := range objects {
		if _, is := o.(*batchv1.Job); is {
			jobs++
			if o.GetNamespace() != "hf-load-chaos-quiet" {
				t.Errorf("the load workers are in namespace %s", o.GetNamespace())
			}
		} else if o.GetNamespace() != env.namespace {
			t.Errorf("%s %s is in namespace %s", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), o.GetNamespace())
		}
	}
	if jobs != 1 {
		t.Fatalf("%d Jobs, want one", jobs)
	}
	for namespace, level := range map[string]string{"hf-load-chaos-quiet": "privileged", env.namespace: "restricted"} {
		made := cluster.Get("/api/v1/namespaces/" + namespace)
		if made == nil || made.GetLabels()["pod-security.kubernetes.io/enforce"] != level || made.GetLabels()[workloads.LabelPartOf] != workloads.PartOf {
			t.Errorf("namespace %s: %v, want the level %s", namespace, made, level)
		}
	}
	if err := env.emptyNamespaces(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"hf-load-chaos-quiet", env.namespace} {
		if cluster.Get("/api/v1/namespaces/"+namespace) != nil {
			t.Errorf("namespace %s is left", namespace)
		}
	}
}

// TestOnlyWhatRequestsCarryIsLent of a Secret to the load workers.
func TestOnlyWhatRequestsCarryIsLent(t *testing.T) {
	s := quiet()
	s.Load = scenario.DefaultLoad
	env, _, _ := newEnvironment(t, s.WithDefaults())
	client := fake.NewClientset(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: "token"},
		Data:       map[string][]byte{"header": []byte("abc"), "admin": []byte("never")},
	})
	env.client = client
	if err := env.lendSecret(t.Context(), "token", []string{"header", "absent"}); err != nil {
		t.Fatal(err)
	}
	lent, err := client.CoreV1().Secrets("hf-load-chaos-quiet").Get(t.Context(), "token", metav1.GetOptions{})
	if err != nil || !slices.Equal(slices.Collect(maps.Keys(lent.Data)), []string{"header"}) || string(lent.Data["header"]) != "abc" {
		t.Errorf("lent: %+v, %v", lent, err)
	}
	err = env.lendSecret(t.Context(), "other", nil)
	if err == nil || !strings.HasPrefix(err.Error(), "read Secret other of namespace hf-chaos-quiet for the load workers: ") {
		t.Errorf("got %v", err)
	}
}

// TestAddresses: a Service is asked at its cluster IP, and a headless one by the name that its clients have, in full.
func TestAddresses(t *testing.T) {
	s := quiet()
	env, _, _ := newEnvironment(t, s.WithDefaults())
	port := []corev1.ServicePort{{Port: 80}}
	env.Spec.App = &app.App{Namespace: env.namespace, Services: []app.Service{
		{Namespace: env.namespace, Name: "web", Ports: port}, {Namespace: env.namespace, Name: "peers", Ports: port, Headless: true},
	}}
	of := func(name, ip string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: name}, Spec: corev1.ServiceSpec{ClusterIP: ip, Ports: port}}
	}
	env.client = fake.NewClientset(of("web", "10.96.0.7"), of("peers", corev1.ClusterIPNone))
	for from, want := range map[string]string{
		"http://web/": "10.96.0.7:80", "http://peers:8080/": "peers." + env.namespace + ".svc.cluster.local.:8080", "http://web:81/": "its Service web has no port 81",
	} {
		u, err := url.Parse(from)
		if err != nil {
			t.Fatal(err)
		}
		got, err := env.address(t.Context(), u)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
	if err := env.answers(t.Context(), load.Lane{Target: "http://peers.shop.svc.cluster.local.:80/"}); err != nil {
		t.Errorf("a name is left to the load workers: %v", err)
	}
}

// TestAddressesOutside: node ports are asked at every worker, and a load balancer at its address.
func TestAddressesOutside(t *testing.T) {
	s := quiet()
	env, _, _ := newEnvironment(t, s.WithDefaults())
	client := fake.NewClientset()
	add := func(o runtime.Object) {
		if err := client.Tracker().Add(o); err != nil {
			t.Fatal(err)
		}
	}
	var workers []netip.Addr
	for i, n := range env.Cluster.Nodes() {
		ip := netip.AddrFrom4([4]byte{172, 18, 0, byte(i + 2)})
		add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name()}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: ip.String()}}}})
		if n.Role() == clusters.Worker {
			workers = append(workers, ip)
		}
	}
	env.Spec.App = &app.App{Namespace: env.namespace}
	for name, kind := range map[string]corev1.ServiceType{"ports": corev1.ServiceTypeNodePort, "cloud": corev1.ServiceTypeLoadBalancer, "late": corev1.ServiceTypeLoadBalancer} {
		made := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: name}, Spec: corev1.ServiceSpec{Type: kind, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080}}}}
		if name == "cloud" {
			made.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.51.100.1"}}
		}
		add(made)
		env.Spec.App.Services = append(env.Spec.App.Services, app.Service{
			Namespace: env.namespace, Name: name, NodePort: kind == corev1.ServiceTypeNodePort, LoadBalancer: kind == corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Port: 80, NodePort: map[string]int32{"cloud": 30080}[name]}}, // of the others the API server chooses it
		})
	}
	env.client = client
	for from, want := range map[string]string{
		"http://ports/": "ports:30080", "http://ports:30080/": "ports:30080", "http://cloud/": "198.51.100.1:80", "http://cloud:30080/": "cloud:30080",
		"http://ports:81/": "its Service ports has no port and no node port 81", "http://late/": "its Service late has no address of a load balancer",
	} {
		u, err := url.Parse(from)
		if err != nil {
			t.Fatal(err)
		}
		got, at, err := env.outsideAddress(t.Context(), u)
		if err != nil {
			got = err.Error()
		}
		if got != want || strings.HasSuffix(want, ":30080") != slices.Equal(at, workers) {
			t.Errorf("%s: %s at %v, want %s; the workers are %v", from, got, at, want, workers)
		}
	}
}
