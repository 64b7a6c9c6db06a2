package kind

import (
	"fmt"

	"github.com/holdfast-ha/holdfast/clusters"
)

// balancerSuffix is the end of the name that kind gives the load balancer in front of several control planes.
const balancerSuffix = "-external-load-balancer"

// member is a planned node, which may not have a container yet.
type member struct {
	name string
	role clusters.Role
	zone string
	// unlabelled is true of a node of a plain cluster, which has no label of holdfast's.
	unlabelled bool
}

// members are the nodes of a cluster in the order of its kind configuration, from which kind derives their names: the control
// planes, the workers zone by zone, and finally the load node, unless the cluster is plain. Because the load node is last, it does not shift the names of
// the workers under test.
func members(name string, spec clusters.Spec) []member {
	next := map[string]int{}
	named := func(kindRole string) string { // "x-worker", then "x-worker2", ...
		next[kindRole]++
		if next[kindRole] == 1 {
			return prefix + name + "-" + kindRole
		}
		return fmt.Sprintf("%s%s-%s%d", prefix, name, kindRole, next[kindRole])
	}
	var all []member
	for range spec.ControlPlanes {
		all = append(all, member{name: named("control-plane"), role: clusters.ControlPlane, unlabelled: spec.Plain})
	}
	for _, zone := range spec.Zones {
		for range spec.WorkersPerZone {
			all = append(all, member{name: named("worker"), role: clusters.Worker, zone: zone, unlabelled: spec.Plain})
		}
	}
	if spec.Plain {
		return all
	}
	return append(all, member{name: named("worker"), role: clusters.LoadNode})
}
