package recording

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/observe"
)

// Session is a recording that is under way, for the body that runs meanwhile.
type Session struct {
	// Survey is what was found out beforehand.
	Survey Survey

	options Options
	began   time.Time          // this recorder, or the first one
	left    history.Unfinished // of the recorder that this one continues; the zero value: there was none
	resumed int                // how often the recording was continued
	board   *board
	config  *rest.Config // for reading
	clock   *serverClock
	client  kubernetes.Interface
	watcher *observe.Watcher
	mu      sync.Mutex // of load
	load    []*loading
	ending  []func(context.Context) error // what ends with the recording
	steps   int
}

// Client can only read.
func (s *Session) Client() kubernetes.Interface { return s.client }

// Say writes a line for the user.
func (s *Session) Say(format string, args ...any) { s.options.Say(format, args...) }

// Step records a step while it is done. The error of the step is in the record, and is returned.
func (s *Session) Step(step history.Step, do func() error) (err error) {
	step.ID, step.Stage = s.steps, history.StepBegin
	s.steps++
	if err := s.board.Append(history.Event{T: s.board.Now(), Step: new(step)}); err != nil {
		return err
	}
	defer func() {
		step.Stage = history.StepEnd
		if err != nil {
			step.Error = err.Error()
		}
		err = errors.Join(err, s.board.Append(history.Event{T: s.board.Now(), Step: &step}))
	}()
	return do()
}

// ErrUnhealthy means that requests failed before anything was done: then nothing that is done would show anything.
var ErrUnhealthy = errors.New("mend the application, or say with the probe's expectation that this answer is good")

// Undisturbed returns an error that wraps ErrUnhealthy if a request has failed so far, or if none was sent.
func (s *Session) Undisturbed() error {
	sent, failed := s.totals()
	switch {
	case len(s.load) == 0:
		return nil
	case sent == 0:
		return errors.New("before anything was done, no request could be sent")
	case failed == 0:
		return nil
	}
	why := ""
	for _, l := range s.load {
		if r, known := l.session.FirstFailure(); known && why == "" {
			why = fmt.Sprintf(", the first: %s %s", r.Outcome, r.Err)
		}
	}
	return fmt.Errorf("before anything was done, %d of %s failed%s: %w", failed, prose.Count(sent, "request"), strings.TrimRight(why, " "), ErrUnhealthy)
}

// Requests are those of all workers so far, as far as they were collected.
func (s *Session) Requests() (sent, failed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.totals()
}

// totals are the requests of all workers. The caller holds the lock, or the load has not begun.
func (s *Session) totals() (sent, failed uint64) {
	for _, l := range s.load {
		t := l.session.Totals()
		sent, failed = sent+t.Sent, failed+t.Failed
	}
	return sent, failed
}

// Silent is for how long a load worker has not been reached: whether its requests fail is not known. Zero: there is no load.
func (s *Session) Silent() (longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.load {
		longest = max(longest, l.session.Totals().Silent)
	}
	return longest
}

// Settle waits until every workload has been settled, and every pod that was told to end has ended, for some time, or until the limit has passed. The record then shows which has not
// recovered.
func (s *Session) Settle(ctx context.Context, limit time.Duration) error {
	var since time.Time
	err := poll.Until(ctx, "every workload to settle", limit, func(context.Context) (bool, string, error) {
		if left := s.board.unsettled(); len(left) > 0 {
			since = time.Time{}
			return false, "not settled: " + prose.List(left), nil
		}
		if since.IsZero() {
			since = time.Now()
		}
		return time.Since(since) >= s.options.Settled, "settled", nil
	})
	if err != nil && ctx.Err() == nil {
		s.Say("  not everything has settled: %s", prose.List(s.board.unsettled()))
		return nil
	}
	return err
}

// loading is the load of some workers.
type loading struct {
	from    history.LoadFrom
	session *collect.Session
	until   history.Offset // when it ends by itself
	stopped bool           // the user was told that it ended early
}

// whyEnded is why a load has ended, or is ending, before its recording. Empty: it has not.
func whyEnded(t collect.Totals, now, until history.Offset) string {
	switch {
	case t.Yielded:
		return "the load stopped: a server answered with status 429, which says that there are too many requests; name a lower rate with --rate"
	case t.Untended:
		return fmt.Sprintf("the load stopped: for %s, no load worker could be asked for what it had seen", untended)
	case !t.Finished:
		return ""
	case now >= until:
		return fmt.Sprintf("the load ended after %s, which is the longest time that requests are sent", load.MaxDuration)
	}
	return "the load stopped, and its workers do not say why"
}
