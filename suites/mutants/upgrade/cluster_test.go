package upgrade

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
)

// kubeadmsConfig is a part of the configuration that kubeadm v1.37 writes, with kind's patch.
const kubeadmsConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
clientConnection:
  burst: 0
  qps: 0
conntrack:
  maxPerCore: 0
iptables:
  masqueradeAll: false
  minSyncPeriod: 1s
  syncPeriod: 0s
kind: KubeProxyConfiguration
mode: nftables
nftables:
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 5s
oomScoreAdj: null
`

// newCluster returns a cluster with kube-proxy, as kubeadm sets it up. The status of its DaemonSet reports a change after one
// more read, and its completion after two more. Evictions of a pod that does not exist are answered.
func newCluster() *fake.Clientset {
	client := fake.NewClientset(
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: kubeSystem, Name: kubeProxy}, Data: map[string]string{
			proxyConfig: kubeadmsConfig, "kubeconfig.conf": "kind: Config",
		}},
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: kubeSystem, Name: kubeProxy, Generation: 1}, Status: appsv1.DaemonSetStatus{
			ObservedGeneration: 1, DesiredNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberAvailable: 3,
		}},
	)
	sets, looks := appsv1.SchemeGroupVersion.WithResource("daemonsets"), 0
	edit := func(change func(*appsv1.DaemonSet)) {
		set, err := client.Tracker().Get(sets, kubeSystem, kubeProxy)
		if err == nil {
			change(set.(*appsv1.DaemonSet))
			err = client.Tracker().Update(sets, set, kubeSystem)
		}
		if err != nil {
			panic(err)
		}
	}
	client.PrependReactor("patch", "daemonsets", func(k8stesting.Action) (bool, runtime.Object, error) {
		looks = 0
		edit(func(d *appsv1.DaemonSet) { d.Generation++ })
		return false, nil, nil
	})
	client.PrependReactor("get", "daemonsets", func(k8stesting.Action) (bool, runtime.Object, error) {
		looks++
		edit(func(d *appsv1.DaemonSet) {
			switch s := &d.Status; looks {
			case 2:
				s.ObservedGeneration, s.UpdatedNumberScheduled, s.NumberAvailable = d.Generation, 1, 2
			case 3:
				s.UpdatedNumberScheduled = 3
			case 4:
				s.NumberAvailable = 3
			}
		})
		return false, nil, nil
	})
	client.PrependReactor("create", "pods", func(a k8stesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		hooks, err := client.Tracker().List(admissionv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations"),
			admissionv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"), "")
		if err != nil {
			return true, nil, err
		}
		for _, h := range hooks.(*admissionv1.ValidatingWebhookConfigurationList).Items {
			return true, nil, apierrors.NewInternalError(errCalling(h.Webhooks[0].Name))
		}
		return true, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "holdfast-no-such-pod")
	})
	return client
}

// errCalling is the error of a v1.37 API server for a webhook that it cannot call.
type errCalling string

func (e errCalling) Error() string {
	return `failed calling webhook "` + string(e) + `": failed to call webhook: Post "https://webhook-without-replicas.kube-system.svc:443/?timeout=2s": ` +
		`dial tcp 10.96.44.7:443: connect: connection refused`
}

// stateOf is everything that a regression may change.
type stateOf struct {
	Config   map[string]string
	Notes    map[string]string
	Template map[string]string
	Services []string
	Webhooks []string
}

func state(t *testing.T, client *fake.Clientset) (s stateOf) {
	t.Helper()
	config, err := client.CoreV1().ConfigMaps(kubeSystem).Get(t.Context(), kubeProxy, metav1.GetOptions{})
	must(t, err)
	set, err := client.AppsV1().DaemonSets(kubeSystem).Get(t.Context(), kubeProxy, metav1.GetOptions{})
	must(t, err)
	services, err := client.CoreV1().Services("").List(t.Context(), metav1.ListOptions{})
	must(t, err)
	hooks, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	s.Config = config.Data
	for key, value := range config.Annotations {
		s.Notes = map[string]string{key: value}
	}
	for key, value := range set.Spec.Template.Annotations {
		s.Template = map[string]string{key: value}
	}
	for _, o := range services.Items {
		s.Services = append(s.Services, o.Name)
	}
	for _, o := range hooks.Items {
		s.Webhooks = append(s.Webhooks, o.Name)
	}
	return s
}
