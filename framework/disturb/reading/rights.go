package reading

import (
	"errors"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/disturb"
	"github.com/holdfast-ha/holdfast/framework/disturb/catalogue"
	"github.com/holdfast-ha/holdfast/framework/hold"
)

// rights asks the API server whether the user has each right to inject and to undo.
func (v *reading) rights() {
	v.Rights = map[disturb.Permission]bool{}
	asked := append(catalogue.Owning(), catalogue.Trying(v.request.Faults)...)
	for _, f := range v.request.Faults {
		asked = append(append(asked, f.Inject...), f.Undo...)
	}
	for _, r := range asked { // what may be read shows itself
		for _, namespace := range v.request.Places(r.Where) {
			v.right(disturb.PermissionOf(namespace, r))
		}
	}
}

// right asks about one right. A question that is not answered stays unasked, and the rules refuse.
func (v *reading) right(p disturb.Permission) {
	if _, asked := v.Rights[p]; asked || v.err != nil {
		return
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: p.Namespace, Verb: p.Right.Verb, Group: p.Right.Group, Resource: p.Right.Resource, Subresource: p.Right.Subresource, Name: p.Right.Name,
		},
	}}
	answer, err := v.Client.AuthorizationV1().SelfSubjectAccessReviews().Create(v.ctx, review, metav1.CreateOptions{})
	if err != nil {
		v.refused("rights", p.Namespace, err)
		return
	}
	v.Rights[p] = answer.Status.Allowed
}

// holder reads which run uses the cluster.
func (v *reading) holder() {
	err := hold.Check(v.ctx, v.Client, hold.Options{Cluster: v.Server})
	var held *hold.HeldError
	var left *hold.AbandonedError
	switch {
	case errors.As(err, &held), errors.As(err, &left):
		v.Holder = err.Error()
	case err != nil:
		v.Unread = append(v.Unread, disturb.Unread{Resource: "leases", Why: err.Error()})
	}
}
