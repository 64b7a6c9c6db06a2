package plain

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// signLimit is how long the controller manager may take to sign a certificate.
const signLimit = 30 * time.Second

// User makes a user who may do nothing but what any user may, with a certificate that the cluster signs. It returns the path of a kubeconfig,
// whose only context is named like the user.
func (c *Cluster) User(ctx context.Context, name string) (kubeconfig string, err error) {
	key, certificate, err := c.sign(ctx, name)
	if err != nil {
		return "", fmt.Errorf("make user %s: %w", name, err)
	}
	return c.writeKubeconfig(name, &clientcmdapi.AuthInfo{ClientKeyData: key, ClientCertificateData: certificate})
}

func (c *Cluster) writeKubeconfig(name string, user *clientcmdapi.AuthInfo) (path string, err error) {
	admin, err := clientcmd.LoadFromFile(c.Kubeconfig())
	if err != nil {
		return "", err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name] = admin.Clusters[c.Context()]
	config.AuthInfos[name] = user
	config.Contexts[name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: name}
	config.CurrentContext = name
	path = filepath.Join(c.Dir, name+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}

// sign makes a key, and has the cluster sign a certificate for it.
//
// Source: https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/
func (c *Cluster) sign(ctx context.Context, name string) (key, certificate []byte, err error) {
	key, request, err := certificateRequest(name)
	if err != nil {
		return nil, nil, err
	}
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return nil, nil, err
	}
	requests := client.CertificatesV1().CertificateSigningRequests()
	made, err := requests.Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request, SignerName: certificatesv1.KubeAPIServerClientSignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, nil, err
	}
	made.Status.Conditions = append(made.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test",
	})
	if made, err = requests.UpdateApproval(ctx, made.Name, made, metav1.UpdateOptions{}); err != nil {
		return nil, nil, err
	}
	err = poll.Until(ctx, "the certificate of "+name, signLimit, func(ctx context.Context) (bool, string, error) {
		signed, err := requests.Get(ctx, made.Name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		certificate = signed.Status.Certificate
		return len(certificate) > 0, "not signed", nil
	})
	return key, certificate, errors.Join(err, requests.Delete(ctx, made.Name, metav1.DeleteOptions{}))
}

// certificateRequest is a new private key, and a request to certify it, both in PEM.
func certificateRequest(name string) (key, request []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	wanted, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: wanted}), nil
}

// Allow lets a user, or a ServiceAccount "NAMESPACE:NAME", do something in a namespace, or everywhere if there is no namespace.
func (c *Cluster) Allow(ctx context.Context, who, namespace string, rules ...rbacv1.PolicyRule) error {
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return err
	}
	named, subject := metav1.ObjectMeta{GenerateName: "test-"}, subjectOf(who)
	if namespace == "" {
		role, err := client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: named, Rules: rules}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: named, Subjects: []rbacv1.Subject{subject}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		}, metav1.CreateOptions{})
		return err
	}
	role, err := client.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: named, Rules: rules}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: named, Subjects: []rbacv1.Subject{subject}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
	}, metav1.CreateOptions{})
	return err
}
