package load

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// maxBodyBytes bounds a response's body. A body of that length is a wrong body, and not read further.
const maxBodyBytes = 64 << 10

// receive reads the response.
func (s *httpSender) receive(r *http.Response) {
	s.fillResponse(r)
	body, err := s.readBody(r.Body)
	_ = r.Body.Close() // reading has reported any error
	s.row.Bytes = int64(len(body))
	s.outcome(body, err)
}

// fillResponse takes the response's head into the row, and stores the server in the connection before another request can use
// it.
func (s *httpSender) fillResponse(r *http.Response) {
	s.row.Status = r.StatusCode
	if tries := header(r, headerTries); tries != "" {
		s.row.GatewayTries, _ = strconv.Atoi(tries)
	}
	who := server{
		pod: header(r, headerPod), node: header(r, headerNode), zone: header(r, headerZone),
		revision: header(r, headerRevision), gateway: s.row.GatewayTries > 0,
	}
	switch {
	case who.pod == "":
		infer(&s.row, s.first)
		return
	case s.last != nil && !s.last.knows(who):
		now := who // taking the address of who would allocate for every response
		s.last.who.Store(&now)
	}
	who.fill(&s.row)
}

// header returns a header by its canonical name.
func header(r *http.Response, name string) string {
	if values := r.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// errLongBody is returned for a body that was not read to its end.
var errLongBody = errors.New("the body goes on after " + strconv.Itoa(maxBodyBytes) + " bytes")

// readBody reads the whole body. The result is valid until the next call.
func (s *httpSender) readBody(r io.Reader) ([]byte, error) {
	b := s.body[:0]
	for {
		switch len(b) {
		case maxBodyBytes:
			return b, errLongBody
		case cap(b):
			b = append(b, 0)[:len(b)]
			s.body = b
		}
		n, err := r.Read(b[len(b):min(cap(b), maxBodyBytes)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

// outcome sets the outcome of a request that has a response.
func (s *httpSender) outcome(body []byte, err error) {
	switch {
	case s.row.Status != http.StatusOK:
		s.row.Outcome, s.row.Err = history.BadStatus, "status "+strconv.Itoa(s.row.Status)
	case errors.Is(err, errLongBody):
		s.row.Outcome, s.row.Err = history.WrongBody, err.Error()
	case err != nil:
		s.fail(err, reading)
	case !bytes.Equal(body, s.right.want):
		s.row.Outcome, s.row.Err = history.WrongBody, s.right.got(body)
	case s.attempts > 1:
		s.masked()
	default:
		s.row.Outcome = history.OK
	}
}

// masked marks a request that a client without retries would have lost. The row names the connection that broke and the server
// behind it; its text names the pod that answered in the end.
func (s *httpSender) masked() {
	s.row.Outcome, s.row.Err = history.Masked, masked(s.first, s.row.Pod)
	infer(&s.row, s.first)
}
