package disturb

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

var leaveAsFound = Rule{
	Number: 15, ID: "leave-as-found", Beyond: true,
	Promise: "the former value is noted on the object by the request that changes it, and a change is undone only where the field still holds ours; no StatefulSet with volumeClaimTemplates is scaled that the file does not name, " +
		"and none whose volumes would be deleted",
	step:  checkLeaveAsFound,
	Where: "framework/fault/undo",
}

// checkLeaveAsFound refuses what no undo brings back: with a replica less, a volume and its data may be deleted, and with a replica more, a volume is
// made that stays.
func checkLeaveAsFound(s *sight) {
	w := s.step.target
	switch {
	case s.fault().Name != catalogue.Scale.Name || len(w.claims) == 0:
	case w.volumesGo:
		s.refuse(w.Object, "name faults without scale in the file",
			"its persistentVolumeClaimRetentionPolicy has whenScaled: Delete: the volume of the replica that goes would be deleted, with its data")
	case !slices.Contains(s.Limits.ScaleVolumes, w.Name):
		s.refuse(w.Object, fmt.Sprintf("name faults without scale in the file, or allow it: disturb: {scaleVolumes: [%s]}", w.Name),
			"one more replica creates %s, and scaling back does not delete it", strings.Join(w.claimsOfOneMore(), ", "))
	}
}

// claimsOfOneMore are the PersistentVolumeClaims that the controller makes for one replica more.
func (w *Workload) claimsOfOneMore() (all []string) {
	for _, c := range w.claims {
		all = append(all, fmt.Sprintf("PersistentVolumeClaim %s-%s-%d", c.Name, w.Name, w.first+w.replicas))
	}
	return all
}

// lasts are notes on what scaling a StatefulSet leaves, or does to servers that know how many they are.
func (w *Workload) lasts(f catalogue.Fault) (notes []string) {
	if f.Name != catalogue.Scale.Name || w.Kind != KindStatefulSet {
		return nil
	}
	if claims := w.claimsOfOneMore(); len(claims) > 0 {
		notes = append(notes, "it leaves "+strings.Join(claims, ", ")+": holdfast deletes no volume")
	}
	if w.replicas > 1 {
		notes = append(notes, fmt.Sprintf("pods %s-%d to %s-%d may be members of a quorum, as those of etcd, ZooKeeper, Kafka or RabbitMQ are: holdfast changes the number of pods, and tells the servers nothing",
			w.Name, w.first, w.Name, w.first+w.replicas-1))
	}
	return notes
}
