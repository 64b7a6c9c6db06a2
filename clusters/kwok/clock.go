package kwok

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
)

// clock tells whether kwok, which runs on a control plane, goes by the clock of this process. In the virtual machine of Docker Desktop, Colima or
// podman it goes by another one, which may be minutes off after the machine has slept.
type clock struct {
	client kubernetes.Interface
	own    string // see ownBoot

	mu    sync.Mutex
	asked bool
	same  bool
}

// ownBoot identifies the boot of the kernel of this process; empty: nodes cannot run on that kernel.
func ownBoot() string {
	if runtime.GOOS != "linux" {
		return ""
	}
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(boot))
}

// shared asks once. Nodes of one kernel report the same boot, because they are containers.
func (c *clock) shared(ctx context.Context) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked || c.own == "" {
		return c.same, nil
	}
	found, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: clusters.LabelRole + "=" + string(clusters.ControlPlane)})
	if err != nil {
		return false, fmt.Errorf("list the control planes: %w", err)
	}
	c.asked, c.same = true, len(found.Items) > 0
	for i := range found.Items {
		c.same = c.same && found.Items[i].Status.NodeInfo.BootID == c.own
	}
	return c.same, nil
}

// renewals keeps since when a lease has been seen to stay as it is.
type renewals struct {
	mu    sync.Mutex
	lease time.Time
	since time.Time
}

// unchanged is for how long the renewal has been the last one, by this process's monotonic clock. That is less than since the renewal, which
// happened before it was first seen.
func (r *renewals) unchanged(lease time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() || !lease.Equal(r.lease) {
		r.lease, r.since = lease, time.Now()
	}
	return time.Since(r.since)
}
