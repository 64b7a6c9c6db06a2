// Package observe watches a cluster and writes what it sees into a history.
//
// It waits for nothing, concludes nothing and changes nothing. What a watch may have missed is recorded as a gap, so
// that silence is never taken for calm.
package observe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/noise"
)

// Sink takes events; *history.Writer is one. Append may be called by several goroutines.
type Sink interface {
	Now() history.Offset
	Append(history.Event) error
}

// Watcher is a set of watches at work.
type Watcher struct {
	cancel  context.CancelFunc
	closing chan struct{}  // is closed when the watches are to be compared with lists
	streams sync.WaitGroup // those that are
	done    sync.WaitGroup // what ends with the context
	calling func()         // ends the calls
	once    sync.Once
	quiet   func() // ends the listening to noise
	errs    chan error
}

// Start begins to watch the namespace's pods, Deployments, StatefulSets, EndpointSlices, budgets and Kubernetes Events, and all nodes
// of the cluster, and to listen to itself: for its own process's noise, and for how late its watches are, each of them. It returns when the
// present state of all objects is in the history.
func Start(ctx context.Context, client kubernetes.Interface, namespace string, sink Sink) (*Watcher, error) {
	ctx, cancel := context.WithCancel(ctx)
	call := newCaller(client.CoordinationV1().Leases(namespace), sink)
	streams := append(allStreams(client, namespace), streamOf("leases", client.CoordinationV1().Leases(namespace), call.back))
	w := &Watcher{cancel: cancel, closing: make(chan struct{}), errs: make(chan error, len(streams))}
	w.quiet = noise.Listen(history.NoiseHarness, sink.Now, func(s noise.Sample) {
		_ = sink.Append(s.Event()) // a record that refuses it is incomplete anyway
	})
	w.calling = callUntil(ctx, call)
	told := &order{}
	for _, s := range streams {
		s.sink = sink
		if s.what != "events" {
			s.order, s.closing = told, w.closing
		}
		if err := s.list(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("list %s: %w", s.what, err), w.Stop())
		}
		follow := w.streams.Go
		if s.closing == nil { // it ends with the context
			follow = w.done.Go
		}
		follow(func() {
			if err := s.follow(ctx); err != nil {
				w.errs <- fmt.Errorf("watch %s: %w", s.what, err)
			}
		})
	}
	return w, nil
}

// callUntil calls until it is told to end.
func callUntil(ctx context.Context, c *caller) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	calls.Go(func() { c.run(ctx) })
	return func() {
		cancel()
		calls.Wait()
	}
}

// Stop ends the watches, once those that have a connection have told of all that a list shows. It returns the first thing that ended
// one of them before its time: from then on the history lacks what it would have reported.
func (w *Watcher) Stop() error {
	w.once.Do(func() {
		w.calling()
		close(w.closing)
		concluded := make(chan struct{})
		go func() { w.streams.Wait(); close(concluded) }()
		select {
		case <-concluded:
		case <-time.After(concludeLimit):
		}
		w.cancel()
		w.streams.Wait()
		w.done.Wait()
		w.quiet()
		close(w.errs)
	})
	return <-w.errs
}
