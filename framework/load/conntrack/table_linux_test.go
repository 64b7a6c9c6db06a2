package conntrack

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ti-mo/conntrack"
	"golang.org/x/sys/unix"
)

var (
	client  = netip.MustParseAddr("10.0.0.1")
	service = netip.MustParseAddrPort("10.96.0.1:80")
)

// reports is a report of a connection from port 10000 to the Service, of the server that it leads to.
func reports(t *Table, server string) {
	to := netip.MustParseAddrPort(server)
	t.note(&conntrack.Flow{
		TupleOrig:  conntrack.Tuple{IP: conntrack.IPTuple{SourceAddress: client, DestinationAddress: service.Addr()}, Proto: conntrack.ProtoTuple{Protocol: unix.IPPROTO_TCP, SourcePort: 10000, DestinationPort: service.Port()}},
		TupleReply: conntrack.Tuple{IP: conntrack.IPTuple{SourceAddress: to.Addr(), DestinationAddress: client}, Proto: conntrack.ProtoTuple{Protocol: unix.IPPROTO_TCP, SourcePort: to.Port(), DestinationPort: 10000}},
	})
}

// TestAReportIsNeverThatOfTheNextConnection: a port is used again, and its reports come late, not at all, or for nothing.
func TestAReportIsNeverThatOfTheNextConnection(t *testing.T) {
	const first, second, none = "10.0.1.1:8080", "10.0.1.2:8080", ""
	for name, run := range map[string]func(*Table, func(want string)){
		"in time": func(table *Table, asks func(string)) {
			reports(table, first)
			asks(first)
			reports(table, second)
			asks(second)
		},
		"the first comes just after its question was given up": func(table *Table, asks func(string)) {
			asks(none)
			reports(table, first)
			time.Sleep(time.Minute)
			reports(table, second)
			asks(second)
		},
		"the second asks before its own report is there": func(table *Table, asks func(string)) {
			asks(none)
			reports(table, first)
			go func() {
				time.Sleep(reportLimit / 2)
				reports(table, second)
			}()
			asks(second)
		},
		"the first never comes": func(table *Table, asks func(string)) {
			asks(none)
			time.Sleep(time.Minute)
			reports(table, second)
			asks(second)
		},
		"the first comes after ten questions in vain, at once": func(table *Table, asks func(string)) {
			for range patience + 1 {
				asks(none)
			}
			reports(table, first)
			time.Sleep(time.Minute)
			go func() {
				time.Sleep(reportLimit / 2)
				reports(table, second)
			}()
			asks(second) // reports do come, so that it is waited for
		},
		"the first was never asked for": func(table *Table, asks func(string)) {
			reports(table, first)
			time.Sleep(time.Minute)
			asks(none)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := newTable()
				table.own[client] = true
				run(table, func(want string) {
					t.Helper()
					got := ""
					if server, ok := table.Server(10000, service); ok {
						got = server.String()
					}
					if got != want {
						t.Errorf("the connection leads to %q, want %q", got, want)
					}
				})
				synctest.Wait()
			})
		})
	}
}
