package disturb

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/safety/capacity"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

var recreatable = Rule{
	Number: 8, ID: "recreatable", Beyond: true,
	Promise: "no pod ends whose replacement is not admitted (asked with dryRun=All), or for which no node that it may go to has its images and room",
	needs:   []string{"pods", "nodes", "replicasets", "deployments", "statefulsets", "persistentvolumeclaims"},
	step:    checkRecreatable,
}

func checkRecreatable(s *sight) {
	asked := map[Object]bool{}
	room := capacity.New(capacity.Cluster{Nodes: s.Nodes, Pods: s.Pods, Claims: s.Claims}, s.way())
	for _, p := range s.step.victims {
		w := s.ownerOf(p)
		if w == nil && !s.listed(p.Namespace) {
			continue // rule 11 refuses
		}
		if w == nil {
			if owner := metav1.GetControllerOf(&p); owner != nil { // rule 9 refuses a pod without one
				s.refuse(objectOf(p), "move it to another node", "it is not known whether its controller, %s %s, would make it again", owner.Kind, owner.Name)
			}
			continue
		}
		if !asked[w.Object] {
			asked[w.Object] = true
			s.admitted(w)
		}
		s.elsewhere(p, room)
	}
}

// admitted refuses a workload whose replacement the API server would not create.
func (s *sight) admitted(w *Workload) {
	switch err, answered := s.Admitted[w.Object]; {
	case !answered:
		s.refuse(w.Object, "give the user the right to create pods, which is used with dryRun=All only", "whether a replacement of its pods would be admitted was not asked")
	case err != nil:
		s.refuse(w.Object, "mend that first: its pods would not come back", "a replacement of its pods would not be admitted: %s", err)
	}
}

// way is how the victims of the step are replaced. Scaling makes a pod beside those that are there.
func (s *sight) way() capacity.Way {
	switch f := s.fault(); {
	case s.step.node != nil:
		return capacity.Way{Together: s.step.victims}
	case f.Name == catalogue.Rollout.Name:
		return capacity.Way{Renewed: true, Stays: s.step.target.away == 0}
	case f.Name == catalogue.Scale.Name:
		return capacity.Way{Stays: true}
	}
	return capacity.Way{}
}

// elsewhere refuses a pod for which no node has its images and room. The node that it is on takes its replacement, too, unless that node is what is
// disturbed: then all pods of the node need room at the same time.
func (s *sight) elsewhere(p corev1.Pod, room *capacity.Room) {
	if c := capacity.PullsAlways(p); c != "" && !s.Limits.TrustRegistry {
		s.refuse(objectOf(p), trust, "its container %s pulls its image each time (imagePullPolicy Always), and whether the registry answers cannot be seen", c)
	}
	var why []string
	images, back := 0, false
	for i := range s.Nodes {
		n := &s.Nodes[i]
		own := n.Name == p.Spec.NodeName
		if own && s.step.node != nil {
			continue
		}
		no := cmp.Or(Unsteady(n), room.Refused(p, n))
		if missing := capacity.MissingImage(p, n); no == "" && !own && missing != "" && !s.Limits.TrustRegistry {
			images++
			no = "it does not list image " + missing
		}
		switch {
		case no != "":
			why = append(why, fmt.Sprintf("%s: %s", n.Name, no))
		case own: // a replacement may still go to another node
			back = true
		default:
			if s.step.node != nil {
				room.Take(p, n.Name)
			}
			return
		}
	}
	switch {
	case back && images == 0:
		return
	case images > 0:
		s.refuse(objectOf(p), trust, "each other node that would take its replacement lacks its image: %s", summary(why))
	default:
		s.refuse(objectOf(p), "make room, or add a node", "no %s would take its replacement: %s", map[bool]string{true: "other node", false: "node"}[s.step.node != nil], summary(why))
	}
}

// trust is what a reader can do about images of which no other node has a copy.
const trust = "if its registry can be relied on, say in the file: disturb: {trustRegistry: true}"

// summary are the first reasons of many.
func summary(why []string) string {
	const most = 4
	if len(why) == 0 {
		return "there is none"
	}
	return strings.Join(prose.First(why, most), "; ")
}
