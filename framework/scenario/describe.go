package scenario

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/clusters"
)

// stockSuffix ends the name of a scenario with Kubernetes' own timings.
const stockSuffix = "-stock"

// All are the scenarios described so far, in order.
var All []Spec

// Describe adds a scenario to All and returns it, so that a mutant can be made of it. It panics if the spec is invalid, which is a
// mistake in the source.
func Describe(s Spec) Spec {
	s = s.WithDefaults()
	if err := s.Validate(); err != nil {
		panic(err)
	}
	if slices.ContainsFunc(All, func(other Spec) bool { return other.Name == s.Name }) {
		panic(fmt.Sprintf("scenario %s: there is one of that name already", s.Name))
	}
	All = append(All, s)
	if s.Stock && s.Cluster.Profile != clusters.Stock {
		stock := s.InStock()
		stock.Name += stockSuffix
		stock.Full = true
		Describe(stock)
	}
	return s
}

// InStock is the scenario with the timings that Kubernetes has by default.
func (s Spec) InStock() Spec {
	stock := s.Cluster
	stock.Profile = clusters.Stock
	return s.On(stock, 0)
}
