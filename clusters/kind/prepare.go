package kind

import (
	"context"
	"fmt"

	"golang.org/x/mod/semver"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/doctor"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
)

// prepare provides what a cluster is built on, and returns the spec with the Kubernetes version of the node image.
func (p *Provider) prepare(ctx context.Context, spec clusters.Spec) (ground, clusters.Spec, error) {
	if err := p.engine.Apply(); err != nil {
		return ground{}, spec, err
	}
	if err := doctor.Prepare(ctx, p.engine); err != nil {
		return ground{}, spec, err
	}
	image, err := nodeimage.Ensure(ctx, p.engine, spec.Kubernetes, p.options.Image)
	if err != nil {
		return ground{}, spec, err
	}
	spec.Kubernetes = image.Kubernetes
	var balancer nodeimage.Balancer
	if spec.ControlPlanes > 1 { // otherwise kind would try to pull it for minutes while creating containers
		if balancer, err = nodeimage.EnsureBalancer(ctx, p.engine, p.options.Image); err != nil {
			return ground{}, spec, err
		}
	}
	v1, err := engine.OnCgroupV1(ctx, p.engine)
	return ground{
		image: image.Image, minor: minorOf(image.Kubernetes),
		ownNetwork: image.Network == nodeimage.NetworkAgent, cgroupV1: v1, balancer: balancer.Program,
	}, spec, err
}

// minorOf is the minor version of a version such as v1.37.0. It is zero if the version cannot be parsed.
func minorOf(version string) int {
	var major, minor int
	_, _ = fmt.Sscanf(semver.MajorMinor(version), "v%d.%d", &major, &minor) // zero if it cannot be parsed
	return minor
}
