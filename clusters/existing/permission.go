package existing

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Permission is something that a user may or may not do.
type Permission struct {
	Verb                         string
	Group, Resource, Subresource string
	Namespace                    string // empty: in all namespaces, or an object outside of namespaces
	Name                         string // empty: any
}

// String is the permission in kubectl's words: "list deployments.apps in namespace shop".
func (p Permission) String() string {
	text := p.Verb + " " + p.Resource
	if p.Group != "" {
		text += "." + p.Group
	}
	if p.Subresource != "" {
		text += "/" + p.Subresource
	}
	if p.Name != "" {
		text += " " + p.Name
	}
	if p.Namespace != "" {
		text += " in namespace " + p.Namespace
	}
	return text
}

// Missing are those of some permissions that the user does not have, in their order. The API server answers without doing anything.
func Missing(ctx context.Context, client kubernetes.Interface, wanted ...Permission) (missing []Permission, err error) {
	for _, p := range wanted {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: p.Verb, Group: p.Group, Resource: p.Resource, Subresource: p.Subresource, Namespace: p.Namespace, Name: p.Name,
			},
		}}
		answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("ask whether this user may %s: %w", p, err)
		}
		if !answer.Status.Allowed {
			missing = append(missing, p)
		}
	}
	return missing, nil
}

// MayNot reports whether an error says that the user must not do something.
func MayNot(err error) bool { return apierrors.IsForbidden(err) }
