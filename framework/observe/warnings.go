package observe

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// RecordWarnings returns a copy of config whose clients record what the API server warns of when they create or change an
// object, each text once: what a manifest uses that is deprecated, among others. Reading is the harness's own business.
//
// It reads the answers' headers itself: a rest.WarningHandler is not told which object was warned of.
func RecordWarnings(config *rest.Config, sink Sink) *rest.Config {
	config = rest.CopyConfig(config)
	// Plain JSON, so that the object's name can be read here.
	config.ContentType = "application/json"
	config.WarningHandlerWithContext = rest.NoWarnings{} // else it would print them
	told := &texts{seen: map[string]bool{}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return warningRecorder{next: next, sink: sink, told: told}
	})
	return config
}

// texts of warnings that were recorded, by all clients of a config.
type texts struct {
	mu   sync.Mutex
	seen map[string]bool
}

// fresh tells whether a text was not there yet. It is from now on.
func (t *texts) fresh(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.seen[text]
	t.seen[text] = true
	return !old
}

type warningRecorder struct {
	next http.RoundTripper
	sink Sink
	told *texts
}

func (r warningRecorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err != nil || !changes(request) {
		return response, err
	}
	// Of headers that make no sense it gives those that do.
	warnings, _ := net.ParseWarningHeaders(response.Header.Values("Warning"))
	for _, w := range warnings {
		if w.Text == "" || !r.told.fresh(w.Text) {
			continue
		}
		e := history.Event{T: r.sink.Now(), Warning: &history.APIWarning{Object: object(request), Text: w.Text}}
		if err := r.sink.Append(e); err != nil {
			_ = response.Body.Close() // of an answer that nobody will read
			return nil, err
		}
	}
	return response, nil
}

func changes(request *http.Request) bool {
	switch request.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return true
	}
	return false
}

// object names what was sent by kind and name, for example "Deployment backend"; a patch that does not repeat them, by its path.
func object(request *http.Request) string {
	var sent struct {
		Kind     string
		Metadata struct{ Name, GenerateName string }
	}
	if request.GetBody == nil {
		return request.URL.Path
	}
	body, err := request.GetBody()
	if err != nil {
		return request.URL.Path
	}
	defer func() { _ = body.Close() }() // a copy in memory
	text, err := io.ReadAll(body)
	if err != nil || json.Unmarshal(text, &sent) != nil || sent.Kind == "" {
		return request.URL.Path
	}
	return sent.Kind + " " + sent.Metadata.Name + sent.Metadata.GenerateName
}
