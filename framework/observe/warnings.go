package observe

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// RecordWarnings returns a copy of config whose clients record the API server's warnings about objects that they create or
// change, each text once: for example deprecated fields in a manifest. Warnings about reads are ignored, because only the
// harness itself reads.
//
// It parses the response headers itself, because a rest.WarningHandler does not get the object that a warning is about.
func RecordWarnings(config *rest.Config, sink Sink) *rest.Config {
	config = rest.CopyConfig(config)
	// Plain JSON, so that the object's name can be read here.
	config.ContentType = "application/json"
	config.WarningHandlerWithContext = rest.NoWarnings{} // by default the client prints them
	recorded := &sync.Map{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return warningRecorder{next: next, sink: sink, recorded: recorded}
	})
	return config
}

type warningRecorder struct {
	next     http.RoundTripper
	sink     Sink
	recorded *sync.Map // the texts that are recorded
}

func (r warningRecorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err != nil || !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, request.Method) {
		return response, err
	}
	// Malformed headers are skipped; ParseWarningHeaders returns the others.
	warnings, _ := net.ParseWarningHeaders(response.Header.Values("Warning"))
	for _, w := range warnings {
		if _, old := r.recorded.LoadOrStore(w.Text, true); old || w.Text == "" {
			continue
		}
		e := history.Event{T: r.sink.Now(), Warning: &history.APIWarning{Object: sentObject(request), Text: w.Text}}
		if err := r.sink.Append(e); err != nil {
			_ = response.Body.Close() // the response is not returned, so nothing else closes it
			return nil, err
		}
	}
	return response, nil
}

// sentObject identifies the object in the request by kind and name, for example "Deployment backend". A patch whose body does
// not contain them is identified by its URL path.
func sentObject(request *http.Request) string {
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
