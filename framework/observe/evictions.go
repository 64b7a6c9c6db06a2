package observe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// RecordEvictions returns a copy of config whose clients record every response of the eviction API, whichever library sends
// the request. So accepted and refused evictions are known first-hand, not from a library's messages.
func RecordEvictions(config *rest.Config, sink Sink) *rest.Config {
	config = rest.CopyConfig(config)
	// Plain JSON, so that the reason of a refusal can be parsed.
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return evictionRecorder{next: next, sink: sink}
	})
	return config
}

type evictionRecorder struct {
	next http.RoundTripper
	sink Sink
}

// RoundTrip implements http.RoundTripper. A lost response is recorded as well: the eviction may have been accepted.
func (r evictionRecorder) RoundTrip(request *http.Request) (*http.Response, error) {
	namespace, pod, isEviction := evicted(request)
	if !isEviction {
		return r.next.RoundTrip(request)
	}
	answer := &history.Eviction{Namespace: namespace, Pod: pod, UID: demandedUID(request)}
	if answer.UID == "" {
		answer.UID = r.presentUID(request)
	}
	sent := r.sink.Now()
	response, err := r.next.RoundTrip(request)
	if err != nil {
		answer.Lost, answer.Sent = err.Error(), sent
		return nil, errors.Join(err, r.sink.Append(history.Event{T: r.sink.Now(), Eviction: answer}))
	}
	answer.Accepted = response.StatusCode/100 == 2
	if !answer.Accepted {
		answer.Budget, answer.Message = refusal(response)
	}
	if err := r.sink.Append(history.Event{T: r.sink.Now(), Eviction: answer}); err != nil {
		_ = response.Body.Close() // the response is not returned, so nothing else closes it
		return nil, err
	}
	return response, nil
}

// demandedUID is the UID precondition of the request; empty if there is none.
func demandedUID(request *http.Request) string {
	if request.GetBody == nil {
		return ""
	}
	body, err := request.GetBody()
	if err != nil {
		return ""
	}
	defer func() { _ = body.Close() }()
	var eviction policyv1.Eviction
	if json.NewDecoder(body).Decode(&eviction) != nil || eviction.DeleteOptions == nil ||
		eviction.DeleteOptions.Preconditions == nil || eviction.DeleteOptions.Preconditions.UID == nil {
		return ""
	}
	return string(*eviction.DeleteOptions.Preconditions.UID)
}

// presentUID is the UID of the pod that has the name just before the eviction; empty if it could not be read. The response
// does not contain the UID, and a StatefulSet recreates pods under the same name.
func (r evictionRecorder) presentUID(request *http.Request) string {
	read := request.Clone(request.Context())
	read.Method, read.Body, read.GetBody, read.ContentLength = http.MethodGet, nil, nil, 0
	read.URL.Path = strings.TrimSuffix(strings.TrimSuffix(read.URL.Path, "/"), "/eviction")
	read.URL.RawPath, read.URL.RawQuery = "", ""
	read.Header.Del("Content-Type")
	read.Header.Set("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
	response, err := r.next.RoundTrip(read)
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	var pod metav1.PartialObjectMetadata
	if response.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(response.Body, maxPodBytes)).Decode(&pod) != nil {
		return ""
	}
	return string(pod.UID)
}

// maxPodBytes is more than etcd accepts for one object.
const maxPodBytes = 4 << 20

// evicted parses the pod from POST /api/v1/namespaces/{namespace}/pods/{pod}/eviction.
func evicted(request *http.Request) (namespace, pod string, ok bool) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	n := len(parts)
	if request.Method != http.MethodPost || n < 5 || parts[n-1] != "eviction" || parts[n-3] != "pods" {
		return "", "", false
	}
	return parts[n-4], parts[n-2], true
}

// refusal parses the reason and leaves the response's body readable.
func refusal(response *http.Response) (budget, message string) {
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // its content has been read, or cannot be read
	response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), end{err}))
	var status metav1.Status
	if err != nil || json.Unmarshal(body, &status) != nil {
		return "", response.Status
	}
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			if cause.Type == "DisruptionBudget" {
				return budgetName(cause.Message), cause.Message
			}
		}
	}
	return "", status.Message
}

// end is the end of a body: an error, or EOF.
type end struct{ err error }

func (e end) Read([]byte) (int, error) { return 0, cmp.Or(e.err, io.EOF) }

// budgetName parses NAME from "The disruption budget NAME needs 2 healthy pods and has 2 currently".
func budgetName(message string) string {
	words := strings.Fields(message)
	for i, word := range words {
		if word == "budget" && i+1 < len(words) {
			return words[i+1]
		}
	}
	return ""
}
