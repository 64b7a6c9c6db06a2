package recording

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// askEvery is how often the API server is asked for its version.
	askEvery = 10 * time.Second
	// tellEvery is how often the user is told how a recording goes.
	tellEvery = time.Minute
	// askLimit bounds one question.
	askLimit = 5 * time.Second
)

// follow records, until the recording ends, what no watch tells: the version of the API server. It tells the user how the recording
// goes.
func (s *Session) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { s.versions(ctx) })
	all.Go(func() { s.tell(ctx) })
	s.ending = append(s.ending, func(context.Context) error {
		cancel()
		all.Wait()
		return nil
	})
}

// versions records the version of the API server whenever it is another one. An API server that does not answer is seen by the watches.
func (s *Session) versions(ctx context.Context) {
	last := ""
	for {
		if now := versionOf(ctx, s.client); now != "" && now != last {
			last = now
			_ = s.board.Append(history.Event{T: s.board.Now(), Server: &history.Server{Version: now}}) // a record that rejects it is incomplete
		}
		if poll.Pass(ctx, askEvery) != nil {
			return
		}
	}
}

// versionOf is the version of the API server; empty: it does not answer.
func versionOf(ctx context.Context, client kubernetes.Interface) string {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	version, err := discovery.ToDiscoveryInterfaceWithContext(client.Discovery()).ServerVersionWithContext(ctx)
	if err != nil {
		return ""
	}
	return version.GitVersion
}

// tell says how the recording goes, and at once when a load has ended before its time.
func (s *Session) tell(ctx context.Context) {
	began := time.Now()
	next, broken := began.Add(tellEvery), false
	for poll.Pass(ctx, time.Second) == nil {
		s.yielded()
		if err := s.board.Err(); err != nil && !broken { // a command goes on: it must not end half done because of us
			broken = true
			s.Say("  nothing is recorded any more: %v", err)
		}
		if now := time.Now(); now.After(next) {
			next = now.Add(tellEvery)
			s.Say("  recorded for %s: %s ended%s", time.Since(began).Round(time.Second), prose.Count(s.board.podsGone(), "pod"), s.traffic())
		}
	}
}

func (s *Session) traffic() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.load) == 0 {
		return ""
	}
	sent, failed := s.totals()
	return ", " + prose.Count(sent, "request") + ", " + prose.Count(failed, "failure")
}

// yielded records that a load has stopped by itself.
func (s *Session) yielded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.load {
		what := whyEnded(l.session.Totals(), s.board.Now(), l.until)
		if l.stopped || what == "" {
			continue
		}
		l.stopped = true
		_ = s.board.Append(history.Event{T: s.board.Now(), Trouble: &history.Trouble{What: what}}) // a record that rejects it is incomplete
		s.Say("  %s", what)
	}
}
