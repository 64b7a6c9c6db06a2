package nodenet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// routeOwner marks the agent's routes in the kernel's table (an unassigned number of /etc/iproute2/rt_protos), so that
// routes which the plan no longer contains can be found and removed.
const routeOwner = "107"

// paths are the files that the agent uses.
type paths struct {
	kubelet, admin string // credentials; admin exists on control plane nodes only
	kubeadm        string // kind's configuration, which contains the subnets
	conflist       string
	state          string
	noEgress       string
	ipam           string // host-local's allocations
	booted         string // exists from the agent's first start until the node stops
}

func onNode() paths {
	return paths{
		kubelet:  "/etc/kubernetes/kubelet.conf",
		admin:    "/etc/kubernetes/admin.conf",
		kubeadm:  "/kind/kubeadm.conf",
		conflist: "/etc/cni/net.d/10-holdfast.conflist",
		state:    "/var/lib/holdfast-net/nodes.json",
		noEgress: "/etc/holdfast/no-egress",
		ipam:     ipamDir,
		booted:   "/run/holdfast-net/booted",
	}
}

// runner runs a command on the node and returns its output.
type runner func(ctx context.Context, stdin string, name string, args ...string) (string, error)

func execute(ctx context.Context, stdin string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), err
}

// apply does as much of the plan as it can. The CNI configuration comes last, because it makes the kubelet report Ready.
func (p plan) apply(ctx context.Context, run runner, at paths) error {
	errs := []error{p.applyRoutes(ctx, run)}
	_, err := run(ctx, p.ruleset, "nft", "-f", "-")
	errs = append(errs, err)
	if p.conflist != nil {
		errs = append(errs, replaceFile(at.conflist, p.conflist))
	}
	return errors.Join(errs...)
}

func (p plan) applyRoutes(ctx context.Context, run runner) error {
	have, err := run(ctx, "", "ip", "-4", "route", "show", "proto", routeOwner)
	if err != nil {
		return err
	}
	var batch strings.Builder
	if p.address != "" {
		fmt.Fprintf(&batch, "addr replace %s/32 dev lo\n", p.address)
	}
	for _, stale := range p.staleRoutes(have) {
		fmt.Fprintf(&batch, "route del %s proto %s\n", stale, routeOwner)
	}
	for _, r := range p.routes {
		fmt.Fprintf(&batch, "route replace %s proto %s\n", strings.TrimSpace(r.to+" "+r.how), routeOwner)
	}
	// -force: a route to a node whose address is out of date must not prevent the routes after it.
	_, err = run(ctx, batch.String(), "ip", "-4", "-force", "-batch", "-")
	if p.egress {
		return err
	}
	defaults, showErr := run(ctx, "", "ip", "-4", "route", "show", "default")
	if showErr == nil && strings.TrimSpace(defaults) != "" {
		_, showErr = run(ctx, "", "ip", "-4", "route", "del", "default")
	}
	return errors.Join(err, showErr)
}

// staleRoutes are the destinations in the listing of `ip route` that the plan does not contain.
func (p plan) staleRoutes(listing string) []string {
	wanted := map[string]bool{}
	for _, r := range p.routes {
		wanted[r.to] = true
	}
	var stale []string
	for line := range strings.Lines(listing) {
		words := strings.Fields(line)
		if len(words) > 1 && words[0] == "blackhole" {
			words[0] = words[0] + " " + words[1]
		}
		if len(words) > 0 && !wanted[words[0]] {
			stale = append(stale, words[0])
		}
	}
	return stale
}

// replaceFile does not touch a file that already has the content, because containerd reloads its CNI configuration at every
// change.
func replaceFile(path string, content []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	// The name must not end in .conflist: containerd would take the half-written file for a configuration.
	temp := path + ".new"
	if err := os.WriteFile(temp, content, 0o644); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// forgetPods frees the addresses of all pods, once after each start of the node: no pod survives a stop of the node, and
// after a kill nothing else frees the addresses. The last reserved address is kept, so that the next pod gets a later one:
// if new pods got the addresses of other former pods, requests to an outdated endpoint would reach the wrong pod.
func forgetPods(at paths) error {
	if _, err := os.Stat(at.booted); err == nil {
		return nil
	}
	allocations, err := filepath.Glob(filepath.Join(at.ipam, "*", "*"))
	if err != nil {
		return err
	}
	for _, file := range allocations {
		name := filepath.Base(file)
		if name == "lock" || strings.HasPrefix(name, "last_reserved_ip") {
			continue
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return replaceFile(at.booted, nil)
}

// notify reports to systemd that the agent is ready, so that the units after it start.
func notify() error {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return nil // not started by systemd
	}
	conn, err := net.Dial("unixgram", socket)
	if err != nil {
		return err
	}
	_, err = conn.Write([]byte("READY=1"))
	return errors.Join(err, conn.Close())
}

func remember(path string, nodes []node) error {
	content, err := json.Marshal(nodes)
	if err != nil {
		return err
	}
	return replaceFile(path, content)
}

func recall(path string) []node {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil // the first start of this node
	}
	var nodes []node
	if err := json.Unmarshal(content, &nodes); err != nil {
		slog.Error("read the stored nodes; they will be listed again", "file", path, "error", err)
		return nil
	}
	return nodes
}

var subnetLine = regexp.MustCompile(`(?m)^\s*(podSubnet|serviceSubnet):\s*"?([^"\s]+)"?\s*$`)

// readSubnets reads the cluster's subnets from the file that kind writes on every node before kubeadm runs.
func readSubnets(path string) (subnets, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return subnets{}, err
	}
	found := map[string]string{}
	for _, match := range subnetLine.FindAllStringSubmatch(string(content), -1) {
		found[match[1]] = firstIPv4(strings.Split(match[2], ","))
	}
	nets := subnets{pods: found["podSubnet"], services: found["serviceSubnet"]}
	if nets.pods == "" || nets.services == "" {
		return subnets{}, fmt.Errorf("%s: no IPv4 podSubnet or no IPv4 serviceSubnet", path)
	}
	return nets, nil
}

// deviceMTU is the MTU for pods' interfaces: the engine's network may have a smaller one than Ethernet's 1500.
func deviceMTU() int {
	if eth, err := net.InterfaceByName(device); err == nil {
		return eth.MTU
	}
	return 1500
}
