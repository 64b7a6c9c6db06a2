package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

const (
	// ballast is how much of a node's disk is taken, without writing to it. The threshold lies half of it below what was free, so
	// that others, who share that disk, can use or free as much before they begin or end the pressure.
	ballast = 2 << 30
	// spareDisk must be free beside it.
	spareDisk = 4 << 30
)

// The commands on a node's disk; $1 is the kubelet's folder.
const (
	freeDisk = `df --block-size=1 --output=avail "$1" | tail -n 1`
	fillDisk = `fallocate --length "$2" "$1/holdfast-ballast"`
)

// kubeletPods asks a kubelet for its pods, through the API server; $1 is the node.
const kubeletPods = kubectl + `get --raw "/api/v1/nodes/$1/proxy/pods"`

// diskThreshold is how many bytes a kubelet is to want free: fewer than there are now, and more than there will be.
func diskThreshold(ctx context.Context, victim clusters.Node) (string, error) {
	out, err := victim.Exec(ctx, "sh", "-c", freeDisk, "free", kubeletFolder)
	if err != nil {
		return "", fmt.Errorf("ask how much of %s's disk is free: %w", victim.Name(), err)
	}
	free, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		return "", fmt.Errorf("ask how much of %s's disk is free: %w", victim.Name(), err)
	}
	if free < ballast+spareDisk {
		return "", fmt.Errorf("of %s's disk %d MiB are free, and disk pressure needs %d: free some on the machine that holds the nodes",
			victim.Name(), free>>20, (ballast+spareDisk)>>20)
	}
	return strconv.FormatInt(free-ballast/2, 10), nil
}

// fill takes the disk from a kubelet that was restarted, once it has taken up its pods again: one that is short of disk when it
// starts rejects what it finds, which is no eviction.
//
// Source: Admit in kubernetes pkg/kubelet/eviction/eviction_manager.go
func (t Target) fill(ctx context.Context, victim clusters.Node, victims []string) error {
	planes, err := controlPlanes(ctx, t)
	if err != nil {
		return err
	}
	err = poll.Until(ctx, "the kubelet of "+victim.Name()+" to have its pods", relieveLimit, func(ctx context.Context) (bool, string, error) {
		out, err := planes[0].Exec(ctx, "sh", "-c", kubeletPods, "pods", victim.Name())
		if err != nil {
			return false, "", err
		}
		var list corev1.PodList
		if err := json.Unmarshal(out, &list); err != nil {
			return false, "", err
		}
		has := map[string]bool{}
		for _, pod := range list.Items {
			has[pod.Name] = true
		}
		var lacks []string
		for _, name := range victims {
			if !has[name] {
				lacks = append(lacks, name)
			}
		}
		return len(lacks) == 0, "it lacks " + strings.Join(lacks, ", "), nil
	})
	if err != nil {
		return err
	}
	if _, err := victim.Exec(ctx, "sh", "-c", fillDisk, "fill", kubeletFolder, strconv.Itoa(ballast)); err != nil {
		return fmt.Errorf("take %s's disk: %w", victim.Name(), err)
	}
	return nil
}
