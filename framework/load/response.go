package load

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/check"
	"github.com/holdfast-ha/holdfast/framework/load/outcome"
)

// receive reads the response.
func (s *httpSender) receive(r *http.Response) {
	s.fillResponse(r)
	body, err := s.readBody(r.Body)
	_ = r.Body.Close() // reading has reported any error
	s.outcome(r, body, err)
}

// fillResponse takes the response's head into the row, and stores the server in the connection before another request can use
// it.
func (s *httpSender) fillResponse(r *http.Response) {
	s.row.Status = r.StatusCode
	if !s.echo {
		return
	}
	if tries := header(r.Header, headerTries); tries != "" {
		s.row.GatewayTries, _ = strconv.Atoi(tries)
	}
	who := identity(r.Header)
	who.gateway = s.row.GatewayTries > 0
	if who.pod == "" {
		infer(&s.row, s.first)
		return
	}
	if s.last != nil {
		s.last.answeredBy(who)
	}
	who.fill(&s.row)
}

// readBody reads the whole body, and returns the part that was not checked yet. It is valid until the next call.
func (s *httpSender) readBody(r io.Reader) ([]byte, error) {
	b := s.body[:0]
	for {
		switch len(b) {
		case check.MaxPartBytes:
			keep, err := s.check.Part(b)
			if err != nil {
				return b, err
			}
			b = b[:copy(b, b[len(b)-keep:])]
		case cap(b):
			b = append(b, 0)[:len(b)]
			s.body = b
		}
		n, err := r.Read(b[len(b):min(cap(b), check.MaxPartBytes)])
		b = b[:len(b)+n]
		s.row.Bytes += int64(n)
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

// outcome sets the outcome of a request that has a response.
func (s *httpSender) outcome(r *http.Response, body []byte, err error) {
	if bad := s.check.BadStatus(r.StatusCode, r.Header, r.Trailer); bad != "" {
		s.row.Outcome, s.row.Err = history.BadStatus, bad
		return
	}
	switch {
	case errors.Is(err, check.ErrLongBody):
		s.row.Outcome, s.row.Err = history.WrongBody, err.Error()
		return
	case err != nil:
		s.fail(err, outcome.Reading)
		return
	}
	if differs := s.check.Wrong(body); differs != "" {
		s.row.Outcome, s.row.Err = history.WrongBody, differs
		return
	}
	if check.IsUnframed(r) && int64(len(body)) == s.row.Bytes && s.lane.longest.Cuts(body) {
		s.row.Outcome, s.row.Err = history.Truncated, check.CutOff
		return
	}
	if s.lane.inTime(&s.row); s.attempts > 1 {
		s.masked()
	}
}

// masked marks a request that a client without retries would have lost. The row names the connection that broke and the server
// behind it; its text names the pod that answered in the end.
func (s *httpSender) masked() {
	s.row.Outcome, s.row.Err = history.Masked, masked(s.first, s.row.Pod)
	infer(&s.row, s.first)
}
