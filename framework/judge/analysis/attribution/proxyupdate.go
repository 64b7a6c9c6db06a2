package attribution

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// While an nftables transaction commits, a packet can meet the old rules and the new elements of their maps. kube-proxy replaces
// the rule that chooses an endpoint, together with its map, whenever the Service's endpoints change. For a packet in between, no
// endpoint is found, and kube-proxy's last rule rejects it: the client sees a refused connection although pods are ready.
//
// The moment is so short that two requests in a row do not meet it. With nft alone, without Kubernetes, 14 of 767,943 connections
// were refused in 2,791 transactions on Linux 6.18, which is 0.4 µs for each, and 0 of 335,347 without transactions.
// A proxy that is late by more than ProxyLag would send several requests to a pod that has ended, so a single one is not explained by that.
//
// Source: nft_lookup_eval, nf_tables_commit and nft_map_deactivate in linux net/netfilter; kube-proxy's chain cluster-ips-check.

// alone reports whether one of the groups, sorted by their first requests, is a single request that was refused by an unknown
// server, and no other request failed within a second.
func (s *FailureGroups) alone(kinds []FailureGroup, i int) bool {
	kind, one := kinds[i], s.kinds[kinds[i]]
	if kind.Outcome != history.Refused || kind.Known() || one.N != 1 {
		return false
	}
	return !slices.ContainsFunc(kinds, func(other FailureGroup) bool {
		like := s.kinds[other]
		return other != kind && like.First.Sent <= one.First.Sent+evidence.LoadWindow && one.First.Sent <= like.Last.Sent+evidence.LoadWindow
	})
}

// rulesChanged reports whether kube-proxy, in nftables mode, may have been changing the rules of a Service that a group of
// requests was sent to.
func (s *Timelines) rulesChanged(kind FailureGroup, at history.Offset) bool {
	if s.facts.Record.Header.Cluster.ProxyMode != "nftables" || s.facts.Blind(at) {
		return false
	}
	services := s.servicesOf(kind.Lane)
	return slices.ContainsFunc(s.facts.Record.Events, func(e history.Event) bool {
		return e.Slice != nil && slices.Contains(services, e.Slice.Service) && e.T-evidence.WatchSkew <= at && at <= e.T+ProxyLag
	})
}
