package kind

import (
	"context"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/output"
)

//go:embed probe.sh
var probeScript string

// probe checks what a node can reach from its own network and from the network of its witness pod.
type probe struct {
	node   string
	sealed bool     // remove the default route first, and check that it stays removed
	pods   []string // addresses of pods that both networks must reach
	limit  time.Duration
}

// finding is the result of a probe.
type finding struct {
	missing []string // what is not reachable, in words
	witness string   // address of the node's witness pod
}

// run returns when nothing is missing, or when the limit has passed. An error means that the probe could not run.
func (p probe) run(ctx context.Context, e runner) (finding, error) {
	egress := "open"
	if p.sealed {
		egress = "sealed"
	}
	args := []string{
		"bash", "-c", probeScript, "probe.sh", strconv.Itoa(int(p.limit / time.Second)),
		egress, serviceSubnet, apiServiceIP, dnsServiceIP, hexIP(dnsServiceIP),
	}
	out, err := execute(ctx, e, p.node, append(args, p.pods...)...)
	if err != nil {
		return finding{}, fmt.Errorf("probe the network of %s: %w", p.node, err)
	}
	found, err := readFinding(string(out))
	if err != nil {
		return finding{}, fmt.Errorf("probe the network of %s: %w", p.node, err)
	}
	return found, nil
}

// readFinding parses the output of probe.sh. Without its last line the output was truncated, and an empty list of missing
// targets would prove nothing.
func readFinding(out string) (finding, error) {
	var found finding
	all := output.Lines(out)
	if len(all) == 0 || all[len(all)-1] != "end" {
		return found, errors.New("the answer was cut off")
	}
	for _, line := range all[:len(all)-1] {
		if witness, ok := strings.CutPrefix(line, "witness"); ok {
			found.witness = strings.TrimSpace(witness)
			continue
		}
		found.missing = append(found.missing, line)
	}
	if found.witness == "" && len(found.missing) == 0 {
		return found, errors.New("the answer names no witness pod")
	}
	return found, nil
}

// hexIP is an IPv4 address as the bytes of a DNS answer, in hexadecimal.
func hexIP(ip string) string {
	return hex.EncodeToString(netip.MustParseAddr(ip).AsSlice())
}
