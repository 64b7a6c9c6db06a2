package serve

// goAwayFrame says that the server is about to end, and that every request which is under way will still be answered: its
// last stream is the last there can be. A server is to send it before the one that names the last stream it has seen, or
// the client must send again what was on its way meanwhile. Go's own server (1.26) sends the second alone.
//
// Source: https://www.rfc-editor.org/rfc/rfc9113#section-6.8
var goAwayFrame = []byte{
	0, 0, 8, frameGoAway, 0, 0, 0, 0, 0, // length, type, flags, stream
	0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, // the last stream, and no error
}

// What of HTTP/2's frames is needed to tell where one ends.
// Source: https://www.rfc-editor.org/rfc/rfc9113#section-4.1
const (
	frameHeadBytes    = 9
	frameHeaders      = 1
	framePushPromise  = 5
	frameGoAway       = 7
	frameContinuation = 9
	flagEndHeaders    = 4
)

// frames follows what is written on a connection that speaks HTTP/2.
type frames struct {
	begun bool // the first has been written: until then a server may say nothing else
	head  [frameHeadBytes]byte
	have  int  // of the head
	left  int  // of what follows the head
	block bool // more of the same headers must follow
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

// begin reads a head that is whole.
func (f *frames) begin() {
	f.begun, f.have = true, 0
	f.left = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
	switch f.head[3] {
	case frameHeaders, framePushPromise, frameContinuation:
		f.block = f.head[4]&flagEndHeaders == 0
	}
}

// between tells whether another frame may begin here.
func (f *frames) between() bool { return f.begun && f.have == 0 && f.left == 0 && !f.block }
