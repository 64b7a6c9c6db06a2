package certify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/analysis/disturbances"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
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

// recordedUpgrade completes what a recording of an upgrade shows: its steps are the command, and what disturbed the cluster.
func recordedUpgrade(u *certificate.Upgrade, run history.Run) {
	for _, d := range disturbances.Read(run).All {
		u.Steps = append(u.Steps, certificate.Step{
			ID: len(u.Steps), What: d.Name, Node: prose.List(d.Nodes), BeganSeconds: d.From.Seconds(), TookSeconds: max(0, d.Over-d.From).Seconds(),
			Result: certificate.StepDone,
		})
	}
	slices.SortStableFunc(u.Steps, func(a, b certificate.Step) int { return cmp.Compare(a.BeganSeconds, b.BeganSeconds) })
	if why := VersionsOf(run).incomplete(); why != "" && u.Verdict == reports.Held {
		u.Verdict, u.Why = reports.Unknown, why
	}
}
