package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ending is how servers end: after SIGTERM they serve as before for a while, then ask clients to leave, and then shut down. A rude one ends at once.
type ending struct {
	rude    bool
	told    atomic.Bool // SIGTERM has come
	leaving atomic.Bool // clients are asked to use other connections
	servers []*http.Server
}

const (
	serves = 2 * time.Second // as before
	leaves = time.Second
	shuts  = 5 * time.Second
)

func (e *ending) serve(s *http.Server) {
	e.servers = append(e.servers, s)
	go func() {
		if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			log.Fatal(err)
		}
	}()
}

// wait returns when all servers have ended after SIGTERM.
func (e *ending) wait(ctx context.Context) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	<-signals
	if e.rude {
		return
	}
	e.told.Store(true)
	<-time.After(serves)
	e.leaving.Store(true)
	<-time.After(leaves)
	ctx, cancel := context.WithTimeout(ctx, shuts)
	defer cancel()
	var all sync.WaitGroup
	for _, s := range e.servers {
		all.Go(func() { _ = s.Shutdown(ctx) })
	}
	all.Wait()
}
