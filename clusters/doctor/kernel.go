package doctor

import (
	"context"
	"errors"
	"strings"
)

// overlay checks for the file system of images and nodes.
func (m *machine) overlay() Check {
	if strings.Contains(m.text("/proc/filesystems"), "\toverlay") {
		return Check{Name: "overlayfs", Status: OK, Found: "in the kernel"}
	}
	return Check{
		Name: "overlayfs", Status: Warn, Found: "not in the kernel, unless loaded on demand",
		Remedy: "sudo modprobe overlay",
	}
}

// bridge checks for the bridge and veth devices that connect nodes.
func (m *machine) bridge(ctx context.Context) Check {
	check := Check{Name: "bridge", Status: OK, Found: "bridge and veth work"}
	for _, kind := range []string{"bridge", "veth"} {
		err := m.isolated(ctx, "", "ip", "link", "add", "name", "hf0", "type", kind)
		switch {
		case errors.Is(err, errNotTried):
			check.Status, check.Found, check.Remedy = Warn, err.Error(), "run as root, with iproute2 installed"
		case err != nil:
			check.Status, check.Found, check.Remedy = Fail, "no "+kind+" in this kernel: "+err.Error(), "sudo modprobe "+kind
		}
		if err != nil {
			break
		}
	}
	return check
}

// ruleset uses the nftables features of kube-proxy's nftables mode and of holdfast's partitions.
const ruleset = `
table inet holdfast {
	chain in {
		type filter hook input priority 0;
		ct state established accept
		meta mark 1 drop
		limit rate 1/second accept
		numgen random mod 100 < 5 drop
		reject
	}
}
table ip holdfast {
	map services { type ipv4_addr . inet_proto . inet_service : verdict; }
	chain before {
		type nat hook prerouting priority -100;
		fib daddr type local accept
		ip daddr . meta l4proto . th dport vmap @services
		tcp dport 1 dnat to 127.0.0.1:2
	}
	chain after { type nat hook postrouting priority 100; masquerade; }
}
`

// nftables checks for the kernel features that Services in every node and holdfast's partitions use. The nft program is in the
// node image. On this machine it is needed only for this check.
func (m *machine) nftables(ctx context.Context) Check {
	check := Check{Name: "nftables", Status: OK, Found: "nat, ct, fib, limit, numgen and reject work"}
	err := m.isolated(ctx, ruleset, "nft", "-f", "-")
	switch {
	case errors.Is(err, errNotTried):
		check.Status, check.Found, check.Remedy = Warn, err.Error(), "run as root, with nftables installed"
	case err != nil:
		check.Status, check.Found = Fail, "this kernel refuses rules that Services need: "+err.Error()
		check.Remedy = "use a kernel with nf_tables; if it is a module: sudo modprobe nf_tables"
	}
	return check
}

// netem checks for the queueing discipline that adds latency.
func (m *machine) netem(ctx context.Context) Check {
	check := Check{Name: "netem", Status: OK, Found: "latency can be added"}
	err := m.isolated(ctx, "", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")
	switch {
	case errors.Is(err, errNotTried):
		check.Status, check.Found, check.Remedy = Warn, err.Error(), "run as root, with iproute2 installed"
	case err != nil:
		check.Status, check.Found = Warn, "added latency is not supported by this kernel: "+err.Error()
		check.Remedy = "none, unless a scenario adds latency: then use a kernel with sch_netem " +
			"(Ubuntu: the package linux-modules-extra)"
	}
	return check
}
