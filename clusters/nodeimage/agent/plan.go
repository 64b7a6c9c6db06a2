package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
)

// device is the node's one network interface. Docker and podman both call a container's first one this.
const device = "eth0"

// node is what the network needs to know of a node.
type node struct {
	Name    string `json:"name"`
	IP      string `json:"ip"`      // the InternalIP, IPv4; empty when not known
	PodCIDR string `json:"podCIDR"` // IPv4; empty when not given yet
}

// subnets are the cluster's own address ranges, IPv4.
type subnets struct{ pods, services string }

// route is one line of the routing table: a destination, and the rest in ip-route's words.
type route struct{ to, how string }

// plan is what a node's network has to look like.
type plan struct {
	address  string // the node's own address among the pods, empty while it has no podCIDR
	routes   []route
	ruleset  string // for nft -f
	conflist []byte // nil while the node has no podCIDR
	egress   bool
}

func makePlan(nodes []node, self string, nets subnets, egress bool, mtu int) plan {
	p := plan{egress: egress, ruleset: ruleset(nodes, nets, egress)}
	// A process of the node itself talks to pods and Services from an address of the node's own pod range, the one
	// that ptp gives to the node's side of every pod. With the node's outer address a bridge whose host filters bridged
	// packets was seen to masquerade them, because such a packet seems to leave the engine's network.
	src := ""
	for _, n := range nodes {
		if n.Name == self && n.PodCIDR != "" {
			p.address = gateway(n.PodCIDR)
			src = " src " + p.address
			p.conflist = conflist(n.PodCIDR, mtu)
			// Pods have host routes of their own. What is left of the range is no pod's: dropped here, or it would go
			// to the default route and off this machine.
			p.routes = append(p.routes, route{"blackhole " + n.PodCIDR, ""})
		}
	}
	// Without a default route a process of the node itself cannot reach a ClusterIP: the route is looked up before
	// kube-proxy's rules translate the address. Any route will do.
	p.routes = append(p.routes, route{nets.services, "dev " + device + src})
	for _, n := range nodes {
		if n.Name != self && n.PodCIDR != "" && n.IP != "" {
			p.routes = append(p.routes, route{n.PodCIDR, "via " + n.IP + src})
		}
	}
	return p
}

// gateway is the first address of a range, which host-local gives to no pod.
func gateway(podCIDR string) string {
	prefix, err := netip.ParsePrefix(podCIDR)
	if err != nil {
		return ""
	}
	return prefix.Masked().Addr().Next().String()
}

// ipamDir is where host-local keeps which pod has which address. It outlives a restart of the node, see forgetPods.
const ipamDir = "/var/lib/holdfast-net/ipam"

// conflist is the CNI configuration.
func conflist(podCIDR string, mtu int) []byte {
	type object = map[string]any
	out, err := json.MarshalIndent(object{
		"cniVersion": "0.3.1",
		"name":       "holdfast",
		"plugins": []object{{
			"type": "ptp", "ipMasq": false, "mtu": mtu,
			"ipam": object{
				"type": "host-local", "dataDir": ipamDir,
				"routes": []object{{"dst": "0.0.0.0/0"}},
				"ranges": [][]object{{{"subnet": podCIDR}}},
			},
		}, {
			"type": "portmap", "capabilities": object{"portMappings": true},
		}},
	}, "", "  ")
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return append(out, '\n')
}

// ruleset replaces the whole table, so that it can be loaded again and again.
//
// What a pod sends to anything but a pod goes in its node's name, as with kind's own network. It matters inside the
// cluster, too: kube-proxy takes whatever comes from the pods' range for traffic of its own node's pods. To a node port
// with externalTrafficPolicy Local it would lead such a connection to pods of other nodes, whose answers then miss
// the node port's node on their way back, and the connection times out.
func ruleset(nodes []node, nets subnets, egress bool) string {
	chains := fmt.Sprintf("\tchain postrouting { type nat hook postrouting priority srcnat; "+
		"oifname %q ip saddr %s ip daddr != %[2]s masquerade; }\n", device, nets.pods)
	if !egress {
		inside := []string{nets.pods, nets.services}
		for _, n := range nodes {
			if n.IP != "" {
				inside = append(inside, n.IP)
			}
		}
		// Before the route is looked up: "no route" reaches a pod's UDP socket as silence, and every lookup of a foreign
		// name would end in a time-out; "prohibited" reaches it as an error. Only what a pod begins is refused, replies
		// to the engine's host must pass. The hook comes after kube-proxy's translation.
		chains += fmt.Sprintf("\tchain prerouting { type filter hook prerouting priority filter; "+
			"iifname != %q ip saddr %s ip daddr != { %s } ct state new reject with icmp admin-prohibited; }\n",
			device, nets.pods, strings.Join(inside, ", "))
	}
	return "table ip holdfast\ndelete table ip holdfast\ntable ip holdfast {\n" + chains + "}\n"
}

// firstIPv4 is the first IPv4 address or prefix among some.
func firstIPv4(of []string) string {
	for _, s := range of {
		host, _, _ := strings.Cut(s, "/")
		if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
			return s
		}
	}
	return ""
}
