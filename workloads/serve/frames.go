package serve

// goAwayFrame announces the end of the server. Its last-stream ID is the maximum, which promises that all requests on their
// way will still be answered. A server should send it before the GOAWAY that contains the last stream it has seen;
// otherwise the client must send the requests on their way again. Go's own server (1.26) sends only the second GOAWAY.
//
// Source: https://www.rfc-editor.org/rfc/rfc9113#section-6.8
var goAwayFrame = []byte{
	0, 0, 8, frameGoAway, 0, 0, 0, 0, 0, // length, type, flags, stream
	0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, // last-stream ID, and no error
}

// What is needed of HTTP/2's frame format to find where a frame ends.
// Source: https://www.rfc-editor.org/rfc/rfc9113#section-4.1
const (
	frameHeadBytes    = 9
	frameHeaders      = 1
	framePushPromise  = 5
	frameGoAway       = 7
	frameContinuation = 9
	flagEndHeaders    = 4
)

// frames parses what is written on an HTTP/2 connection.
type frames struct {
	begun bool // a first frame has been written; the server's first frame must be its own SETTINGS
	head  [frameHeadBytes]byte
	have  int  // bytes of the frame header
	left  int  // bytes that remain of the frame's payload
	block bool // a header block is open: CONTINUATION frames must follow
}

func (f *frames) follow(b []byte) {
	for len(b) > 0 {
		if f.left > 0 {
			n := min(f.left, len(b))
			f.left, b = f.left-n, b[n:]
			continue
		}
		n := copy(f.head[f.have:], b)
		f.have, b = f.have+n, b[n:]
		if f.have == frameHeadBytes {
			f.begin()
		}
	}
}

// begin parses a complete frame header.
func (f *frames) begin() {
	f.begun, f.have = true, 0
	f.left = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
	switch f.head[3] {
	case frameHeaders, framePushPromise, frameContinuation:
		f.block = f.head[4]&flagEndHeaders == 0
	}
}

// between reports whether another frame may be inserted here.
func (f *frames) between() bool { return f.begun && f.have == 0 && f.left == 0 && !f.block }
