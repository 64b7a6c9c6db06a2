package attribution

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
)

// owners are the recorded workloads, as the owners of their pods.
func owners(events []history.Event) map[string]bool {
	all := make(map[string]bool)
	for _, e := range events {
		if w := e.Workload; w != nil {
			all[w.Namespace+"/"+string(history.OwnerOf(w.Kind(), w.Name))] = true
		}
	}
	return all
}

// ownerOf is what made a pod; empty: the record does not say.
func ownerOf(p *timeline.Pod) history.Owner { return p.Reports[0].Value.Owner.Top(p.Labels) }

// foreign reports whether a pod is behind some Services only by its labels: no recorded workload made it, and one made others of their pods.
func (s *Timelines) foreign(l *PodTimeline, services []string) bool {
	owned := func(l *PodTimeline) bool { return s.owners[l.Namespace+"/"+string(ownerOf(l.Pod))] }
	if ownerOf(l.Pod) == "" || owned(l) {
		return false
	}
	return slices.ContainsFunc(services, func(service string) bool {
		return len(l.Endpoints[service]) > 0 && slices.ContainsFunc(s.Sorted(service), owned)
	})
}

// foreignStory names the owner of a pod that is foreign.
func foreignStory(l *PodTimeline) string { return fmt.Sprintf("%s of %s", l.Name, ownerOf(l.Pod)) }
