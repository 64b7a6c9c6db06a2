// Package observe watches a cluster and writes what it sees into a history.
//
// It does not wait, judge or change anything. Whatever a watch may have missed is recorded as a gap, so that missing events
// are not taken for a quiet cluster.
package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/noise"
)

// Sink accepts events; *history.Writer is one. Append may be called concurrently.
type Sink interface {
	Now() history.Offset
	Append(history.Event) error
}

// Watcher is a set of running watches.
type Watcher struct {
	cancel    context.CancelFunc
	closing   chan struct{}  // closed when the watches are to be compared with lists
	streams   sync.WaitGroup // the streams that take part in that comparison
	done      sync.WaitGroup // the streams, and other work, that end with the context
	stopEcho  func()         // ends the echo calls
	once      sync.Once
	stopNoise func() // ends the recording of noise
	errs      chan error

	concludeLimit time.Duration // for the comparison
}

// Scope says what is watched, and how.
type Scope struct {
	// Namespaces are those whose objects are watched; none: all.
	Namespaces []string
	// Without are the kinds that are not watched, by Kind.What: those that the user must not list and watch.
	Without []string
	// Reading is set on a cluster of somebody else. Nothing is changed there, so that no echo shows how late the watches are; and a watch is
	// resumed however long the API server has been away.
	Reading bool
	// Clock shows how late the watches are where nothing is changed; nil: nothing does.
	Clock ServerClock

	// Nodes are the containers of the nodes, if they are on this machine; nil: how much processor time they use is not recorded.
	Nodes *noise.Nodes

	clocks func() clockReading // those of this machine; nil: the real ones
}

// Start begins to watch the pods, Deployments, StatefulSets, in clusters of our own DaemonSets, EndpointSlices, PodDisruptionBudgets and Kubernetes Events of the scope, and all
// nodes of the cluster. It also records the noise of its own process, how late each watch is, and when this machine
// slept. It returns when the current state of
// all objects is in the history.
func Start(ctx context.Context, client kubernetes.Interface, scope Scope, sink Sink) (*Watcher, error) {
	ctx, cancel := context.WithCancel(ctx)
	streams := scope.streams(client)
	w := &Watcher{cancel: cancel, closing: make(chan struct{}), stopEcho: func() {}, concludeLimit: concludeLimit(listLimit)}
	if scope.Reading {
		w.concludeLimit = concludeLimit(patientListLimit)
	}
	keep := func(e history.Event) { _ = sink.Append(e) } // if the record rejects an event, it is incomplete anyway
	w.stopNoise = noise.Start(history.NoiseHarness, scope.Nodes, sink.Now, func(s noise.Sample) { keep(s.Event()) })
	clocks := scope.clocks
	if clocks == nil {
		clocks = readClocks
	}
	w.done.Go(func() { watchClocks(ctx, clocks, sink.Now, keep) })
	if !scope.Reading {
		leases := client.CoordinationV1().Leases(scope.Namespaces[0])
		echo := newEchoCaller(leases, sink)
		streams = append(streams, streamOf("leases", leases, echo.received))
		calling, end := context.WithCancel(ctx)
		var calls sync.WaitGroup
		calls.Go(func() { echo.run(calling) })
		w.stopEcho = func() { end(); calls.Wait() }
	}
	w.errs = make(chan error, len(streams))
	reports := &order{}
	for _, s := range streams {
		s.sink, s.patient, s.clock = sink, scope.Reading, scope.Clock
		if s.what != notes {
			s.order, s.closing = reports, w.closing
		}
		if err := s.list(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("list %s: %w", s.what, err), w.Stop())
		}
		follow := w.streams.Go
		if s.closing == nil { // this stream ends with the context
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

// streams are the streams of all kinds in all namespaces of the scope.
func (s Scope) streams(client kubernetes.Interface) (all []*stream) {
	namespaces := s.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	kinds := Kinds()
	if !s.Reading {
		kinds = append(kinds, daemonSets)
	}
	for _, k := range kinds {
		switch {
		case slices.Contains(s.Without, k.What):
		case k.Everywhere:
			all = append(all, k.stream(client, ""))
		default:
			for _, namespace := range namespaces {
				all = append(all, k.stream(client, namespace))
			}
		}
	}
	return all
}

// Stop ends the watches. It first waits until connected watches have reported everything that a list shows. It returns the
// first error that ended a watch early: after that error the history lacks what the watch would have reported.
func (w *Watcher) Stop() error {
	w.once.Do(func() {
		w.stopEcho()
		close(w.closing)
		concluded := make(chan struct{})
		go func() { w.streams.Wait(); close(concluded) }()
		select {
		case <-concluded:
		case <-time.After(w.concludeLimit):
		}
		w.cancel()
		w.streams.Wait()
		w.done.Wait()
		w.stopNoise()
		close(w.errs)
	})
	return <-w.errs
}
