package collect

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// callLimit bounds one call. Getting a segment through a busy API server takes well under a second; stopping takes up to a
	// request's time-out.
	callLimit = 20 * time.Second
	// firstBackoff and maxBackoff bound the pause before a call is repeated. It is short, because the calls are cheap and an
	// API server that is back should be used soon.
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 2 * time.Second
	// missLimit is how many 404s in a row from the API server mean that the worker's pod is gone: some ten seconds of them. A
	// starting API server may return 404 for a moment.
	missLimit = 10
	// askAfter is how many calls in a row must fail before somebody is asked whether the worker's pod has ended.
	askAfter = 4
	// minRowBytes is less than any row has.
	minRowBytes = 64
	// maxAnswerBytes bounds an answer, and an unpacked segment: the largest has two seconds of load.MaxRate on each lane.
	maxAnswerBytes = 256 << 20
)

// ErrWorkerGone means that the worker and all rows that were not collected are lost.
var ErrWorkerGone = errors.New("the load worker is gone")

// Worker is a load worker, as the harness reaches it.
type Worker struct {
	// URL of its API, possibly through a proxy that is away for minutes.
	URL string
	// Token is that of the run; see NewToken. Empty: the worker asks for none.
	Token string
	// Gone says why the worker will never answer again, such as a pod that has ended; empty: nothing is known of it. It is asked when
	// calls have failed. nil: only the answers to calls tell.
	Gone func(ctx context.Context) (why string)
}

// remote is the harness's client of a worker, over a network that may be down for minutes.
type remote struct {
	client     *http.Client
	base       string
	token      string
	gone       func(ctx context.Context) string
	instance   string       // of the worker's process, once known
	lastAnswer atomic.Int64 // when it last answered, in nanoseconds on the harness's clock
	now        func() history.Offset
}

// reply is what a worker answered.
type reply struct {
	status int
	body   []byte
}

// refusal is an error status from the worker, or from a proxy in front of it.
type refusal struct {
	status int
	text   string
	// worker: the worker itself answered, so repeating the call will not help.
	worker bool
}

func (r *refusal) Error() string {
	who := "a proxy in front of the worker"
	if r.worker {
		who = "the worker"
	}
	return fmt.Sprintf("%s said %d: %.1000s", who, r.status, r.text)
}

// retry repeats a call until the worker answers. It fails with the worker's own refusal, with ErrWorkerGone, or with the last
// error and how long it tried when the context ends.
func (r *remote) retry(ctx context.Context, method, path string, body []byte) (reply, error) {
	began, misses := r.now(), 0
	for pause, failed := firstBackoff, 1; ; pause, failed = min(2*pause, maxBackoff), failed+1 {
		got, err := r.call(ctx, method, path, body)
		if err == nil || errors.Is(err, ErrWorkerGone) {
			return got, err
		}
		var no *refusal
		switch isRefusal := errors.As(err, &no); {
		case isRefusal && no.worker && no.status < http.StatusInternalServerError:
			return reply{}, err
		case isRefusal && no.status == http.StatusNotFound:
			misses++
		default:
			misses = 0
		}
		if misses == missLimit {
			return reply{}, fmt.Errorf("%w: its pod was not found %d times in a row: %w", ErrWorkerGone, misses, err)
		}
		if failed >= askAfter && r.gone != nil {
			if why := r.gone(ctx); why != "" {
				return reply{}, fmt.Errorf("%w: %s", ErrWorkerGone, why)
			}
		}
		if waitErr := poll.Pass(ctx, pause); waitErr != nil {
			return reply{}, fmt.Errorf("tried for %s: %w (%w)", (r.now() - began).Round(time.Millisecond), err, waitErr)
		}
	}
}

// call makes one call.
func (r *remote) call(ctx context.Context, method, path string, body []byte) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, r.base+path, bytes.NewReader(body))
	if err != nil {
		return reply{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if r.token != "" {
		request.Header.Set(headerToken, r.token)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return reply{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return reply{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if err := r.check(response, content); err != nil {
		return reply{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return reply{status: response.StatusCode, body: content}, nil
}

// check distinguishes the worker's answers from those of proxies, and this worker from another process in its place.
func (r *remote) check(response *http.Response, content []byte) error {
	instance := response.Header.Get(headerWorker)
	switch ok := response.StatusCode < 300; {
	case instance == "":
		return &refusal{status: response.StatusCode, text: strings.TrimSpace(string(content))}
	case r.instance != "" && r.instance != instance:
		return fmt.Errorf("%w: another process answers in its place, so it was restarted", ErrWorkerGone)
	case !ok:
		return &refusal{status: response.StatusCode, text: strings.TrimSpace(string(content)), worker: true}
	}
	if r.instance == "" { // set by the first call, before there are concurrent calls
		r.instance = instance
	}
	r.lastAnswer.Store(int64(r.now()))
	return nil
}

// ask repeats a call until the worker answers, and decodes the answer from JSON.
func (r *remote) ask(ctx context.Context, method, path string, body []byte, to any) error {
	got, err := r.retry(ctx, method, path, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(got.body, to); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// planQuery returns the query that names the plan.
func planQuery(plan string) string { return "?plan=" + url.QueryEscape(plan) }

// segment gets a segment's rows as they are packed.
func (r *remote) segment(ctx context.Context, plan string, n int) ([]byte, error) {
	got, err := r.retry(ctx, http.MethodGet, "/segments/"+strconv.Itoa(n)+planQuery(plan), nil)
	return got.body, err
}

// rowsIn unpacks a segment's rows, on the worker's clock, into the room that there is. A truncated segment is an error: gzip has a
// checksum, and the rows are counted.
func rowsIn(packed []byte, s Segment, room []history.Request) ([]history.Request, error) {
	rows, err := unpack(packed, slices.Grow(room, min(s.Rows, maxAnswerBytes/minRowBytes)))
	if err == nil && len(rows) != s.Rows {
		err = fmt.Errorf("it has %d rows, want %d", len(rows), s.Rows)
	}
	if err != nil {
		return nil, fmt.Errorf("read segment %d: %w", s.N, err)
	}
	return rows, nil
}

func unpack(packed []byte, rows []history.Request) ([]history.Request, error) {
	unpacker, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	csv, err := io.ReadAll(io.LimitReader(unpacker, maxAnswerBytes))
	if err != nil {
		return nil, err
	}
	for row, err := range history.DecodeRequests(csv) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, *row)
	}
	return rows, nil
}
