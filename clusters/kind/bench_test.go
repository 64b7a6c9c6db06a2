//go:build e2e

package kind

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/holdfast-ha/holdfast/clusters"
)

// BenchmarkProvenCluster compares the time until a cluster is proven usable: holdfast's configuration against the configuration
// of `kind create cluster`, with the same image, nodes and checks. Both are measured alternately, because the speed of a
// machine drifts. The ratio is the ratio of the medians. Each round creates two clusters:
//
//	go test -tags e2e -run '^$' -bench ProvenCluster -benchtime 5x -timeout 1h ./clusters/kind
func BenchmarkProvenCluster(b *testing.B) {
	e := findEngine(b)
	p := New(e, Options{Log: slog.New(slog.DiscardHandler)})
	on, spec, err := p.prepare(b.Context(), clusters.Spec{Zones: []string{"a", "b", "c"}}.WithDefaults())
	if err != nil {
		b.Fatal(err)
	}
	name := runName("bench")
	measure := func(config *v1alpha4.Cluster) float64 {
		begin := time.Now()
		builder := builder{e: e, log: slog.New(slog.DiscardHandler), name: name, record: clusterRecord{Spec: spec}, config: config}
		if err := builder.claim(b.Context()); err != nil {
			b.Fatal(err)
		}
		_, err := p.build(b.Context(), builder)
		took := time.Since(begin)
		if _, removeErr := Delete(context.WithoutCancel(b.Context()), e, name); err != nil || removeErr != nil {
			b.Fatal(err, removeErr)
		}
		return took.Seconds()
	}
	var plain, ours []float64
	for b.Loop() {
		if len(ours)%2 == 0 { // alternate the order
			plain = append(plain, measure(plainConfig(name, spec, on)))
			ours = append(ours, measure(configure(name, spec, on)))
		} else {
			ours = append(ours, measure(configure(name, spec, on)))
			plain = append(plain, measure(plainConfig(name, spec, on)))
		}
		b.Logf("kind %.1f s, holdfast %.1f s", plain[len(plain)-1], ours[len(ours)-1])
	}
	b.ReportMetric(median(plain), "kind-s")
	b.ReportMetric(median(ours), "holdfast-s")
	b.ReportMetric(median(ours)/median(plain), "ratio")
	b.ReportMetric(0, "ns/op") // the time of a whole round is meaningless
}

// plainConfig is kind's default configuration, plus the labels that the checks expect and what the machine needs.
func plainConfig(name string, spec clusters.Spec, on ground) *v1alpha4.Cluster {
	config := configure(name, spec, on)
	config.Networking, config.KubeadmConfigPatches, config.ContainerdConfigPatches = v1alpha4.Networking{}, nil, nil
	if on.cgroupV1 {
		config.KubeadmConfigPatches = []string{"kind: KubeletConfiguration\nfailCgroupV1: false\n"}
	}
	return config
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
