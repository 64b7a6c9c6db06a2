package disturb

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// Rule is a rule of safety on a cluster that holdfast did not make.
type Rule struct {
	Number int
	ID     string
	// Promise is what the rule promises to the owner of the cluster.
	Promise string
	// Beyond marks a rule that no other tool was seen to have. A test plants what it stops.
	Beyond bool
	// needs are the resources that must have been read, or the rule refuses.
	needs []string
	// run checks what is the same for all faults, and step one fault; nil: there is nothing to check.
	run  func(*sight)
	step func(*sight)
	// Where is the package whose code keeps the rule, or a part of it, if a check of a plan is not all of it.
	Where string
}

// Rules are all rules, by their numbers. A rule that is checked has a file of its own. Tests insist that each rule has its test.
var Rules = []Rule{
	namedCluster,
	{Number: 2, ID: "shown", Promise: "plan shows the server, its UID, the user, the versions, the nodes and what else runs", Where: "framework/safety/show"},
	twoKeys,
	{Number: 4, ID: "reading-writes-nothing", Promise: "what only reads cannot write: every other request is refused before it is sent", Beyond: true, Where: "clusters/existing"},
	permitted,
	noSecrets,
	{Number: 7, ID: "nothing-installed", Promise: "holdfast creates objects in one namespace only, whose pods are restricted, and no CRD, webhook, DaemonSet or finalizer", Where: "framework/safety/roles"},
	recreatable,
	evictNeverForce,
	blastRadius,
	neighbours,
	timeBox,
	steadyFirst,
	{Number: 14, ID: "stop-at-harm", Promise: "when more than 50 requests have failed, or more than the file allows, the fault is undone at once, and nothing else is begun; if this process is gone, " +
		"the healer undoes it after 30 seconds, and the load ends after a minute", Beyond: true, Where: "framework/run/session"},
	leaveAsFound,
	{Number: 16, ID: "own-things", Promise: "what is not holdfast's own is never created into, and what is deleted is deleted by its UID", Beyond: true, Where: "framework/fault/hold"},
	ownedFields,
	oneAtATime,
	gentleLoad,
	{Number: 20, ID: "announced", Promise: "Events on the objects, an annotation on nodes, and the user's commands before and after tell what is done", Where: "framework/run/session"},
	{Number: 21, ID: "workers-survive", Promise: "load workers are not on the node that is drained, and no autoscaler takes them away", Where: "workloads"},
	nodeHook,
	{Number: 23, ID: "refused-is-unknown", Promise: "what was refused is listed, and the outcome is Unknown for it, never Held", Where: "framework/cli"},
}

// sight is what a rule sees.
type sight struct {
	*view
	*Request
	rule  *Rule
	step  *Step // nil for what is the same for all faults
	found *[]Refusal
}

// refuse adds a refusal. Next is what the reader can do about it.
func (s *sight) refuse(o Object, next, format string, args ...any) {
	*s.found = append(*s.found, Refusal{Rule: s.rule.Number, Object: o, Reason: fmt.Sprintf(format, args...), Next: next})
}

// fault is the fault of the step.
func (s *sight) fault() catalogue.Fault { return s.step.Of }

// cluster is the cluster as an object of a refusal.
func (s *sight) cluster() Object { return Object{Kind: KindCluster, Name: s.Cluster.Server} }

// namespace is a namespace as an object of a refusal.
func (s *sight) namespace(name string) Object {
	o := Object{Kind: KindNamespace, Name: name}
	if n := s.namespaces[name]; n != nil {
		o.UID = n.UID
	}
	return o
}

// check applies the rules to a step, or, if it is nil, to what is the same for all steps.
func (v *view) check(r *Request, step *Step) (found []Refusal) {
	for i := range Rules {
		rule := &Rules[i]
		does := rule.run
		if step != nil {
			does = rule.step
		}
		if does == nil {
			continue
		}
		s := &sight{view: v, Request: r, rule: rule, step: step, found: &found}
		if s.blind() {
			continue
		}
		does(s)
	}
	return found
}

// blind refuses if what the rule needs could not be read.
func (s *sight) blind() (is bool) {
	for _, resource := range s.rule.needs {
		for _, namespace := range s.affected() {
			if why := s.unread(resource, namespace); why != "" {
				s.refuse(s.namespace(namespace), "give the user the rights that 'holdfast rbac' prints", "%s could not be read: %s", resource, why)
				is = true
			}
		}
	}
	return is
}

// affected are the namespaces in which something is disturbed.
func (s *sight) affected() []string {
	all := []string{s.Namespace}
	if s.step == nil {
		return all
	}
	return append(all, slices.DeleteFunc(s.step.namespaces(), func(n string) bool { return n == s.Namespace })...)
}
