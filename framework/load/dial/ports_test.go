package dial

import (
	"math/rand/v2"
	"net"
	"slices"
	"testing"
)

// accepted listens on loopback and returns the source ports of accepted connections.
func accepted(t *testing.T) (address string, ports <-chan int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan int)
	go func() {
		defer close(seen)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			seen <- c.RemoteAddr().(*net.TCPAddr).Port
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String(), seen
}

func TestSourcePortsTakeTurns(t *testing.T) {
	address, ports := accepted(t)
	var p SourcePorts
	p.turn.Store(rand.Uint32N(20_000)) // a used port stays in use for a minute, also one of an earlier run of this test
	var got []int
	for range 20 {
		c, err := p.connect(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, <-ports)
		_ = c.Close()
	}
	own := slices.DeleteFunc(slices.Clone(got), func(port int) bool { return port > lastPort }) // assigned by Linux, because the next port was in use
	if len(own) < 10 || !slices.IsSorted(own) || len(slices.Compact(slices.Clone(own))) != len(own) {
		t.Errorf("source ports %v: want them one after the other", got)
	}
}

func TestAPortInUseIsPassedOver(t *testing.T) {
	address, ports := accepted(t)
	var p SourcePorts
	turn := rand.Uint32N(20_000)
	p.turn.Store(turn)
	taken, err := net.ListenTCP("tcp", &net.TCPAddr{Port: firstPort + int(turn)})
	if err == nil { // otherwise another program uses it, which is as good
		defer func() { _ = taken.Close() }()
	}
	c, err := p.connect(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if port := <-ports; port == firstPort+int(turn) || port < 1024 {
		t.Errorf("source port %d is the one in use", port)
	}
}

func TestSourcePortsComeRound(t *testing.T) {
	var p SourcePorts
	p.turn.Store(lastPort - firstPort)
	if last, first := p.next(), p.next(); last != lastPort || first != firstPort {
		t.Errorf("ports %d, %d; want %d, %d", last, first, lastPort, firstPort)
	}
}
