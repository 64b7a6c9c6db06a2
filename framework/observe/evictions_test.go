package observe

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// answers is a transport with the same response to every request.
type answers struct {
	code   int
	body   string
	dies   error // error in the middle of the body
	broken error // error instead of a response
	closed bool
	paths  []string
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.paths = append(a.paths, r.Method+" "+r.URL.Path)
	if a.broken != nil {
		return nil, a.broken
	}
	return &http.Response{
		StatusCode: a.code, Status: http.StatusText(a.code), Request: r, Body: &answerBody{a, strings.NewReader(a.body)},
		Header: http.Header{"Content-Type": []string{"application/json"}},
	}, nil
}

type answerBody struct {
	answer *answers
	rest   io.Reader
}

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.rest.Read(p)
	if errors.Is(err, io.EOF) && b.answer.dies != nil {
		err = b.answer.dies
	}
	return n, err
}

func (b *answerBody) Close() error {
	b.answer.closed = true
	return nil
}

// evict sends an eviction through a recording client, and returns what was recorded and the client's error.
func evict(t *testing.T, a *answers, sink *notebook) error {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(RecordEvictions(&rest.Config{Host: "http://127.0.0.1:1", Transport: a}, sink))
	return client.PolicyV1().Evictions("ns").Evict(t.Context(), &policyv1.Eviction{ObjectMeta: named("p")})
}

// status is the body of an error response.
func status(code, reason, message, causes string) string {
	return `{"kind":"Status","apiVersion":"v1","status":"Failure","code":` + code + `,"reason":"` + reason + `","message":"` + message +
		`","details":{"causes":[` + causes + `]}}`
}

func TestEvictionsAreRecordedFirstHand(t *testing.T) {
	const violates = "Cannot evict pod as it would violate the pod's disruption budget."
	cause := func(message string) string { return `{"reason":"DisruptionBudget","message":"` + message + `"}` }
	for name, s := range map[string]struct {
		answer answers
		want   history.Eviction
		err    func(error) bool // the client must still recognize the error; nil: no error
	}{
		"created": {answers{code: 201, body: `{"kind":"Status","apiVersion":"v1","status":"Success"}`}, history.Eviction{Accepted: true}, nil},
		"refused": {
			answers{code: 429, body: status("429", "TooManyRequests", violates, cause("The disruption budget backend needs 5 healthy pods and has 5 currently"))},
			history.Eviction{Budget: "backend", Message: "The disruption budget backend needs 5 healthy pods and has 5 currently"},
			apierrors.IsTooManyRequests,
		},
		"refused by a server that has too much to do": {
			answers{code: 429, body: status("429", "TooManyRequests", "too many requests, please try again later", "")},
			history.Eviction{Message: "too many requests, please try again later"}, apierrors.IsTooManyRequests,
		},
		"gone before": {
			answers{code: 404, body: status("404", "NotFound", `pods \"p\" not found`, "")},
			history.Eviction{Message: `pods "p" not found`}, apierrors.IsNotFound,
		},
		"two budgets": {
			answers{code: 500, body: status("500", "InternalError", "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.", "")},
			history.Eviction{Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."},
			apierrors.IsInternalError,
		},
		"no JSON": {answers{code: 500, body: "oops"}, history.Eviction{Message: "Internal Server Error"}, apierrors.IsInternalError},
		"cut off": {answers{code: 429, body: `{"kind":"Status","mess`, dies: io.ErrUnexpectedEOF}, history.Eviction{Message: "Too Many Requests"},
			func(err error) bool { return strings.Contains(err.Error(), io.ErrUnexpectedEOF.Error()) }},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &notebook{began: time.Now()}
			err := evict(t, &s.answer, sink)
			if s.err == nil && err != nil || s.err != nil && (err == nil || !s.err(err)) {
				t.Errorf("the client got %v", err)
			}
			s.want.Namespace, s.want.Pod = "ns", "p"
			if len(sink.events) != 1 {
				t.Fatalf("%d events, want the eviction", len(sink.events))
			}
			if diff := cmp.Diff(&s.want, sink.events[0].Eviction); diff != "" {
				t.Errorf("eviction (-want +got):\n%s", diff)
			}
			if !s.answer.closed {
				t.Error("the answer's body was not closed: its connection is lost")
			}
		})
	}
}

// TestALostAnswerIsRecorded: if the connection breaks, it is unknown whether the eviction was accepted. The pod's later
// changes show it, and the record contains the time from which it may have been.
func TestALostAnswerIsRecorded(t *testing.T) {
	sink := &notebook{began: time.Now().Add(-time.Hour)}
	dead := errors.New("connection reset by peer")
	if err := evict(t, &answers{broken: dead}, sink); !errors.Is(err, dead) {
		t.Errorf("the client got %v", err)
	}
	if len(sink.events) != 1 || sink.events[0].Eviction == nil {
		t.Fatalf("%d events, want the eviction", len(sink.events))
	}
	got := *sink.events[0].Eviction
	if got.Sent < time.Hour || got.Sent > sink.events[0].T {
		t.Errorf("sent at %s, lost at %s", got.Sent, sink.events[0].T)
	}
	got.Sent = 0
	if diff := cmp.Diff(history.Eviction{Namespace: "ns", Pod: "p", Lost: dead.Error()}, got); diff != "" {
		t.Errorf("eviction (-want +got):\n%s", diff)
	}
	full := &notebook{full: errors.New("disk full")}
	if err := evict(t, &answers{broken: dead}, full); !errors.Is(err, dead) || !errors.Is(err, full.full) {
		t.Errorf("the client got %v", err)
	}
}

