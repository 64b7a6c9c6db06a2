package gateway

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/workloads/serve"
)

// checker checks the health of upstreams, each time on a new connection: a kept connection may go to a dead node.
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

// run checks all upstreams periodically until ctx ends. All checks of a round run concurrently, so a slow upstream does not
// delay the others, and a round lasts no longer than the time-out. A round starts when it is due and the previous one has
// ended.
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
