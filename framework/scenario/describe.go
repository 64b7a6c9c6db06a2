package scenario

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/clusters"
)

// All are the scenarios described so far, in order.
var All []Spec

// Describe adds a scenario to All and returns it, so that a mutant can be made of it. A spec that makes no sense panics:
// it is a mistake in the source.
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
		stock := s
		stock.Name += "-stock"
		stock.Cluster.Profile, stock.Full = clusters.Stock, true
		// A lost node is noticed so much later; what holds for the lab's time must hold for that.
		later := clusters.Stock.Timings().NodeLossNoticed() - clusters.Lab.Timings().NodeLossNoticed()
		stock.Hold, stock.About = s.Hold+later, s.About+later
		Describe(stock)
	}
	return s
}