// twoPods is an API server with a pod that has a UID; it accepts evictions.
type twoPods struct {
	answers
	uid    string
	bodies []string
}

func (p *twoPods) RoundTrip(r *http.Request) (*http.Response, error) {
	p.code, p.body = http.StatusCreated, `{}`
	if r.Method == http.MethodGet {
		p.code, p.body = http.StatusOK, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"p","uid":"`+p.uid+`"}}`
	}
	body := []byte{}
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	p.bodies = append(p.bodies, string(body))
	return p.answers.RoundTrip(r)
}

// TestTheEvictedPodIsKnownByUID: the UID is the precondition of the request, or that of the pod that has the name just
// before.
func TestTheEvictedPodIsKnownByUID(t *testing.T) {
	demanded := types.UID("demanded")
	for name, s := range map[string]struct {
		options *metav1.DeleteOptions
		uid     string
		want    string
		asked   []string
	}{
		"demanded":     {&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &demanded}}, "there", "demanded", []string{"POST /api/v1/namespaces/ns/pods/p/eviction"}},
		"there":        {nil, "there", "there", []string{"GET /api/v1/namespaces/ns/pods/p", "POST /api/v1/namespaces/ns/pods/p/eviction"}},
		"not demanded": {&metav1.DeleteOptions{}, "there", "there", []string{"GET /api/v1/namespaces/ns/pods/p", "POST /api/v1/namespaces/ns/pods/p/eviction"}},
	} {
		t.Run(name, func(t *testing.T) {
			sink, server := &notebook{began: time.Now()}, &twoPods{uid: s.uid}
			client := kubernetes.NewForConfigOrDie(RecordEvictions(&rest.Config{Host: "http://127.0.0.1:1", Transport: server}, sink))
			if err := client.PolicyV1().Evictions("ns").Evict(t.Context(), &policyv1.Eviction{ObjectMeta: named("p"), DeleteOptions: s.options}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(s.asked, server.paths); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if got := sink.events[0].Eviction; got.UID != s.want || !got.Accepted {
				t.Errorf("recorded %+v", got)
			}
			if body := server.bodies[len(server.bodies)-1]; !strings.Contains(body, `"name":"p"`) {
				t.Errorf("the eviction was sent with %q", body)
			}
		})
	}
}

// TestAnAnswerThatCannotBeRecordedIsAnError: the client must not continue to evict if nothing is recorded.
func TestAnAnswerThatCannotBeRecordedIsAnError(t *testing.T) {
	for _, code := range []int{201, 429} {
		a := &answers{code: code, body: `{}`}
		sink := &notebook{full: errors.New("disk full")}
		if err := evict(t, a, sink); !errors.Is(err, sink.full) {
			t.Errorf("%d: the client got %v", code, err)
		}
		if !a.closed {
			t.Errorf("%d: the answer's body was not closed", code)
		}
	}
}

// TestOnlyEvictionsAreRecorded, whatever the path prefix of the API server.
func TestOnlyEvictionsAreRecorded(t *testing.T) {
	for path, want := range map[string]*history.Eviction{
		"POST /api/v1/namespaces/ns/pods/p/eviction":              {Namespace: "ns", Pod: "p", Accepted: true},
		"POST /proxy/k8s/api/v1/namespaces/ns/pods/p/eviction":    {Namespace: "ns", Pod: "p", Accepted: true},
		"GET /api/v1/namespaces/ns/pods/p/eviction":               nil,
		"DELETE /api/v1/namespaces/ns/pods/p":                     nil,
		"POST /api/v1/namespaces/ns/pods":                         nil,
		"POST /api/v1/namespaces/ns/pods/eviction/binding":        nil,
		"POST /api/v1/namespaces/ns/configmaps/p/eviction":        nil,
		"POST /api/v1/namespaces/eviction/pods/eviction/eviction": {Namespace: "eviction", Pod: "eviction", Accepted: true},
	} {
		method, url, _ := strings.Cut(path, " ")
		sink := &notebook{began: time.Now()}
		a := &answers{code: 201}
		recorder := evictionRecorder{next: a, sink: sink}
		request, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:1"+url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := recorder.RoundTrip(request)
		if err != nil || response.StatusCode != a.code {
			t.Errorf("%s: %v", path, err)
			continue
		}
		_ = response.Body.Close()
		var got *history.Eviction
		if len(sink.events) > 0 {
			got = sink.events[0].Eviction
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}
