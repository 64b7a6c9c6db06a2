// Package conntrack asks the kernel of a node where connections lead: kube-proxy has the kernel translate the address of a Service into
// that of a pod, and the kernel's connection tracking reports the translation of each connection, also of one that fails.
//
// It changes nothing, and knows nothing of Services and pods.
package conntrack

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/mdlayher/netlink"
	"github.com/ti-mo/conntrack"
	"github.com/ti-mo/netfilter"
	"golang.org/x/sys/unix"
)

// NodeNamespace is the network namespace of the node, for a pod that sees the node's processes (hostPID).
const NodeNamespace = "/proc/1/ns/net"

// reportLimit is how long a report may be on its way. The kernel makes it before the first packet of the connection leaves.
const reportLimit = 100 * time.Millisecond

// patience is how many questions in a row may wait in vain. Where the kernel reports nothing, waiting would make each connection slow.
const patience = 10

// lateness is how long after a question a report may come that is the answer to it, and how long a report waits for a question. Both are longer than
// a connection takes to be made, and shorter than the time after which a port is used again.
const lateness = 10 * time.Second

// readBuffer holds the reports of thousands of connections, in bytes.
const readBuffer = 4 << 20

// Table knows the new connections of this process and its network namespace, as another network namespace tracks them, through which
// they pass.
type Table struct {
	conn *conntrack.Conn
	file *os.File
	own  map[netip.Addr]bool // addresses of this namespace

	mu       sync.Mutex
	reported map[connection]report    // where each leads, until it is asked for
	given    map[connection]time.Time // when a question was given up: its report may still come, and is not that of the next connection
	unknown  int                      // how many questions in a row had no answer
	more     chan struct{}            // closed at the next report
}

// report is where a connection leads, and when the kernel said so.
type report struct {
	server netip.AddrPort
	at     time.Time
}

// connection is one by its ends, as this process sees them.
type connection struct {
	port   uint16 // ours
	remote netip.AddrPort
}

// Open follows the connection tracking of the network namespace in a file. The process needs CAP_SYS_ADMIN and CAP_NET_ADMIN there.
func Open(namespace string) (*Table, error) {
	t := newTable()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list the addresses of this machine: %w", err)
	}
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			t.own[prefix.Addr().Unmap()] = true
		}
	}
	if t.file, err = os.Open(namespace); err != nil {
		return nil, fmt.Errorf("open the node's network namespace: %w", err)
	}
	if err := t.listen(); err != nil {
		_ = t.file.Close()
		return nil, fmt.Errorf("follow the node's connection tracking: %w", err)
	}
	return t, nil
}

func newTable() *Table {
	return &Table{own: map[netip.Addr]bool{}, reported: map[connection]report{}, given: map[connection]time.Time{}, more: make(chan struct{})}
}

// listen asks for a report of each new connection. Reports that do not fit into the buffer are lost, and do not end the listening.
func (t *Table) listen() (err error) {
	if t.conn, err = conntrack.Dial(&netlink.Config{NetNS: int(t.file.Fd())}); err != nil {
		return err
	}
	if err := t.conn.SetReadBuffer(readBuffer); err != nil {
		return err
	}
	if err := t.conn.SetOption(netlink.NoENOBUFS, true); err != nil {
		return err
	}
	events := make(chan conntrack.Event, 1024)
	ended, err := t.conn.Listen(events, 1, []netfilter.NetlinkGroup{netfilter.GroupCTNew})
	if err != nil {
		return err
	}
	go t.follow(events, ended)
	return nil
}

// follow notes the reports until the listening ends. Without reports, servers are unknown, which is missing evidence and no wrong one.
func (t *Table) follow(events <-chan conntrack.Event, ended <-chan error) {
	for {
		select {
		case e := <-events:
			if e.Flow != nil {
				t.note(e.Flow)
			}
		case err := <-ended:
			if err != nil {
				slog.Error("the node's connection tracking is not followed any more", "error", err)
			}
			return
		}
	}
}

// note keeps where a new connection of this process leads. Of one whose question was given up it is too late.
func (t *Table) note(f *conntrack.Flow) {
	from, to, reply := f.TupleOrig.IP, f.TupleOrig.Proto, f.TupleReply
	if to.Protocol != unix.IPPROTO_TCP || !t.own[from.SourceAddress.Unmap()] {
		return
	}
	c := connection{to.SourcePort, netip.AddrPortFrom(from.DestinationAddress.Unmap(), to.DestinationPort)}
	t.mu.Lock()
	defer t.mu.Unlock()
	at, tooLate := t.given[c]
	if delete(t.given, c); tooLate && time.Since(at) < lateness {
		t.unknown = 0 // reports do come, so that it is worth waiting for them
		return
	}
	t.reported[c] = report{netip.AddrPortFrom(reply.IP.SourceAddress.Unmap(), reply.Proto.SourcePort), time.Now()}
	close(t.more)
	t.more = make(chan struct{})
}

// Close ends the listening.
func (t *Table) Close() error {
	if err := t.conn.Close(); err != nil {
		return err
	}
	return t.file.Close()
}

// Server is the address that a TCP connection from a local port to a remote address was translated to. A report is forgotten once it was
// asked for, or could have been, because a later connection may have the same port. Not ok: the kernel has reported no translation of it, as of a
// connection that a rule of the node rejected.
func (t *Table) Server(port uint16, remote netip.AddrPort) (netip.AddrPort, bool) {
	limit := time.NewTimer(reportLimit)
	defer limit.Stop()
	c := connection{port, remote}
	for {
		server, known, more := t.ask(c)
		switch {
		case known:
			return server, server != remote
		case more == nil:
			return netip.AddrPort{}, false
		}
		select {
		case <-more:
		case <-limit.C:
			t.mu.Lock()
			defer t.mu.Unlock()
			t.unknown++
			t.given[c] = time.Now()
			return netip.AddrPort{}, false
		}
	}
}

// ask takes the report of a connection. Without one, more is closed at the next report; nil: the question is given up, as too many were in vain.
func (t *Table) ask(c connection) (server netip.AddrPort, known bool, more <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, there := t.reported[c]
	delete(t.reported, c)
	switch {
	case there && time.Since(r.at) < lateness:
		t.unknown = 0
		return r.server, true, nil
	case t.unknown >= patience:
		t.given[c] = time.Now()
		return server, false, nil
	}
	return server, false, t.more
}
