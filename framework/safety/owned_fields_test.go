package disturb

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOwnedFields(t *testing.T) {
	const replicas = `{"f:spec":{"f:replicas":{}}}`
	const restarted = `{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/restartedAt":{}}}}}}`
	const annotations = `{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{".":{},"f:team":{}}}}}}`
	managed := func(manager, fields string) func(*world) {
		return func(w *world) { w.web().ManagedFields = []metav1.ManagedFieldsEntry{managedBy(manager, fields)} }
	}
	noted := func(key, value string) func(*world) {
		return func(w *world) { w.web().Annotations = map[string]string{key: value} }
	}
	labelled := func(key, value string) func(*world) {
		return func(w *world) { w.web().Labels = map[string]string{key: value} }
	}
	scaler := func(kind string) func(*world) {
		return func(w *world) {
			w.Autoscalers = []Autoscaler{{Object: Object{Kind: kind, Namespace: shop, Name: "auto"}, Of: Object{Kind: KindDeployment, Namespace: shop, Name: "web"}}}
		}
	}
	byOperator := func(w *world) { w.web().OwnerReferences = owned1("Shop", "shop", "cr") }
	refuses(t, ownedFields, map[string]try{
		"Argo CD":                       {faults: "scale", change: managed("argocd-controller", replicas), reason: `the field manager "argocd-controller" owns spec.replicas`},
		"Argo CD under another name":    {faults: "scale", change: managed("platform-sync", replicas), reason: `the field manager "platform-sync" owns spec.replicas`},
		"Argo CD under kubectl's name":  {faults: "scale", change: noted("argocd.argoproj.io/tracking-id", "shop:apps/Deployment:shop/web"), reason: "Argo CD owns it, by its mark argocd.argoproj.io/tracking-id"},
		"Flux":                          {faults: "scale", change: managed("kustomize-controller", replicas), reason: `"kustomize-controller" owns spec.replicas`},
		"Flux by its label":             {faults: "scale", change: labelled("kustomize.toolkit.fluxcd.io/name", "apps"), reason: "Flux owns it"},
		"Helm":                          {faults: "scale", change: managed("helm", replicas), reason: `"helm" owns spec.replicas`},
		"Helm by its annotation":        {faults: "scale", change: noted("meta.helm.sh/release-name", "shop"), reason: "Helm owns it"},
		"Helm by its label":             {faults: "scale", change: labelled("app.kubernetes.io/managed-by", "Helm"), reason: "Helm owns it"},
		"an autoscaler that has scaled": {faults: "scale", change: managed("kube-controller-manager", replicas), reason: `"kube-controller-manager" owns spec.replicas`},
		"an autoscaler that has not":    {faults: "scale", change: scaler("HorizontalPodAutoscaler"), reason: "HorizontalPodAutoscaler shop/auto decides its number of replicas"},
		"KEDA":                          {faults: "scale", change: scaler("ScaledObject"), reason: "ScaledObject shop/auto decides"},
		"KEDA cannot be read": {faults: "scale", change: func(w *world) {
			w.Unread = append(w.Unread, Unread{Resource: "scaledobjects", Namespace: shop, Why: "forbidden"})
		}, reason: "scaledobjects could not be read", also: []int{13}},
		"an operator":                         {faults: "scale rollout", change: byOperator, reason: "its operator owns its whole spec: it is controlled by Shop shop"},
		"an operator, and no spec is edited":  {faults: "delete-pod drain", change: byOperator},
		"a manager that owns all of spec":     {faults: "scale rollout", change: managed("platform-sync", `{"f:spec":{}}`), reason: `"platform-sync" owns`},
		"nobody says who":                     {faults: "scale rollout", change: func(w *world) { w.web().ManagedFields = nil }, reason: "it has no managedFields"},
		"unreadable":                          {faults: "scale", change: managed("platform-sync", `{"f:spec":`), reason: "who owns spec.replicas is not known"},
		"a person scaled it":                  {faults: "scale", change: managed("kubectl-scale", replicas)},
		"holdfast scaled it before":           {faults: "scale", change: managed("holdfast-20261125-100000", replicas)},
		"holdfast has put it back":            {faults: "scale", change: managed("holdfast", replicas)},
		"Argo CD, and restartedAt":            {faults: "rollout delete-pod drain", change: managed("argocd-controller", replicas)},
		"Argo CD with annotations of its own": {faults: "rollout", change: managed("argocd-controller", annotations)},
		"a person restarted it":               {faults: "rollout", change: managed("kubectl-rollout", restarted)},
		"a controller restarts it":            {faults: "rollout", change: managed("restarter", restarted), reason: `the field manager "restarter" owns spec.template.metadata.annotations.kubectl.kubernetes.io/restartedAt`},
	})
}

// A planted fault: a controller sets the replicas again whenever they differ, as Argo CD does with selfHeal. The undo would then undo what the
// controller wants. The plan refuses to scale, says who owns the field, and offers what works.
func TestOwnedFieldsOffersWhatWorks(t *testing.T) {
	w := newWorld("scale", "rollout")
	w.web().ManagedFields = []metav1.ManagedFieldsEntry{managedBy("platform-sync", `{"f:spec":{"f:replicas":{}}}`)}
	p := w.plan()
	if p.Goes(p.Steps[0]) || !p.Goes(p.Steps[1]) || len(p.Steps[0].Refusals) != 1 {
		t.Fatalf("refused %+v", p.refusals())
	}
	if next := p.Steps[0].Refusals[0].Next; next != "use rollout in its place, which sets the annotation restartedAt, or delete-pod, which changes no spec" {
		t.Errorf("offers %q", next)
	}
}
