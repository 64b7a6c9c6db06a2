package certify

import (
	"path/filepath"

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
				all = append(all, certificate.Deprecation{Object: w.Object, API: w.API(), Message: w.Text})
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
			if w.Deprecation() {
				found = append(found, w)
			}
		}
	}
	return found
}
