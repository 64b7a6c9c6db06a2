package ask

import (
	"io"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/check"
	"github.com/holdfast-ha/holdfast/framework/load/dial"
	"github.com/holdfast-ha/holdfast/framework/load/outcome"
)

// tcp is a connection of a server that speaks neither HTTP nor a protocol of holdfast's own. Without a message and an expected text, a
// connection that is accepted is a good answer.
type tcp struct {
	over  Link
	broke error // while nothing was asked; nil: it did not, as far as was looked
}

// Ask implements Conn.
func (c *tcp) Ask(q Question, until time.Time) Result {
	if c.broke != nil {
		return failed(c.over, c.broke, outcome.Waiting)
	}
	_ = c.over.SetDeadline(until) // of a connection that is open, it does not fail
	n, at, err := c.talk(q)
	r := Result{Outcome: history.OK}
	if err != nil {
		r = failed(c.over, err, at)
	}
	r.Bytes = n
	return r
}

// talk writes the request, and reads until the expected text has come.
func (c *tcp) talk(q Question) (n int64, at outcome.Stage, err error) {
	if q.Message != "" {
		if _, err := io.WriteString(c.over, q.Message); err != nil {
			return 0, outcome.Waiting, err
		}
	}
	if q.Expect.Contains == "" {
		return 0, outcome.Waiting, nil
	}
	n, err = check.ReadUntil(c.over, []byte(q.Expect.Contains))
	if n == 0 {
		return n, outcome.Waiting, err
	}
	return n, outcome.Reading, err
}

// Over implements Conn.
func (c *tcp) Over() Link { return c.over }

// Left implements Conn.
func (c *tcp) Left() bool {
	over, broke := dial.Ended(c.over.NetConn())
	c.broke = broke
	return over && broke == nil
}

// Close implements Conn.
func (c *tcp) Close() { _ = c.over.Close() }
