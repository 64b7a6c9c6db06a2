package balancer

import (
	"fmt"
	"net"
	"strings"
	"time"
)

// idle is how long a connection may be idle: Envoy's default for TCP. A watch may be idle for minutes.
const idle = time.Hour

// render returns HAProxy's configuration for a plan. addresses are the resolved names of the backends; a backend without an
// address is left out.
//
// Each backend is listed twice: section "checks" runs the health check and the listener tracks its result. HAProxy has only
// one connect time-out per section, and a health check needs more time than kind's connect time-out, because it includes a
// TLS handshake on a busy machine. As with Envoy there is no retry: a client that was connected to a dead control plane
// loses its connection, and that loss is part of what is measured.
func render(p plan, addresses map[string]string) string {
	var text strings.Builder
	fmt.Fprintf(&text, `# Written by holdfast from the files that kind writes for Envoy.
global
    maxconn 4000
    nbthread 1

defaults
    mode tcp
    retries 0
    timeout client %[1]s
    timeout server %[1]s

backend checks
    option httpchk GET %[2]s
    option log-health-checks
    http-check expect status 200
    timeout connect %[3]s
    timeout check %[3]s
    default-server check inter %[4]s fall %[5]d rise %[6]d%[7]s
`, inMillis(idle), p.check.path, inMillis(p.check.timeout), inMillis(p.check.interval), p.check.fall, p.check.rise,
		map[bool]string{true: " check-ssl verify none"}[p.check.tls])
	servers(&text, p, addresses, "")
	fmt.Fprintf(&text, "\nlisten %s\n    bind %s\n    balance roundrobin\n    timeout connect %s\n", p.name, p.listen, inMillis(p.connect))
	servers(&text, p, addresses, "checks")
	return text.String()
}

// servers writes one line for each backend that has an address. track is the section whose checks the backends track; it
// may be empty.
func servers(text *strings.Builder, p plan, addresses map[string]string, track string) {
	for _, backend := range p.backends {
		name, port, err := net.SplitHostPort(backend)
		at := addresses[name]
		if err != nil || at == "" {
			continue
		}
		fmt.Fprintf(text, "    server %s %s", name, net.JoinHostPort(at, port))
		if track != "" {
			fmt.Fprintf(text, " track %s/%s", track, name)
		}
		text.WriteString("\n")
	}
}

func inMillis(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }
