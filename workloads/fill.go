package workloads

import (
	"fmt"
)

// Fill is pods on simulated nodes that make a cluster as large as others are, in Deployments without a Service and without a budget: the
// endpoints of 150,000 pods would be rules of every real node's kube-proxy.
type Fill struct {
	Pods int `json:"pods"`
}

// podsOfFill is the number of pods of one Deployment: it makes 300 Deployments of 150,000 pods.
const podsOfFill = 500

// FillName is the name of the i-th Deployment, from 0.
func FillName(i int) string { return fmt.Sprintf("fill-%d", i+1) }

// Deployments is the number of Deployments.
func (f Fill) Deployments() int { return (f.Pods + podsOfFill - 1) / podsOfFill }

// Objects are the Deployments, in order.
func (f Fill) Objects(at Place) ([]Object, error) {
	var all []Object
	for i := range f.Deployments() {
		b := Backend{
			Name: FillName(i), Replicas: int32(min(podsOfFill, f.Pods-i*podsOfFill)), Spread: NoSpread, Simulated: true,
			PreStop: NoPreStop, Readiness: NoReadiness,
		}.WithDefaults()
		if err := b.Validate(); err != nil {
			return nil, err
		}
		all = append(all, b.controller(at.meta(b.Name, ComponentBackend), at))
	}
	return all, nil
}
