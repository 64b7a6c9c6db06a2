package observe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// RecordEvictions returns a copy of config whose clients record every answer of the eviction API, whichever library
// asks: what was accepted and what a budget refused is known first-hand, not read from a library's messages.
func RecordEvictions(config *rest.Config, sink Sink) *rest.Config {
	config = rest.CopyConfig(config)
	// Plain JSON, so that a refusal's reason can be read here.
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

func (r evictionRecorder) RoundTrip(request *http.Request) (*http.Response, error) {
	namespace, pod, isEviction := evicted(request)
	response, err := r.next.RoundTrip(request)
	if err != nil || !isEviction {
		return response, err
	}
	answer := &history.Eviction{Namespace: namespace, Pod: pod, Accepted: response.StatusCode/100 == 2}
	if !answer.Accepted {
		answer.Budget, answer.Message = refusal(response)
	}
	if err := r.sink.Append(history.Event{T: r.sink.Now(), Eviction: answer}); err != nil {
		_ = response.Body.Close() // of an answer that nobody will read
		return nil, err
	}
	return response, nil
}

// evicted reads the pod from POST /api/v1/namespaces/{namespace}/pods/{pod}/eviction.
func evicted(request *http.Request) (namespace, pod string, ok bool) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	n := len(parts)
	if request.Method != http.MethodPost || n < 5 || parts[n-1] != "eviction" || parts[n-3] != "pods" {
		return "", "", false
	}
	return parts[n-4], parts[n-2], true
}

// refusal reads the API's reason and leaves the body as it was.
func refusal(response *http.Response) (budget, message string) {
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // what it held was read, or cannot be
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

// end is the end of a body, which may be an error.
type end struct{ err error }

func (e end) Read([]byte) (int, error) { return 0, cmp.Or(e.err, io.EOF) }

// budgetName reads NAME from "The disruption budget NAME needs 2 healthy pods and has 2 currently".
func budgetName(message string) string {
	words := strings.Fields(message)
	for i, word := range words {
		if word == "budget" && i+1 < len(words) {
			return words[i+1]
		}
	}
	return ""
}
