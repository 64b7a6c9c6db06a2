package audit

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/gateway"
)

// api is what the backend sends requests to: a Service with a node port.
func api() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "core", Name: "api"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, Selector: map[string]string{"app": "api"},
			Ports: []corev1.ServicePort{{Port: 443, NodePort: 30443, TargetPort: intstr.FromString("https")}},
		},
	}
}

func configMap(immutable bool, conf string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "proxy"}, Immutable: &immutable,
		Data: map[string]string{"other": "10.0.0.1:9", "nginx.conf": conf},
	}
}

func mounts(d *appsv1.Deployment) {
	d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "conf", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "proxy"}},
	}}}
}

func TestFixedNodePorts(t *testing.T) {
	arg := func(text string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Args = []string{"serve", text} }
	}
	const upstreams = "upstream api { server 10.0.0.1:30443; server 10.0.0.3:30443; }\n"
	caught(t, "fixed-node-ports",
		mutant{
			name: "an argument", harm: arg("--upstreams=10.0.0.1:30443,10.0.0.4:30443"), more: []runtime.Object{api()}, caution: "cluster DNS",
			evidence: "argument 2 of container backend names 10.0.0.1:30443 and 10.0.0.4:30443: node ports of Service api.core.svc:443 of nodes a1 and b2",
		},
		mutant{
			name: "a variable, with a node's name", more: []runtime.Object{api()}, statefulSet: true,
			harm: func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "API", Value: "https://b1:30443/it's?a=1&b=2"}}
			},
			evidence: "variable API of container backend names b1:30443: node ports of Service api.core.svc:443 of node b1",
		},
		mutant{
			name: "a command that starts up", more: []runtime.Object{api()},
			harm: func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "wait", Image: "x", Command: []string{"wait-for", "10.0.0.6:30443"}}}
			},
			evidence: "word 2 of the command of container wait names 10.0.0.6:30443: node ports of Service api.core.svc:443 of node c2",
		},
		mutant{
			name: "a ConfigMap", more: []runtime.Object{api(), configMap(false, upstreams)}, harm: mounts, steps: 2,
			evidence: "nginx.conf in ConfigMap proxy names 10.0.0.1:30443 and 10.0.0.3:30443: node ports of Service api.core.svc:443 of nodes a1 and b1",
		},
		mutant{
			name: "a ConfigMap that cannot change", more: []runtime.Object{api(), configMap(true, upstreams)}, harm: mounts, steps: -1,
			evidence: "nginx.conf in ConfigMap proxy names 10.0.0.1:30443 and 10.0.0.3:30443: node ports of Service api.core.svc:443 of nodes a1 and b1",
			caution:  "name api.core.svc:443 instead",
		},
		mutant{
			name: "a node port of an unknown Service", harm: arg("10.0.0.1:31000"), steps: -1,
			evidence: "argument 2 of container backend names 10.0.0.1:31000: node ports of node a1",
			caution:  "no Service that was read has node port 31000",
		},
	)
	clean(t,
		mutant{name: "another machine", harm: arg("10.9.9.9:30443"), more: []runtime.Object{api()}},
		mutant{name: "a node, but no node port", harm: arg("10.0.0.1:9100"), more: []runtime.Object{api()}},
		mutant{name: "the Service", harm: arg("api.core.svc:30443"), more: []runtime.Object{api()}},
		mutant{name: "a ConfigMap that it does not use", more: []runtime.Object{api(), configMap(false, upstreams)}},
	)
}

// Endpoints created by hand are node ports of the workload behind them.
func TestHandMadeEndpoints(t *testing.T) {
	front := func(namespace string) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "front"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(30080)}}},
		}
	}
	written := func(namespace, by string, port int32, addresses ...string) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "front-1", Labels: map[string]string{
				discoveryv1.LabelServiceName: "front", discoveryv1.LabelManagedBy: by,
			}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Name: new("any")}, {Name: new("web"), Port: &port}},
		}
		for _, a := range addresses {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
		}
		return s
	}
	nodePort := workloads.Backend{NodePort: 30080}
	caught(t, "fixed-node-ports",
		mutant{
			name: "by hand", backend: nodePort, steps: 2,
			more:     []runtime.Object{front(shop), written(shop, "me", 30080, "10.0.0.1", "10.0.0.2")},
			evidence: "the endpoints of Service shop/front were created by hand (EndpointSlice front-1): node port 30080 of a1 and a2",
		},
		mutant{
			name: "mirrored", backend: nodePort, steps: 1,
			more:     []runtime.Object{front(shop), written(shop, mirror, 30080, "10.0.0.1")},
			evidence: "the endpoints of Service shop/front were created by hand (EndpointSlice front-1): node port 30080 of a1",
		},
		mutant{
			name: "of another namespace", backend: nodePort, steps: -1,
			more:     []runtime.Object{front("other"), written("other", "", 30080, "10.0.0.1")},
			evidence: "the endpoints of Service other/front were created by hand (EndpointSlice front-1): node port 30080 of a1",
			caution:  "name backend.shop.svc",
		},
	)
	clean(t,
		mutant{
			name: "kept by Kubernetes", backend: nodePort,
			more: []runtime.Object{front(shop), written(shop, sliceController, 30080, "10.0.0.1")},
		},
		mutant{
			name: "another machine", backend: nodePort,
			more: []runtime.Object{front(shop), written(shop, "me", 30080, "192.168.1.9")},
		},
		mutant{
			name: "another port", backend: nodePort, more: []runtime.Object{front(shop), written(shop, "me", 5432, "10.0.0.1")},
		},
	)
}

// The gateway of the mutant fixed-upstreams is found, and its patched arguments parse to the Service's name.
func TestFixedUpstreamsOfAGateway(t *testing.T) {
	objects, err := workloads.Gateway{
		Replicas: 3, OnWorkers: true, Upstreams: []string{"10.0.0.1:30080", "10.0.0.2:30080"}, Health: workloads.NoHealth,
	}.Objects(place)
	if err != nil {
		t.Fatal(err)
	}
	m := mutant{backend: workloads.Backend{NodePort: 30080}}
	for _, o := range objects {
		o.SetUID("uid of gateway")
		m.more = append(m.more, o)
	}
	w := newWorld(t, m)
	w.settle()
	r := w.audit()
	if len(r.Findings) != 1 || r.Findings[0].Rule != "fixed-node-ports" || r.Findings[0].Name != "gateway" {
		t.Fatalf("found %s", listed(r.Findings))
	}
	w.typed(r.Findings[0].Fix[0])
	w.settle()
	if r = w.audit(); len(r.Findings) > 0 {
		t.Errorf("after its patch: found %s", listed(r.Findings))
	}
	d, err := w.client.AppsV1().Deployments(shop).Get(w.ctx, "gateway", metav1.GetOptions{})
	w.must(err)
	args := d.Spec.Template.Spec.Containers[0].Args
	o, err := gateway.Parse(args[2:])
	if err != nil || strings.Join(o.Upstreams, " ") != "backend.shop.svc:80" {
		t.Errorf("%v means upstreams %v (%v)", args, o.Upstreams, err)
	}
}
