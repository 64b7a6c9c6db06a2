package patrol

import (
	"fmt"
	"net/http"
	"regexp"

	"k8s.io/client-go/rest"
)

// eventsPath is where Events are created.
var eventsPath = regexp.MustCompile(`^/apis/events\.k8s\.io/v1/namespaces/[^/]+/events$`)

// OnlyEvents is a copy of a configuration whose clients can create Events and do nothing else: any other request fails before it is
// sent.
func OnlyEvents(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return eventCreator{next} })
	return config
}

type eventCreator struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c eventCreator) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPost || !eventsPath.MatchString(request.URL.Path) {
		return nil, fmt.Errorf("%s %s: the patrol writes Events and nothing else", request.Method, request.URL.Path)
	}
	return c.next.RoundTrip(request)
}
