package kwok

import (
	"bytes"
	"context"
	_ "embed" // for the stages
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
)

// Program is kwok at a pinned version. It is compiled when a cluster first needs it, and no image of it is pulled.
func Program() nodeimage.Command {
	const path, version = "sigs.k8s.io/kwok", "v0.8.0"
	return nodeimage.Command{
		Name: "kwok", Module: path, Version: version, Package: path + "/cmd/kwok", LDFlags: "-X " + path + "/pkg/consts.Version=" + version[1:],
	}
}

// stages configure kwok.
//
//go:embed stages.yaml
var stages []byte

// Where things are on the control plane.
const (
	programPath = "/usr/local/bin/kwok"
	stagesPath  = "/etc/holdfast/kwok.yaml"
	unitName    = "holdfast-kwok.service"
	unitPath    = "/etc/systemd/system/" + unitName
)

// install puts kwok on a node as a service of systemd, which starts it again if it ends. The service needs no image and no permissions of
// its own, and outlives this process. A kwok that is started again takes a lease over only once the lease has expired, and until then its node
// counts as lost.
func install(ctx context.Context, on clusters.Node, program string, t clusters.Timings) error {
	file, err := os.Open(program)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	const write = `mkdir -p "$(dirname "$1")" && cat > "$1.part" && chmod "$2" "$1.part" && mv "$1.part" "$1"`
	if err := on.Feed(ctx, file, "sh", "-c", write, "write", programPath, "755"); err != nil {
		return fmt.Errorf("copy kwok: %w", err)
	}
	for path, text := range map[string][]byte{stagesPath: stages, unitPath: unit(t)} {
		if err := on.Feed(ctx, bytes.NewReader(text), "sh", "-c", write, "write", path, "644"); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	if _, err := on.Exec(ctx, "sh", "-c", "systemctl daemon-reload && systemctl enable --now "+unitName); err != nil {
		return fmt.Errorf("start kwok: %w", err)
	}
	return nil
}

// unit is the service. kwok's log of each step would cost more than its steps.
func unit(t clusters.Timings) []byte {
	return fmt.Appendf(nil, `[Unit]
Description=kwok keeps the simulated nodes
After=kubelet.service

[Service]
ExecStart=%s --v WARN --config %s --kubeconfig /etc/kubernetes/admin.conf --manage-nodes-with-label-selector %s=%s --node-lease-duration-seconds %s
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
`, programPath, stagesPath, LabelKubelet, kubeletOn, strconv.Itoa(int(leaseDuration(t)/time.Second)))
}

// kwok renews a lease after a quarter of its duration, as a kubelet does.
const renewalsPerLease = 4

// leaseDuration makes kwok renew each lease after two fifths of the time in which the control plane must have seen a renewal. A kubelet
// renews more often. 5,000 stock kubelets would make 500 writes a second, and two cores would have no time for anything else.
func leaseDuration(t clusters.Timings) time.Duration {
	return (t.NodeMonitorGrace * 2 / 5 * renewalsPerLease).Truncate(time.Second)
}

// silentAfter is how old the last renewal of a lease must be before its node counts as silent: the renewal that was due, with kwok's jitter
// of 4 %, and two seconds for a busy machine, did not come.
func silentAfter(t clusters.Timings) time.Duration {
	return leaseDuration(t)/renewalsPerLease*26/25 + 2*time.Second
}
