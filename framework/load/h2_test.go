package load

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// h2 is the server's end of an HTTP/2 connection, which misbehaves on demand.
type h2 struct {
	*exchange
	*http2.Framer
	fields bytes.Buffer
	encode *hpack.Encoder
	decode *hpack.Decoder
}

// asH2 reads the client's preface and sends the server's settings.
func (c *exchange) asH2() *h2 {
	_, _ = io.CopyN(io.Discard, c.in, int64(len(http2.ClientPreface)))
	s := &h2{exchange: c, Framer: http2.NewFramer(c, c.in), decode: hpack.NewDecoder(4096, nil)}
	s.encode = hpack.NewEncoder(&s.fields)
	_ = s.WriteSettings()
	return s
}

// stream reads up to the next request, and returns its stream and id; zero when the client has gone.
func (s *h2) stream() (uint32, string) {
	for {
		f, err := s.ReadFrame()
		switch f := f.(type) {
		case nil:
			return 0, err.Error()
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = s.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				_ = s.WritePing(true, f.Data)
			}
		case *http2.HeadersFrame:
			fields, _ := s.decode.DecodeFull(f.HeaderBlockFragment())
			for _, field := range fields {
				if field.Name == strings.ToLower(backend.HeaderID) {
					return f.StreamID, field.Value
				}
			}
			return f.StreamID, ""
		}
	}
}

// respond sends a header frame; end ends the stream.
func (s *h2) respond(stream uint32, end bool, fields ...string) {
	s.fields.Reset()
	for _, f := range fields {
		at := strings.LastIndex(f, ": ")
		_ = s.encode.WriteField(hpack.HeaderField{Name: strings.ToLower(f[:at]), Value: f[at+2:]})
	}
	_ = s.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: s.fields.Bytes(), EndHeaders: true, EndStream: end,
	})
}

// begins sends the head of a response with a body of that length.
func (s *h2) begins(stream uint32, status, length, n int) {
	s.respond(stream, false, append([]string{fmt.Sprint(":status: ", status), fmt.Sprint("content-length: ", length)}, pod(n)...)...)
}

// answersH2 answers one request correctly.
func (s *h2) answersH2(n int) bool {
	stream, id := s.stream()
	if stream == 0 {
		return false
	}
	s.begins(stream, 200, len("ok \n")+len(id), n)
	_ = s.WriteData(stream, true, []byte("ok "+id+"\n"))
	return true
}

// overH2 returns a script that reads one HTTP/2 request and passes it to serve.
func overH2(serve func(s *h2, stream uint32, n int)) script {
	return func(_ *testing.T, n int, c *exchange) {
		s := c.asH2()
		if stream, _ := s.stream(); stream != 0 {
			serve(s, stream, n)
		}
	}
}
