package certify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
)

// Versions are the versions of a cluster in a record of its upgrade.
type Versions struct {
	From, To string            // of the API server, at the beginning and at the end; empty: not recorded
	Kubelets map[string]string // at the end, by node
}

// VersionsOf reads the versions of a record.
func VersionsOf(run history.Run) Versions {
	v := Versions{Kubelets: make(map[string]string)}
	for i := range run.Events {
		e := &run.Events[i]
		switch {
		case e.Server != nil:
			v.From, v.To = cmp.Or(v.From, e.Server.Version), e.Server.Version
		case e.Node != nil && e.Node.Change == history.Deleted:
			delete(v.Kubelets, e.Node.Name)
		case e.Node != nil:
			v.Kubelets[e.Node.Name] = e.Node.Kubelet
		}
	}
	return v
}

// incomplete is why a recorded upgrade is none, or not complete; empty: every part of the cluster has the new version.
func (v Versions) incomplete() string {
	behind := make(map[string][]string) // nodes, by version
	for node, version := range v.Kubelets {
		if version != v.To {
			behind[version] = append(behind[version], node)
		}
	}
	switch {
	case v.To == "":
		return "its record does not say which version the API server ran"
	case v.From == v.To:
		return "the API server ran " + v.To + " before and after it: nothing was upgraded"
	case len(v.Kubelets) == 0:
		return "its record has no nodes, so that it is not known what they run: this user must not list and watch them"
	case len(behind) == 0:
		return ""
	}
	var words []string
	for version, nodes := range behind {
		slices.Sort(nodes)
		words = append(words, fmt.Sprintf("%s still on %s", prose.List(nodes), cmp.Or(version, "an unknown version")))
	}
	slices.Sort(words)
	return "the API server runs " + v.To + ", and the upgrade of the nodes is not complete: " + prose.List(words)
}

// recordedSteps are the steps of an upgrade that others made, as far as a recording shows them: what disturbed the cluster. One that was not over
// when the recording ended, such as a node that stays cordoned, is a step that did not end.
func recordedSteps(run history.Run) (list []timeline.StepLife) {
	if run.Header.Recorded == nil {
		return nil
	}
	next := 0
	for _, s := range timeline.Steps(run) {
		next = max(next, s.ID+1)
	}
	for i, d := range disturbances.Read(run).All {
		s := timeline.StepLife{ID: next + i, What: d.Name, Begin: history.Moment{At: d.From, OK: true}, End: history.Moment{At: d.Over, OK: !d.Open}}
		if len(d.Nodes) == 1 {
			s.Node = d.Nodes[0]
		}
		list = append(list, s)
	}
	return list
}
