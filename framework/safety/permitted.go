package disturb

import (
	"cmp"
	"slices"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

var permitted = Rule{
	Number: 5, ID: "permitted", Beyond: true,
	Promise: "each right to inject and to undo is asked for before the first fault: who cannot undo may not do",
	run:     func(s *sight) { s.needRights(catalogue.Owning(), "") },
	step: func(s *sight) {
		f := s.fault()
		s.needRights(f.Inject(), "")
		s.needRights(f.Undo(), ", and who cannot undo may not do")
		s.needRights(catalogue.Trying([]catalogue.Fault{f}), "")
	},
}

// needRights refuses for each right that the user does not have.
func (s *sight) needRights(rights []catalogue.Right, so string) {
	for _, p := range s.permissions(rights) {
		has, asked := s.Rights[p]
		if has || slices.ContainsFunc(*s.found, func(r Refusal) bool {
			return r.Rule == s.rule.Number && r.Object == s.place(p) && r.Reason == s.lacks(p, asked)+so
		}) {
			continue
		}
		s.refuse(s.place(p), "an administrator can apply what 'holdfast rbac' prints", "%s%s", s.lacks(p, asked), so)
	}
}

func (s *sight) lacks(p existing.Permission, asked bool) string {
	who := cmp.Or(s.Cluster.User, "this user") // the API server does not tell it in each case
	if !asked {
		return "whether " + who + " may " + words(p) + " was not asked"
	}
	return who + " may not " + words(p)
}

// words are a permission without its namespace, which is the object of the refusal.
func words(p existing.Permission) string {
	p.Namespace = ""
	return p.String()
}

func (s *sight) place(p existing.Permission) Object {
	if p.Namespace == "" {
		return s.cluster()
	}
	return s.namespace(p.Namespace)
}

// permissions are rights where they are needed. Rights on the other kind of workload than that of the step are left out.
func (s *sight) permissions(rights []catalogue.Right) (all []existing.Permission) {
	for _, r := range rights {
		if s.step != nil && isWorkload(r.Resource) && r.Resource != resources[s.step.target.Kind] {
			continue
		}
		for _, namespace := range s.in(r.Where) {
			all = append(all, r.In(namespace))
		}
	}
	return all
}

func isWorkload(resource string) bool {
	return resource == resources[KindDeployment] || resource == resources[KindStatefulSet]
}

// in are the namespaces of a place; "" is everywhere. Rule 11 refuses neighbours that the file does not list.
func (s *sight) in(where catalogue.Where) []string {
	if where == catalogue.Beside {
		return slices.DeleteFunc(s.affected(), func(n string) bool { return n == s.Namespace || !s.listed(n) })
	}
	return s.Places(where)
}

// Places are the namespaces of a place, with the neighbours that the request lists; "" is everywhere.
func (r *Request) Places(where catalogue.Where) []string {
	return where.Namespaces(r.Namespace, r.Home, r.Limits.Neighbours)
}
