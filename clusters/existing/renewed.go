package existing

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
)

// renewed sends requests with the credentials of a kubeconfig. When the API server does not accept them any more, it reads the file again: its
// owner may have logged in again, hours after holdfast has begun to watch.
type renewed struct {
	access *Access

	mu      sync.Mutex
	current http.RoundTripper
	version int       // counts the kubeconfigs that were used
	read    time.Time // when the kubeconfig was last read again
}

// rereadEvery is how often the kubeconfig is read at most while credentials are not accepted.
const rereadEvery = 2 * time.Second

// RoundTrip implements http.RoundTripper.
func (r *renewed) RoundTrip(request *http.Request) (*http.Response, error) {
	transport, version := r.now()
	again, err := repeated(request) // before a credential plugin writes its token into the request
	if err != nil {
		return nil, err
	}
	response, err := transport.RoundTrip(request)
	if again == nil || !refusedCredentials(response, err) || !r.renew(version) {
		return response, err
	}
	if err == nil {
		_ = response.Body.Close() // the answer to the second request counts
	}
	transport, _ = r.now()
	return transport.RoundTrip(again)
}

func (r *renewed) now() (http.RoundTripper, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current, r.version
}

// repeated is the same request for a second attempt; nil: it cannot be sent twice.
func repeated(request *http.Request) (*http.Request, error) {
	again := request.Clone(request.Context())
	if request.Body == nil || request.Body == http.NoBody {
		return again, nil
	}
	if request.GetBody == nil {
		return nil, nil
	}
	body, err := request.GetBody()
	again.Body = body
	return again, err
}

// refusedCredentials reports whether the API server did not accept the credentials, or the credential plugin made none.
func refusedCredentials(response *http.Response, err error) bool {
	if err != nil {
		return strings.Contains(err.Error(), noCredentials)
	}
	return response.StatusCode == http.StatusUnauthorized
}

// noCredentials is how client-go begins the errors of credential plugins.
const noCredentials = "getting credentials: "

// renew reads the kubeconfig again. It reports whether there are other credentials than those of the version.
func (r *renewed) renew(version int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.version != version {
		return true
	}
	if time.Since(r.read) < r.access.pause {
		return false
	}
	r.read = time.Now()
	transport, err := r.access.reread()
	if err != nil {
		return false
	}
	r.current, r.version = transport, r.version+1
	return true
}

// errSame means that the kubeconfig has the same credentials as before.
var errSame = errors.New("the kubeconfig has not changed")

// reread reads the context of the kubeconfig again. Another server is not followed: it would be another cluster.
func (a *Access) reread() (http.RoundTripper, error) {
	config, err := a.flags.pinned(a.Context).ToRESTConfig()
	if err != nil {
		return nil, err
	}
	switch {
	case config.Host != a.Server:
		return nil, fmt.Errorf("%s now leads to %s", a, config.Host)
	case sameCredentials(config, a.read):
		return nil, errSame
	}
	return a.transport(config)
}

// sameCredentials compares what a kubeconfig says of the user.
func sameCredentials(a, b *rest.Config) bool {
	return a.BearerToken == b.BearerToken && a.BearerTokenFile == b.BearerTokenFile && a.Username == b.Username && a.Password == b.Password &&
		reflect.DeepEqual(a.TLSClientConfig, b.TLSClientConfig) && reflect.DeepEqual(a.Impersonate, b.Impersonate) &&
		reflect.DeepEqual(a.ExecProvider, b.ExecProvider)
}

// pinned are the same flags with a named context: the current context may become another one while holdfast runs.
func (f *Flags) pinned(context string) *genericclioptions.ConfigFlags {
	k, from := NewFlags().kubectl, f.kubectl
	k.KubeConfig, k.ClusterName, k.AuthInfoName, k.APIServer, k.TLSServerName = from.KubeConfig, from.ClusterName, from.AuthInfoName, from.APIServer, from.TLSServerName
	k.Insecure, k.CertFile, k.KeyFile, k.CAFile, k.ProxyURL = from.Insecure, from.CertFile, from.KeyFile, from.CAFile, from.ProxyURL
	k.Impersonate, k.ImpersonateUID, k.ImpersonateGroup = from.Impersonate, from.ImpersonateUID, from.ImpersonateGroup
	k.Context = &context
	return k
}
