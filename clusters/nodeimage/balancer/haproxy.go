package main

import (
	"fmt"
	"net"
	"strings"
	"time"
)

// idle is how long a connection may be silent: Envoy's own default for TCP. A watch is silent for minutes.
const idle = time.Hour

// render is HAProxy's configuration for a plan; addresses are where the backends' names lead, and one without is left out.
//
// Each backend is there twice: "checks" looks at its health and "listen" follows that, because HAProxy knows one time-out
// for connecting, and a health check has to get through TLS on a busy machine. There is no second try, as with Envoy: a
// client whose connection came to a dead control plane loses it, and that is part of what is measured.
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

// servers writes a line for each backend that has an address; track is the section whose checks it follows, if any.
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
