package app

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ofHoldfast reports whether a manifest is a holdfast.yaml, which may be in the folder of the manifests that it names.
func (m Manifest) ofHoldfast() bool {
	return strings.HasPrefix(m.Object.GetAPIVersion(), "holdfast.dev/") && m.Object.GetKind() == "App"
}

var aName = regexp.MustCompile(`^\S{0,253}$`)

// IsName reports whether a text may be the name of something, and may be shown. A quotation mark that is missing makes a text of what follows, which
// may be a password.
func IsName(text string) bool { return aName.MatchString(text) }

// mistaken says what an object is that Kubernetes does not take, and what to use instead; empty: nothing is known against it. It says nothing of the
// values of its fields.
func (m Manifest) mistaken() string {
	name, folder := filepath.Base(m.Source), filepath.Dir(m.Source)
	has := func(field string) bool { return m.Object.Object[field] != nil }
	kind, version := m.Object.GetKind(), m.Object.GetAPIVersion()
	for _, text := range []string{kind, version, m.Object.GetName(), m.Object.GetGenerateName(), m.Object.GetNamespace()} {
		if !IsName(text) {
			return "its kind, apiVersion, name or namespace is no name: look for a quotation mark that is missing"
		}
	}
	switch {
	case m.ofHoldfast():
		return fmt.Sprintf("it says what holdfast tests: run 'holdfast test %s' without -f", m.Source)
	case slices.Contains(kustomizations, name), strings.HasPrefix(version, "kustomize.config.k8s.io/"):
		return "it is a part of a kustomization: use -k " + folder
	case name == "Chart.yaml" && kind == "":
		return "it describes a Helm chart: use --chart " + folder
	case kind == "" && strings.HasPrefix(name, "values"):
		return "it has no kind, so it is no manifest. It looks like the values of a chart: use --chart, or leave it out"
	case kind == "" && has("services"):
		return "it has no kind, so it is no manifest. It looks like a file of Docker Compose: leave it out"
	case kind == "" && has("panels"):
		return "it has no kind, so it is no manifest. It looks like a dashboard of Grafana: leave it out"
	case kind == "":
		return "it has no kind, so it is no manifest: leave it out"
	case version == "":
		return fmt.Sprintf("the %s has no apiVersion", kind)
	case m.Object.GetName() == "" && m.Object.GetGenerateName() == "":
		return fmt.Sprintf("the %s has no metadata.name: name it, or, if it is a patch of a kustomization, use -k", kind)
	case has("sops"):
		return fmt.Sprintf("the %s is encrypted with SOPS, and Kubernetes cannot read it: decrypt it for the test, or leave it out and let holdfast make one of random values with --secrets generate", kind)
	}
	return ""
}
