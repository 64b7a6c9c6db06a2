package workloads

import (
	"fmt"
	"strings"
)

// Fill is pods on simulated nodes that make a cluster as large as others are, in Deployments without a Service and without a budget: the
// endpoints of 150,000 pods would be rules of every real node's kube-proxy.
type Fill struct {
	Pods int
}

// podsOfFill is the number of pods of one Deployment: it makes 300 Deployments of 150,000 pods.
const podsOfFill = 500

// anywhere is a soft spread over a label that no node has. The scheduler then scores no node for spread. Without any constraint of its own, a
// pod gets the scheduler's default constraints, and with 5,000 nodes these halve the number of pods that are bound in a second.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#internal-default-constraints
var anywhere = []Spread{{Key: "holdfast.dev/none", Unsatisfiable: ScheduleAnyway}}

// aShare is what each pod of a fill requests: clusters.PodsPerSimulatedNode of them fill a simulated node. Without requests of this size, the scheduler
// puts pods on few nodes: of nodes with the same score, a whole number, it takes the first that it looked at. With 5m of CPU, of 64, it put 128 pods
// on each of 64 nodes, of 5,000, and the rest on 23.
//
// Source: prioritizeNodes in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/schedule_one.go
var aShare = Resources{CPU: "250m", Memory: "1Gi", MemoryLimit: "1Gi"}

// fillPrefix begins the names of the Deployments.
const fillPrefix = "fill-"

// FillName is the name of the i-th Deployment, from 0.
func FillName(i int) string { return fmt.Sprintf("%s%d", fillPrefix, i+1) }

// IsFill reports whether a Deployment or a pod is one of a Fill, by its name.
func IsFill(name string) bool { return strings.HasPrefix(name, fillPrefix) }

// Deployments is the number of Deployments.
func (f Fill) Deployments() int { return (f.Pods + podsOfFill - 1) / podsOfFill }

// Objects are the Deployments, in order.
func (f Fill) Objects(at Place) ([]Object, error) {
	var all []Object
	for i := range f.Deployments() {
		b := Backend{
			Name: FillName(i), Replicas: int32(min(podsOfFill, f.Pods-i*podsOfFill)), Spread: anywhere, Simulated: true,
			PreStop: NoPreStop, Readiness: NoReadiness, Resources: aShare,
		}.WithDefaults()
		if err := b.Validate(); err != nil {
			return nil, err
		}
		all = append(all, b.controller(at.meta(b.Name, ComponentBackend), at))
	}
	return all, nil
}
