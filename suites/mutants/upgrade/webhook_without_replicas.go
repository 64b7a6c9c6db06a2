package upgrade

import (
	"context"
	"errors"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/journal"
	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/workloads"
)

const (
	webhookName = "webhook-without-replicas"
	// webhook is the full name of the webhook, which the API server's errors contain.
	webhook = "evictions." + webhookName + ".holdfast.dev"
	// webhookLimit bounds how long the API server takes to call a new webhook, or to stop calling a deleted one: seconds, by a
	// watch. Each attempt takes as long as a call that nothing answers.
	webhookLimit = time.Minute
	callSeconds  = 2
)

// refusal is a part of the API server's error when it cannot call a required webhook.
//
// Source: k8s.io/apiserver/pkg/admission/plugin/webhook/errors
const refusal = `failed calling webhook "` + webhook + `"`

// webhookWithoutReplicas makes every eviction depend on a webhook whose Service has no endpoints. No node can be drained then,
// and kubectl does not retry, as it would if a budget refused the eviction.
//
// Source: https://kubernetes.io/docs/concepts/cluster-administration/admission-webhooks-good-practices/
var webhookWithoutReplicas = Regression{
	Name:  webhookName,
	Does:  "a validating webhook that must consent to every eviction has no replicas",
	Cause: refusal,
	When:  BeforeWorkers,
	cluster: &change{
		plan: func(context.Context, kubernetes.Interface) ([]journal.Change, error) {
			service, err := journal.CreateObject("services", emptyService())
			if err != nil {
				return nil, err
			}
			hook, err := journal.CreateObject("validatingwebhookconfigurations", blockingWebhook())
			return []journal.Change{service, hook}, err
		},
		see: seeEvictions,
	},
}

func webhookMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: webhookName, Labels: map[string]string{
		workloads.LabelName: webhookName, workloads.LabelPartOf: "holdfast", workloads.LabelComponent: "plant",
	}}
}

// emptyService selects pods that do not exist.
func emptyService() *corev1.Service {
	meta := webhookMeta()
	meta.Namespace = kubeSystem
	return &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Selector: map[string]string{workloads.LabelName: webhookName},
		Ports:    []corev1.ServicePort{{Port: 443}},
	}}
}

func blockingWebhook() *admissionv1.ValidatingWebhookConfiguration {
	return &admissionv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: webhookMeta(),
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name:                    webhook,
			ClientConfig:            admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: kubeSystem, Name: webhookName}},
			FailurePolicy:           new(admissionv1.Fail),
			SideEffects:             new(admissionv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			TimeoutSeconds:          new(int32(callSeconds)),
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/eviction"}},
			}},
		}},
	}
}

// seeEvictions returns when the API server calls the webhook for evictions (refused), or no longer does. It tries to evict a
// pod that does not exist, as a dry run: webhooks are called before the pod is looked up.
//
// Source: EvictionREST.Create in k8s.io/kubernetes/pkg/registry/core/pod/storage/eviction.go
func seeEvictions(ctx context.Context, client kubernetes.Interface, refused bool) error {
	what := "evictions to be possible again"
	if refused {
		what = "evictions to be refused"
	}
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: kubeSystem, Name: "holdfast-no-such-pod"},
		DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
	}
	return poll.Until(ctx, what, webhookLimit, func(ctx context.Context) (bool, string, error) {
		err := client.PolicyV1().Evictions(kubeSystem).Evict(ctx, eviction)
		if err == nil {
			return false, "", errors.New("a pod that does not exist was evicted")
		}
		if apierrors.IsNotFound(err) {
			return !refused, "the webhook is not called", nil
		}
		if strings.Contains(err.Error(), refusal) {
			return refused, err.Error(), nil
		}
		return false, "", err
	})
}
