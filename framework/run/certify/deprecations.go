package certify

import (
	"path/filepath"
	"regexp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// deprecations are the APIs about which API servers warned in the records of two runs, each message once. A record that cannot be read has
// none here, but is a reason against certification.
func deprecations(before, after string) []certificate.Deprecation {
	all := []certificate.Deprecation{}
	index := make(map[string]int) // by message
	for _, side := range []struct {
		dir  string
		mark func(*certificate.Deprecation)
	}{
		{before, func(d *certificate.Deprecation) { d.Before = true }},
		{after, func(d *certificate.Deprecation) { d.After = true }},
	} {
		for _, w := range warnings(side.dir) {
			i, known := index[w.Text]
			if !known {
				i = len(all)
				index[w.Text] = i
				all = append(all, certificate.Deprecation{Object: w.Object, API: apiOf(w.Text), Message: w.Text})
			}
			side.mark(&all[i])
		}
	}
	return all
}

// warnings are the deprecation warnings in all records below a folder.
func warnings(dir string) (found []history.APIWarning) {
	if dir == "" {
		return nil
	}
	records, _ := runfolder.Records(dir)
	for _, record := range records {
		run, _ := history.Open(filepath.Join(dir, filepath.FromSlash(record)))
		for _, w := range run.Warnings() {
			if isDeprecation(w.Text) {
				found = append(found, w)
			}
		}
	}
	return found
}

// Texts about API versions: "policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+; use ...".
// Texts about fields and annotations: "...: deprecated since v1.30; use ...", "...: non-functional in v1.27+; use ...",
// "... is deprecated and may ...".
//
// Source: k8s.io/apiserver/pkg/endpoints/deprecation, and warnings.go below k8s.io/kubernetes/pkg/api
var deprecation = regexp.MustCompile(`\b(deprecated|non-functional)\b`)

// isDeprecation reports whether a warning is about something deprecated or non-functional. API servers also warn about other
// things, such as duplicate names or violations of a Pod Security level.
func isDeprecation(text string) bool { return deprecation.MatchString(text) }

// ofVersion captures the deprecated API version.
var ofVersion = regexp.MustCompile(`^(\S+) \S+ is deprecated in v\d`)

// apiOf is the deprecated API version, such as policy/v1beta1; empty if the warning is not about an API version.
func apiOf(text string) string {
	if found := ofVersion.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}
