package load

import (
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/dial"
)

// addresses is a lookup that returns these addresses for every name.
func addresses(all ...string) func(context.Context, string, string) ([]netip.Addr, error) {
	return func(context.Context, string, string) ([]netip.Addr, error) {
		var ips []netip.Addr
		for _, a := range all {
			ips = append(ips, netip.MustParseAddr(a))
		}
		return ips, nil
	}
}

// One of a name's addresses does not take the connection. A client that tried the next address would hide that.
func TestNoAddressStandsInForAnother(t *testing.T) {
	url, l := listen(t, func(_ *testing.T, n int, c *exchange) { c.answers(n) })
	port := strings.TrimPrefix(l.Addr().String(), "127.0.0.1")
	lane := testLane(t, Lane{Lane: history.LaneFresh, Target: strings.Replace(url, "127.0.0.1", "two.test", 1), Rate: 1})
	other, limit := history.Refused, time.Minute
	if second, err := net.Listen("tcp", "127.0.0.2:0"); err != nil { // macOS has only the first address, and does not answer for others
		other, limit = history.TimeoutConnect, time.Second
	} else {
		_ = second.Close()
	}
	d := &dialer{Dialer: dial.Dialer{Limit: limit, Lookup: addresses("127.0.0.1", "::1", "::ffff:127.0.0.2")}, shared: &sharedDialer{}}
	lane.transport = newFresh(lane.Lane, d)
	got := sendAll(t, lane, 4)
	for i, want := range []history.Outcome{history.OK, other, history.OK, other} {
		if got[i].Outcome != want {
			t.Errorf("request %d is %s, want %s: %s", i, got[i].Outcome, want, got[i].Err)
		}
		if want == history.OK && got[i].Addr != "127.0.0.1"+port {
			t.Errorf("request %d went to %s", i, got[i].Addr)
		}
	}
}

// A lane that is given addresses asks them in turn, each for itself, whatever the DNS would say; a plan takes them to its worker.
func TestGivenAddressesTakeTurns(t *testing.T) {
	url, l := listen(t, func(_ *testing.T, n int, c *exchange) { c.answers(n) })
	text, err := json.Marshal(Lane{
		Lane: history.LaneFresh, Target: strings.Replace(url, "127.0.0.1", "web", 1), Rate: 1, Outside: true,
		Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var given Lane
	if err := json.Unmarshal(text, &given); err != nil || given.Outside {
		t.Fatalf("%s: %v", text, err)
	}
	given.Timeouts.Connect = time.Second
	lane := testLane(t, given)
	lane.transport = newFresh(lane.Lane, newDialer(lane.Lane, &sharedDialer{}))
	for i, row := range sendAll(t, lane, 4) {
		if (row.Outcome == history.OK) != (i%2 == 0) || row.Outcome == history.OK && row.Addr != l.Addr().String() {
			t.Errorf("request %d is %s at %s: %s", i, row.Outcome, row.Addr, row.Err)
		}
	}
}

func TestNames(t *testing.T) {
	slow := func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	unknown := func(context.Context, string, string) ([]netip.Addr, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "name.test", IsNotFound: true}
	}
	tests := []struct {
		name   string
		lookup func(context.Context, string, string) ([]netip.Addr, error)
		want   history.Outcome
		err    string
	}{
		{"no answer", slow, history.TimeoutConnect, "context deadline exceeded"},
		{"unknown", unknown, history.Other, "lookup name.test: no such host"},
		{"no addresses", addresses(), history.Other, "look up name.test: no addresses"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lane := testLane(t, Lane{Lane: history.LaneFresh, Target: "http://name.test/", Rate: 1, Timeouts: roomy})
			d := &dialer{Dialer: dial.Dialer{Limit: 50 * time.Millisecond, Lookup: tt.lookup}, shared: &sharedDialer{}}
			lane.transport = newFresh(lane.Lane, d)
			got := sendAll(t, lane, 1)[0]
			if got.Outcome != tt.want || got.Err != tt.err {
				t.Errorf("%s: %q, want %s: %q", got.Outcome, got.Err, tt.want, tt.err)
			}
		})
	}
}
