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

// trial is a command that only a kernel with some feature accepts, and what its refusal means.
type trial struct {
	stdin   string
	command []string
	refusal string // precedes the kernel's message
	status  Status
	remedy  string
}

// features checks what nodes and faults need of the kernel.
func (m *machine) features(ctx context.Context) []Check {
	return []Check{m.bridge(ctx), m.nftables(ctx), m.netem(ctx)}
}

// kernel tries commands, which are in a package of the distribution, until one is refused.
func (m *machine) kernel(ctx context.Context, name, works, distributed string, trials ...trial) Check {
	for _, t := range trials {
		err := m.isolated(ctx, t.stdin, t.command...)
		switch {
		case errors.Is(err, errNotTried):
			return Check{Name: name, Status: Warn, Found: err.Error(), Remedy: "run as root, with " + distributed + " installed"}
		case err != nil:
			return Check{Name: name, Status: t.status, Found: t.refusal + ": " + err.Error(), Remedy: t.remedy}
		}
	}
	return Check{Name: name, Status: OK, Found: works}
}

// bridge checks for the bridge and veth devices that connect nodes.
func (m *machine) bridge(ctx context.Context) Check {
	var trials []trial
	for _, kind := range []string{"bridge", "veth"} {
		trials = append(trials, trial{command: []string{"ip", "link", "add", "name", "hf0", "type", kind},
			refusal: "no " + kind + " in this kernel", status: Fail, remedy: "sudo modprobe " + kind})
	}
	return m.kernel(ctx, "bridge", "bridge and veth work", "iproute2", trials...)
}

// nftables checks for the kernel features that Services in every node and holdfast's partitions use. The nft program is in the
// node image. On this machine it is needed only for this check.
func (m *machine) nftables(ctx context.Context) Check {
	return m.kernel(ctx, "nftables", "nat, ct, fib, limit, numgen and reject work", "nftables", trial{
		stdin: ruleset, command: []string{"nft", "-f", "-"}, refusal: "this kernel refuses rules that Services need", status: Fail,
		remedy: "use a kernel with nf_tables; if it is a module: sudo modprobe nf_tables",
	})
}

// netem checks for the queueing discipline that adds latency.
func (m *machine) netem(ctx context.Context) Check {
	return m.kernel(ctx, "netem", "latency can be added", "iproute2", trial{
		command: []string{"tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"},
		refusal: "added latency is not supported by this kernel", status: Warn,
		remedy: "none, unless a scenario adds latency: then use a kernel with sch_netem (Ubuntu: the package linux-modules-extra)",
	})
}
