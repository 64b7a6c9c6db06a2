package clustertest

import (
	"io"
	"net/http"
	"path"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"
)

// Version is the version of the server.
const Version = "v1.37.1"

// aboutSelf answers questions about the server and about the user; nil: the request is none.
func (a *API) aboutSelf(r *http.Request) any {
	switch {
	case r.URL.Path == "/version":
		return version.Info{GitVersion: Version}
	case r.Method != http.MethodPost:
		return nil
	}
	switch path.Base(r.URL.Path) {
	case "selfsubjectreviews":
		return &authenticationv1.SelfSubjectReview{
			TypeMeta: metav1.TypeMeta{Kind: "SelfSubjectReview", APIVersion: "authentication.k8s.io/v1"},
			Status:   authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "eve"}},
		}
	case "selfsubjectaccessreviews":
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil
		}
		review := &authorizationv1.SelfSubjectAccessReview{}
		if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, review); err != nil || review.Spec.ResourceAttributes == nil {
			return nil
		}
		review.TypeMeta = metav1.TypeMeta{Kind: "SelfSubjectAccessReview", APIVersion: "authorization.k8s.io/v1"}
		review.Status.Allowed = a.May == nil || a.May(*review.Spec.ResourceAttributes)
		return review
	}
	return nil
}
