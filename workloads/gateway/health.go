package gateway

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/workloads/serve"
)

// checker asks upstreams whether they are well, each on a connection of its own: a kept one to a dead node says nothing.
type checker struct {
	pool   *pool
	client http.Client
}

func newChecker(p *pool) *checker {
	return &checker{pool: p, client: http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		Timeout:       p.health.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// run checks all upstreams again and again until ctx ends. An upstream that is slow to answer holds up no other: a
// round takes at most the time-out, and the next begins when it is due and the one before has ended.
func (c *checker) run(ctx context.Context) {
	tick := time.NewTicker(c.pool.health.Every)
	defer tick.Stop()
	for {
		c.round(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (c *checker) round(ctx context.Context) {
	var all sync.WaitGroup
	for _, u := range c.pool.snapshot() {
		all.Go(func() {
			well := c.well(ctx, u.address)
			if ctx.Err() == nil {
				c.pool.checked(u, well)
			}
		})
	}
	all.Wait()
}

func (c *checker) well(ctx context.Context, address string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+serve.ReadyPath, nil)
	if err != nil {
		return false
	}
	response, err := c.client.Do(r)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<10))
	return err == nil && response.StatusCode == http.StatusOK
}
