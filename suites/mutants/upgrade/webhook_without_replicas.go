package upgrade

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
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
		make: func(ctx context.Context, client kubernetes.Interface) error {
			if _, err := client.CoreV1().Services(kubeSystem).Create(ctx, emptyService(), metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create Service %s: %w", webhookName, err)
			}
			hooks := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
			if _, err := hooks.Create(ctx, blockingWebhook(), metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create ValidatingWebhookConfiguration %s: %w", webhookName, err)
			}
			return seeEvictions(ctx, client, true)
		},
		left: func(ctx context.Context, client kubernetes.Interface) (string, error) {
			ours := metav1.ListOptions{LabelSelector: workloads.LabelPartOf + "=holdfast," + workloads.LabelComponent + "=plant"}
			hooks, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, ours)
			if err != nil {
				return "", fmt.Errorf("look for webhooks: %w", err)
			}
			services, err := client.CoreV1().Services(kubeSystem).List(ctx, ours)
			if err != nil {
				return "", fmt.Errorf("look for Services: %w", err)
			}
			if len(hooks.Items)+len(services.Items) == 0 {
				return "", nil
			}
			return "the webhook without replicas", nil
		},
		revert: func(ctx context.Context, client kubernetes.Interface) error {
			// Delete both, even if one deletion fails. The webhook first: without it the Service does no harm.
			err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(ctx, webhookName, metav1.DeleteOptions{})
			if err := errors.Join(unlessGone(err), unlessGone(client.CoreV1().Services(kubeSystem).Delete(ctx, webhookName, metav1.DeleteOptions{}))); err != nil {
				return err
			}
			return seeEvictions(ctx, client, false)
		},
	},
}

func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func webhookMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: webhookName, Labels: map[string]string{
		workloads.LabelName: webhookName, workloads.LabelPartOf: "holdfast", workloads.LabelComponent: "plant",
	}}
}

// emptyService selects pods that do not exist.
func emptyService() *corev1.Service {
	return &corev1.Service{ObjectMeta: webhookMeta(), Spec: corev1.ServiceSpec{
		Selector: map[string]string{workloads.LabelName: webhookName},
		Ports:    []corev1.ServicePort{{Port: 443}},
	}}
}

func blockingWebhook() *admissionv1.ValidatingWebhookConfiguration {
	return &admissionv1.ValidatingWebhookConfiguration{
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
