package show_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/show"
)

var (
	web = disturb.Object{Kind: disturb.KindDeployment, Namespace: "shop", Name: "web"}
	w1  = disturb.Object{Kind: disturb.KindNode, Name: "w1"}
)

func plan() disturb.Plan {
	return disturb.Plan{
		Cluster: disturb.Cluster{Server: "https://staging:6443", Context: "staging", UID: "cluster-1", User: "jane", Groups: []string{"shop", "dev"}, Version: "v1.37.1"},
		Runs:    []string{"4 pods in mail"},
		Steps: []disturb.Step{{
			Fault: "cordon", Does: "a node is cordoned, and its pods stay", Workload: web, Node: &w1, Box: metav1.Duration{Duration: 5 * time.Minute},
			Touches: []disturb.Touch{{
				Object: w1, Does: "cordon", Field: "spec.unschedulable", Ours: []string{"true"}, Undo: "uncordon, if no other client has set it since",
				Needs: []string{"get nodes", "patch nodes"},
			}},
			Notes: []string{"it could be done to 2 others as well, and each is refused"},
		}},
		Own: []disturb.Own{
			{Verb: "create", Resource: "leases", Namespace: "holdfast", For: "one run at a time"},
			{Verb: "update", Resource: "leases", Namespace: "holdfast", For: "one run at a time"},
		},
		Notes: []string{"no probe reaches Deployment queue, so nothing is done to it"},
	}
}

const head = `Cluster https://staging:6443
  context         staging
  UID             cluster-1
  user            jane
  groups          shop, dev
  Kubernetes      v1.37.1
  other pods      4 pods in mail
  zones           not known: the user must not list nodes

`

const steps = `1. cordon of Deployment shop/web on Node w1: a node is cordoned, and its pods stay, for at most 5m0s
  Node w1: cordon
    field: spec.unschedulable, from nothing to true
    undo:  uncordon, if no other client has set it since
    needs: get nodes, patch nodes
  note: it could be done to 2 others as well, and each is refused
`

const tail = `
For itself, holdfast writes:
  leases in namespace holdfast: one run at a time

note: no probe reaches Deployment queue, so nothing is done to it
`

// Rule 2: everything that a reader must know is in the text: the cluster, each object with its field, undo and permission, each refusal with its rule, reason
// and next step.
func TestText(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*disturb.Plan)
		want   string
	}{
		"all of it goes": {func(*disturb.Plan) {}, head + steps + tail + "All of it could be done. Nothing has been written.\n"},
		"one is refused": {func(p *disturb.Plan) {
			p.Steps[0].Refusals = []disturb.Refusal{{Rule: 3, Object: w1, Reason: `its label holdfast.dev/disturb is "no"`, Next: "ask its owner"}}
		}, head + steps + `
  Refused:
  Node w1: its label holdfast.dev/disturb is "no"  [rule 3, two-keys]
    next: ask its owner
` + tail + "Of 1 fault, 1 would be refused.\n"},
		"everything is": {func(p *disturb.Plan) {
			p.Refusals = []disturb.Refusal{{Rule: 1, Object: disturb.Object{Kind: disturb.KindCluster, Name: "x"}, Reason: "the file names no cluster"}}
		}, head + `Nothing would be done:
  Cluster x: the file names no cluster  [rule 1, named-cluster]

` + steps + "  refused with everything else\n" + tail + "Of 1 fault, 1 would be refused.\n"},
		"nothing is tested": {func(p *disturb.Plan) { p.Steps = nil }, head + tail[1:] + "Nothing would be done: there is no workload under test.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan()
			test.change(&p)
			var out bytes.Buffer
			if err := show.Of(p, []existing.Fact{{Name: existing.FactZones, Why: "the user must not list nodes"}}).Text(&out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Rule 2, turned off: without the lines about the cluster, the plan for another cluster, user or version reads like this one.
func TestWithoutTheClusterPlansCannotBeTold(t *testing.T) {
	text := func(p disturb.Plan) (whole, below string) {
		var out bytes.Buffer
		if err := show.Of(p, nil).Text(&out); err != nil {
			t.Fatal(err)
		}
		_, below, _ = strings.Cut(out.String(), "\n\n")
		return out.String(), below
	}
	is, isBelow := text(plan())
	for what, change := range map[string]func(*disturb.Plan){
		"server": func(p *disturb.Plan) { p.Cluster.Server = "https://prod:6443" }, "context": func(p *disturb.Plan) { p.Cluster.Context = "prod" },
		"UID": func(p *disturb.Plan) { p.Cluster.UID = "cluster-2" }, "user": func(p *disturb.Plan) { p.Cluster.User = "root" },
		"groups": func(p *disturb.Plan) { p.Cluster.Groups = []string{"system:masters"} }, "version": func(p *disturb.Plan) { p.Cluster.Version = "v1.30.0" },
		"what else runs": func(p *disturb.Plan) { p.Runs = []string{"900 pods in payments"} },
	} {
		other := plan()
		change(&other)
		whole, below := text(other)
		if whole == is || below != isBelow {
			t.Errorf("another %s: the plan shows it: %t, and shows it elsewhere: %t", what, whole != is, below != isBelow)
		}
	}
}

// Programs read a versioned document, which says whether all of it goes.
func TestJSON(t *testing.T) {
	for _, refused := range []bool{false, true} {
		p := plan()
		if refused {
			p.Steps[0].Refusals = []disturb.Refusal{{Rule: 3, Object: w1, Reason: "no"}}
		}
		var out bytes.Buffer
		if err := show.Of(p, nil).JSON(&out); err != nil {
			t.Fatal(err)
		}
		var d show.Document
		if err := json.Unmarshal(out.Bytes(), &d); err != nil || d.APIVersion != show.APIVersion || d.Kind != show.Kind || d.Goes == refused || len(d.Steps) != 1 || d.Steps[0].Fault != "cordon" {
			t.Errorf("refused %t: %v, %s", refused, err, &out)
		}
	}
}
