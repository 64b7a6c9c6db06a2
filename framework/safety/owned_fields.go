package disturb

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// hands are the prefixes of field managers of people who type commands, and of holdfast's own runs. Every other manager may be a controller
// that writes the field again.
var hands = []string{"kubectl-", "holdfast-"}

// gitOps are labels and annotations by which GitOps tools and package managers mark what they own, and whose they are.
var gitOps = map[string]string{
	"argocd.argoproj.io/tracking-id": "Argo CD", "argocd.argoproj.io/instance": "Argo CD",
	"kustomize.toolkit.fluxcd.io/name": "Flux", "helm.toolkit.fluxcd.io/name": "Flux",
	"meta.helm.sh/release-name": "Helm", "objectset.rio.cattle.io/id": "Fleet", "kapp.k14s.io/app": "kapp",
	"configmanagement.gke.io/managed": "Config Sync", "olm.owner": "the Operator Lifecycle Manager",
}

// instead is what can be done in place of a change that somebody would revert.
func (s *sight) instead() string {
	if s.fault().Name == catalogue.Rollout.Name {
		return "use delete-pod in its place, which changes no spec"
	}
	return "use rollout in its place, which sets the annotation restartedAt, or delete-pod, which changes no spec"
}

var ownedFields = Rule{
	Number: 17, ID: "owned-fields", Beyond: true,
	Promise: "no field is changed that Argo CD, Flux, Helm, an autoscaler or an operator owns; the annotation restartedAt is offered",
	needs:   []string{"deployments", "statefulsets", "horizontalpodautoscalers", "scaledobjects"},
	step:    checkOwnedFields,
}

func checkOwnedFields(s *sight) {
	edits := s.fault().Edits
	if edits == "" {
		return
	}
	w := s.step.target
	if owner := metav1.GetControllerOf(&w.meta); owner != nil {
		s.refuse(w.Object, "use delete-pod in its place, which changes no spec", "its operator owns its whole spec: it is controlled by %s %s", owner.Kind, owner.Name)
	}
	s.managed(w, edits)
	if s.fault().Name != catalogue.Scale.Name {
		return
	}
	for _, a := range s.Autoscalers {
		if a.Of.Kind == w.Kind && a.Of.Namespace == w.Namespace && a.Of.Name == w.Name {
			s.refuse(w.Object, s.instead(), "%s decides its number of replicas", a.Object)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(gitOps)) {
		if w.marked(key) {
			s.refuse(w.Object, s.instead(), "%s owns it, by its mark %s", gitOps[key], key)
			return
		}
	}
	if strings.EqualFold(w.meta.Labels["app.kubernetes.io/managed-by"], "helm") {
		s.refuse(w.Object, s.instead(), "Helm owns it, by its label app.kubernetes.io/managed-by")
	}
}

func (w *Workload) marked(key string) bool {
	_, label := w.meta.Labels[key]
	_, note := w.meta.Annotations[key]
	return label || note
}

// managed refuses if the API server keeps somebody else as the owner of a field.
func (s *sight) managed(w *Workload, field string) {
	if len(w.meta.ManagedFields) == 0 {
		s.refuse(w.Object, "read it as the API server returns it", "who owns %s is not known: it has no managedFields", field)
		return
	}
	path := pathOf(field)
	for _, m := range w.meta.ManagedFields {
		var set fieldpath.Set
		if m.FieldsV1 == nil {
			continue
		}
		if err := set.FromJSON(m.FieldsV1.GetRawReader()); err != nil {
			s.refuse(w.Object, "see its managedFields", "who owns %s is not known: %s", field, err)
			continue
		}
		if owns(&set, path) && !byHand(m) {
			s.refuse(w.Object, s.instead(), "%s owns %s", manager(m), field)
		}
	}
}

// owns reports whether a set has a path, or a whole that it is a part of, such as a map that is owned as one.
func owns(set *fieldpath.Set, path fieldpath.Path) bool {
	for i, element := range path {
		member := set.Members.Has(element)
		below, has := set.Children.Get(element)
		if !has || i == len(path)-1 {
			return member
		}
		set = below
	}
	return false
}

// pathOf is the path of a field such as spec.template.metadata.annotations.kubectl.kubernetes.io/restartedAt.
func pathOf(field string) fieldpath.Path {
	before, key, annotation := strings.Cut(field, "annotations.")
	var parts []any
	for part := range strings.SplitSeq(strings.TrimSuffix(before, "."), ".") {
		parts = append(parts, part)
	}
	if annotation {
		parts = append(parts, "annotations", key)
	}
	return fieldpath.MakePathOrDie(parts...)
}

// byHand reports whether a manager is a person who types commands, or holdfast, which has put the field back under its own name.
func byHand(m metav1.ManagedFieldsEntry) bool {
	if m.Manager == "kubectl" || m.Manager == "holdfast" {
		return true
	}
	return slices.ContainsFunc(hands, func(prefix string) bool { return strings.HasPrefix(m.Manager, prefix) })
}

func manager(m metav1.ManagedFieldsEntry) string {
	text := fmt.Sprintf("the field manager %q", m.Manager)
	if m.Subresource != "" {
		text += " (by the subresource " + m.Subresource + ")"
	}
	return text
}
