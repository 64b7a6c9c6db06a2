package certificate

import (
	"path/filepath"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Deprecations are what API servers warned of in the records of two runs, each message once. Records that cannot be read tell of
// none here; that they cannot is a reason of its own.
func Deprecations(before, after string) []Deprecation {
	all := []Deprecation{}
	index := make(map[string]int) // by message
	for _, side := range []struct {
		dir  string
		mark func(*Deprecation)
	}{
		{before, func(d *Deprecation) { d.Before = true }},
		{after, func(d *Deprecation) { d.After = true }},
	} {
		for _, w := range warnings(side.dir) {
			i, known := index[w.Text]
			if !known {
				i = len(all)
				index[w.Text] = i
				all = append(all, Deprecation{Object: w.Object, API: w.API(), Message: w.Text})
			}
			side.mark(&all[i])
		}
	}
	return all
}

// warnings of deprecation in all records below a folder.
func warnings(dir string) (found []history.APIWarning) {
	if dir == "" {
		return nil
	}
	records, _ := history.Records(dir)
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
