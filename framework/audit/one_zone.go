package audit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
)

var oneZone = Rule{
	ID: "one-zone", Severity: Error,
	Title: "all replicas are in one zone",
	Why: "A lost zone takes every replica with it, however many nodes they are on. " +
		"A Note if the cluster has no other zone for them. If all are on one node, the rule one-node reports it instead.",
	Doc: docZones, needs: []Resource{Pods, Nodes}, check: checkOneZone,
}

func checkOneZone(s *subject) {
	if s.Replicas < 2 || len(s.hosts()) < 2 {
		return
	}
	in, unlabelled := s.zones()
	switch {
	case len(in) > 1:
		return
	case len(unlabelled) > 0:
		s.unknown("nodes %s carry no label %s, so zones cannot be told apart; label them, or leave the rule out", listNames(unlabelled), zoneKey)
		return
	}
	f := Finding{Evidence: fmt.Sprintf("all %d placed pods are in zone %s, on %s", len(s.placed()), in[0], prose.Count(len(s.hosts()), "node"))}
	reachable := s.homes().domains(zoneKey)
	switch all := s.all.domains(zoneKey); {
	case len(reachable) > 1:
		f.Fix, f.Caution = s.spreadOut()
	case s.selectsAway(in[0]):
		f.Caution = fmt.Sprintf("its node selector or affinity admits no node of the other zones (%s), so no other patch helps: widen it", listNames(other(all, in[0])))
	default:
		f.Severity = Note
		f.Caution = "the cluster has no node in another zone that takes its pods, so no patch helps: add some"
	}
	s.find(f)
}

// zones returns the zones that the subject's pods are in, and those of their nodes that have no zone label.
func (s *subject) zones() (in, unlabelled []string) {
	found := map[string]bool{}
	for _, host := range s.hosts() {
		if n := s.nodes[host]; n != nil && n.Labels[zoneKey] != "" {
			found[n.Labels[zoneKey]] = true
		} else {
			unlabelled = append(unlabelled, host)
		}
	}
	return slices.Sorted(maps.Keys(found)), unlabelled
}

// selectsAway reports whether nodes in other zones would take the subject's pods if its own selector or affinity did not
// exclude them.
func (s *subject) selectsAway(zone string) bool {
	for _, n := range s.all.nodes {
		elsewhere := n.Labels[zoneKey] != "" && n.Labels[zoneKey] != zone
		if elsewhere && repelledBy(s.Template.Spec, n, lasting) == "" && !admits(s.Template.Spec, n) {
			return true
		}
	}
	return false
}

func other(all []string, than string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == than })
}
