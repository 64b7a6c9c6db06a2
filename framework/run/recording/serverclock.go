package recording

import (
	"net/http"
	"sync"
	"time"
)

// serverClock learns the clock of the API server from the dates of its answers. Each is a whole second, rounded down, so that one answer bounds
// the clock to a second, and many at different parts of a second to little more than the time that an answer takes.
//
// Source: https://www.rfc-editor.org/rfc/rfc9110#name-date
type serverClock struct {
	mu sync.Mutex
	// The clock shows this machine's monotonic time plus at least low, and at most high.
	low, high time.Duration
	at        time.Duration // when the bounds were last made narrower
	known     bool
	base      time.Time
}

// drift is how much two clocks may run apart.
const drift = 200e-6

func newServerClock() *serverClock { return &serverClock{base: time.Now()} }

// wrap learns from each answer.
func (c *serverClock) wrap(next http.RoundTripper) http.RoundTripper { return dated{next, c} }

type dated struct {
	next  http.RoundTripper
	clock *serverClock
}

// RoundTrip implements http.RoundTripper.
func (d dated) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := time.Since(d.clock.base)
	response, err := d.next.RoundTrip(r)
	if err == nil {
		if date, bad := http.ParseTime(response.Header.Get("Date")); bad == nil {
			d.clock.take(sent, time.Since(d.clock.base), date)
		}
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (d dated) WrappedRoundTripper() http.RoundTripper { return d.next }

// take takes in the date of an answer to a request that was sent and answered at two moments.
func (c *serverClock) take(sent, answered time.Duration, date time.Time) {
	shows := date.Sub(c.base)
	low, high := shows-answered, shows+time.Second-sent
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known {
		wider := time.Duration(drift * float64(answered-c.at))
		was, to := c.low-wider, c.high+wider
		if narrow := max(low, was); narrow <= min(high, to) { // otherwise another API server answers, or its clock was set
			low, high = narrow, min(high, to)
		}
	}
	c.low, c.high, c.at, c.known = low, high, answered, true
}

// Bounds implements observe.ServerClock.
func (c *serverClock) Bounds() (earliest, latest time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Since(c.base)
	wider := time.Duration(drift * float64(now-c.at))
	return c.base.Add(now + c.low - wider), c.base.Add(now + c.high + wider), c.known
}

// ahead is how far the API server's clock is ahead of this machine's at least; negative: it is behind. Zero: by less than a second or two.
func (c *serverClock) ahead() time.Duration {
	earliest, latest, ok := c.Bounds()
	now := time.Now()
	switch {
	case !ok:
		return 0
	case earliest.Sub(now) > time.Second:
		return earliest.Sub(now)
	case latest.Sub(now) < -time.Second:
		return latest.Sub(now)
	}
	return 0
}
