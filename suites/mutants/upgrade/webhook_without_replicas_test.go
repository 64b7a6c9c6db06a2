package upgrade

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stesting "k8s.io/client-go/testing"
)

func TestWebhookWithoutReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster()
		before := state(t, client)
		client.ClearActions()
		revert, err := webhookWithoutReplicas.Apply(t.Context(), client)
		must(t, err)
		planted := state(t, client)
		if diff := cmp.Diff([][]string{{webhookName}, {webhookName}}, [][]string{planted.Services, planted.Webhooks}); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, a := range client.Actions() { // no pod is evicted: the evictions are dry runs for a pod that does not exist
			create, ok := a.(k8stesting.CreateActionImpl)
			if !ok || a.GetSubresource() != "eviction" {
				continue
			}
			if e := create.Object.(*policyv1.Eviction); e.Name != "holdfast-no-such-pod" || !cmp.Equal(e.DeleteOptions.DryRun, []string{"All"}) {
				t.Errorf("it evicts %+v", e)
			}
		}
		must(t, revert(t.Context()))
		if diff := cmp.Diff(before, state(t, client)); diff != "" {
			t.Errorf("what was left (-before +after):\n%s", diff)
		}
	})
}

// The parts of the webhook's configuration that decide whether a drain is blocked.
func TestTheWebhookMustConsentToEvictions(t *testing.T) {
	hook := blockingWebhook().Webhooks[0]
	want := []admissionv1.RuleWithOperations{{
		Operations: []admissionv1.OperationType{"CREATE"},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/eviction"}},
	}}
	if diff := cmp.Diff(want, hook.Rules); diff != "" || *hook.FailurePolicy != admissionv1.Fail || *hook.SideEffects != admissionv1.SideEffectClassNone {
		t.Errorf("%+v\n%s", hook, diff)
	}
	if hook.NamespaceSelector != nil || hook.ObjectSelector != nil {
		t.Error("the webhook does not apply to all pods")
	}
	service := emptyService()
	if to := hook.ClientConfig.Service; to.Name != service.Name || to.Namespace != kubeSystem || service.Spec.Ports[0].Port != 443 {
		t.Errorf("the webhook calls %+v, and the Service is %+v", to, service)
	}
	if len(service.Spec.Selector) == 0 { // without a selector, endpoints could be created by hand
		t.Error("the Service selects nothing")
	}
	pod := labels.Set{"app.kubernetes.io/name": "backend", "k8s-app": "kube-dns"}
	if labels.SelectorFromSet(service.Spec.Selector).Matches(pod) {
		t.Error("the Service selects existing pods")
	}
}

// The regression takes effect when the API server refuses evictions because of its webhook, and only then.
func TestAWebhookThatIsNotAsked(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "holdfast-no-such-pod")
	for name, test := range map[string]struct {
		answer error
		want   string
	}{
		"not asked":            {gone, "waited 1m0s for evictions to be refused: last seen the webhook is not called ("},
		"refused by another":   {apierrors.NewInternalError(errCalling("other.example.org")), `last error: Internal error occurred: failed calling webhook "other.example.org"`},
		"nothing there, gone?": {nil, "a pod that does not exist was evicted"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newCluster()
				client.PrependReactor("create", "pods", func(k8stesting.Action) (bool, runtime.Object, error) {
					return true, &policyv1.Eviction{}, test.answer
				})
				_, err := webhookWithoutReplicas.Apply(t.Context(), client)
				wantError(t, err, test.want)
			})
		})
	}
}

// The revert returns when the API server no longer calls the webhook.
func TestTheRevertOfTheWebhookIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster()
		revert, err := webhookWithoutReplicas.Apply(t.Context(), client)
		must(t, err)
		forgets := time.Now().Add(3 * time.Second)
		client.PrependReactor("create", "pods", func(k8stesting.Action) (bool, runtime.Object, error) {
			return time.Now().Before(forgets), nil, apierrors.NewInternalError(errCalling(webhook))
		})
		must(t, revert(t.Context()))
		if time.Now().Before(forgets) {
			t.Error("the revert returned while evictions were still refused")
		}
	})
}

// Services and webhooks that holdfast did not create are neither found nor removed.
func TestOthersAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster()
		_, err := client.CoreV1().Services(kubeSystem).Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Name: "kube-dns", Labels: map[string]string{"app.kubernetes.io/part-of": "holdfast"},
		}}, metav1.CreateOptions{})
		must(t, err)
		before := state(t, client)
		if reverted, err := Revert(t.Context(), client); err != nil || len(reverted) > 0 {
			t.Errorf("reverted %v, %v", reverted, err)
		}
		if diff := cmp.Diff(before, state(t, client)); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	})
}
