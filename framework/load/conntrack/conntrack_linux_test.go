package conntrack_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/load/conntrack"
)

// inside is set in the process that has a network namespace of its own.
const inside = "HOLDFAST_TEST_CONNTRACK"

// rules translate the address of a Service into that of a server, as kube-proxy does.
const rules = `
ip link set lo up
ip address add 10.9.9.1/32 dev lo
ip route add 10.9.9.9/32 dev lo
nft add table ip t
nft add chain ip t out '{ type nat hook output priority -100; }'
nft add rule ip t out ip daddr 10.9.9.9 tcp dport 80 dnat to 10.9.9.1:8081
nft add rule ip t out ip daddr 10.9.9.9 tcp dport 81 dnat to 10.9.9.1:8082
`

// TestServer runs in a network namespace of its own, because it changes the rules of one.
func TestServer(t *testing.T) {
	if os.Getenv(inside) != "" {
		servers(t)
		return
	}
	for _, program := range []string{"unshare", "nft", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("not supported here: %v", err)
		}
	}
	script := "set -e" + rules + fmt.Sprintf("exec %q -test.run '^TestServer$' -test.v", os.Args[0])
	cmd := exec.CommandContext(t.Context(), "unshare", "--net", "bash", "-c", script)
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil && strings.Contains(string(out), "Operation not permitted") {
		t.Skipf("not supported here: this user may not change rules: %s", out)
	}
	if err != nil || !strings.Contains(string(out), "asked the kernel") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func servers(t *testing.T) {
	table, err := conntrack.Open("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close() //nolint:errcheck // the process ends
	listener, err := net.Listen("tcp", "10.9.9.1:8081")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	to := netip.MustParseAddrPort("10.9.9.9:80")
	c, err := net.DialTimeout("tcp", to.String(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	local := uint16(c.LocalAddr().(*net.TCPAddr).Port)
	if server, ok := table.Server(local, to); !ok || server.String() != "10.9.9.1:8081" {
		t.Errorf("an open connection leads to %v, %t; want 10.9.9.1:8081", server, ok)
	}
	// Nobody listens on 8082. The kernel knows where the connection would have led.
	refused := netip.MustParseAddrPort("10.9.9.9:81")
	d := net.Dialer{LocalAddr: &net.TCPAddr{Port: 12345}, Timeout: 5 * time.Second}
	if _, err := d.Dial("tcp", refused.String()); err == nil {
		t.Fatal("a connection to a server that does not listen")
	}
	if server, ok := table.Server(12345, refused); !ok || server.String() != "10.9.9.1:8082" {
		t.Errorf("a refused connection led to %v, %t; want 10.9.9.1:8082", server, ok)
	}
	if server, ok := table.Server(local, to); ok {
		t.Errorf("a connection that was asked for before leads to %v", server)
	}
	if server, ok := table.Server(1, to); ok {
		t.Errorf("a connection that nobody made leads to %v", server)
	}
	fmt.Println("asked the kernel")
}
