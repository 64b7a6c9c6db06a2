package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Evictions returns a copy of config for libraries that evict pods themselves, such as kubectl's drain. Its clients may read, and evict. Each
// eviction is written down before it is sent, and is of exactly the pod that had the name when it was first asked for: one of another UID is not
// found. Every other write is refused.
func (j *Journal) Evictions(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json" // so that an eviction can be read here
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return evictor{j, next} })
	return config
}

type evictor struct {
	journal *Journal
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (v evictor) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return v.next.RoundTrip(r)
	}
	o, is := evicted(r)
	if !is {
		return answer(r, apierrors.NewForbidden(schema.GroupResource{}, r.URL.Path, errors.New("this client of a journal may only read and evict")))
	}
	var eviction policyv1.Eviction
	if err := json.NewDecoder(r.Body).Decode(&eviction); err != nil {
		return answer(r, apierrors.NewBadRequest("read the eviction: "+err.Error()))
	}
	if eviction.DeleteOptions != nil && len(eviction.DeleteOptions.DryRun) > 0 {
		return v.send(r, eviction)
	}
	e, err := v.journal.evicting(r.Context(), o)
	if apierrors.IsNotFound(err) {
		return answer(r, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, o.Name))
	}
	if err != nil {
		return nil, fmt.Errorf("evict pod %s: %w", o, err)
	}
	if eviction.DeleteOptions == nil {
		eviction.DeleteOptions = &metav1.DeleteOptions{}
	}
	eviction.DeleteOptions.Preconditions = exactly(e.UID)
	response, err := v.send(r, eviction)
	if err != nil {
		return nil, err
	}
	return v.note(r, e, response)
}

// note writes down what the API server has answered. A refusal leaves the entry as it is, since the library asks again.
func (v evictor) note(r *http.Request, e Entry, response *http.Response) (*http.Response, error) {
	switch {
	case response.StatusCode/100 == 2:
		if _, err := v.journal.note(r.Context(), e.Seq, func(e *Entry) { e.State, e.Why = Done, "" }); err != nil {
			return nil, errors.Join(err, response.Body.Close())
		}
	case response.StatusCode == http.StatusConflict, response.StatusCode == http.StatusNotFound:
		v.journal.finish(r.Context(), e.Seq, SeenUndone, "it was never made: the pod was gone by then")
		return answer(r, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, e.Object.Name), response.Body)
	case definiteCode(response.StatusCode) && e.Why == "":
		v.journal.try(r.Context(), e.Seq, func(e *Entry) { e.Why = "the API server has refused it: " + response.Status })
	}
	return response, nil
}

// send sends an eviction in place of the one in the request.
func (v evictor) send(r *http.Request, eviction policyv1.Eviction) (*http.Response, error) {
	body, err := json.Marshal(eviction)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return v.next.RoundTrip(r)
}

// evicting is the entry of an eviction: the one that there is, if it was asked for before, or a new one for the pod that has the name now.
func (j *Journal) evicting(ctx context.Context, o Object) (Entry, error) {
	for _, e := range j.Entries() {
		if e.Action == Evict && e.Object == o && e.State == Intended {
			return e, nil
		}
	}
	read, err := j.get(ctx, o)
	if err != nil {
		return Entry{}, err
	}
	e, err := EvictPod(o.Namespace, o.Name, read.GetUID()).entry()
	if err == nil {
		err = j.o.Hold.Confirm(ctx)
	}
	if err != nil {
		return e, err
	}
	return j.intend(ctx, e, 0)
}

// evicted is the pod of POST /api/v1/namespaces/{namespace}/pods/{pod}/eviction.
func evicted(r *http.Request) (o Object, is bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	n := len(parts)
	if r.Method != http.MethodPost || n < 5 || parts[n-1] != "eviction" || parts[n-3] != "pods" {
		return o, false
	}
	return pod(parts[n-4], parts[n-2]), true
}

// answer answers a request in the API server's place.
func answer(r *http.Request, status *apierrors.StatusError, unread ...io.Closer) (*http.Response, error) {
	for _, body := range unread {
		if err := body.Close(); err != nil {
			return nil, err
		}
	}
	status.ErrStatus.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	text, err := json.Marshal(status.ErrStatus)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(int(status.ErrStatus.Code)), StatusCode: int(status.ErrStatus.Code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)), Request: r,
	}, nil
}
