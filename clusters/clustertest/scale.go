package clustertest

import (
	"net/http"
	"path"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// scaled is the path of the object whose subresource scale a request is about; empty: it is about none.
func (a *API) scaled(r *http.Request) string {
	at, is := strings.CutSuffix(r.URL.Path, "/scale")
	if !is || a.objects[at] == nil {
		return ""
	}
	return at
}

// serveScale answers a request about the subresource scale of a Deployment or StatefulSet. A patch keeps the managed fields, and a read does not show
// them.
//
// Source: k8s.io/kubernetes/pkg/registry/apps/deployment/storage, scaleFromDeployment
func (a *API) serveScale(r *http.Request, at string) (status int, body any) {
	var replicas **int32
	switch w := a.objects[at].(type) {
	case *appsv1.Deployment:
		replicas = &w.Spec.Replicas
	case *appsv1.StatefulSet:
		replicas = &w.Spec.Replicas
	}
	parent := a.objects[at]
	handler := managedfields.NewScaleHandler(parent.GetManagedFields(), appsv1.SchemeGroupVersion,
		managedfields.ResourcePathMappings{"apps/v1": fieldpath.MakePathOrDie("spec", "replicas")})
	entries, err := handler.ToSubresource()
	if err != nil {
		return refusal(invalid(parent, err))
	}
	was := &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{
			Name: parent.GetName(), Namespace: parent.GetNamespace(), UID: parent.GetUID(), ResourceVersion: parent.GetResourceVersion(), ManagedFields: entries,
		},
		Spec: autoscalingv1.ScaleSpec{Replicas: **replicas},
	}
	if r.Method != http.MethodPatch {
		was.ManagedFields = nil
		return http.StatusOK, was
	}
	now, err := patched(was, r)
	if err == nil && a.Owners {
		now, err = owned(was, now, managerOf(r), "scale")
	}
	if err != nil {
		return refusal(invalid(parent, err))
	}
	if a.Owners {
		if entries, err = handler.ToParent(now.GetManagedFields()); err != nil {
			return refusal(invalid(parent, err))
		}
		parent.SetManagedFields(entries)
	}
	n := now.(*autoscalingv1.Scale).Spec.Replicas
	*replicas = &n
	a.put(path.Dir(at), parent)
	now.SetResourceVersion(parent.GetResourceVersion())
	if !a.Frozen {
		a.control()
	}
	return http.StatusOK, now
}
