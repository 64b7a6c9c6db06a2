package existing

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Identity says which cluster this is, and who asks.
type Identity struct {
	// UID is that of namespace kube-system, which a cluster keeps. Two clusters share it only if one was restored from a snapshot of the other's etcd.
	// Empty: the user must not read it.
	UID string
	// Kubernetes is the version of the API server.
	Kubernetes string
	// User is how the API server knows the user, with the groups. Empty: it does not tell.
	User   string
	Groups []string
}

// checkLimit bounds the first requests to an API server, with the time that a credential plugin may take.
const checkLimit = PluginLimit + 30*time.Second

// Check asks the API server who it is and who asks. An error says what the user can do about it: before anything is done, and not after an hour.
func (a *Access) Check(ctx context.Context) (i Identity, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	client, err := kubernetes.NewForConfig(a.ReadOnly())
	if err != nil {
		return i, err
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return i, a.Explain(err)
	}
	i.Kubernetes = version.GitVersion
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	switch {
	case err == nil:
		i.User, i.Groups = review.Status.UserInfo.Username, review.Status.UserInfo.Groups
	case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err): // before 1.28 nobody could ask
		return i, a.Explain(err)
	}
	system, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	switch {
	case err == nil:
		i.UID = string(system.UID)
	case !apierrors.IsForbidden(err):
		return i, a.Explain(err)
	}
	return i, nil
}

// Explain adds to an error of the API server, or of the way to it, what can be done about it. Other errors stay as they are.
func (a *Access) Explain(err error) error {
	var unreachable net.Error
	switch {
	case err == nil:
		return nil
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s: the API server does not accept the credentials, which may have expired: log in again: %w", a, err)
	case strings.Contains(err.Error(), noCredentials):
		return fmt.Errorf("%s: the credential plugin of the kubeconfig gave no credentials: %w", a, err)
	case strings.Contains(err.Error(), "x509: "):
		return fmt.Errorf("%s: the certificate of the API server is not the one that the kubeconfig trusts: %w", a, err)
	case errors.As(err, &unreachable):
		return fmt.Errorf("%s: the API server does not answer; is this the right context, and is a VPN needed? %w", a, err)
	}
	return fmt.Errorf("%s: %w", a, err)
}
