package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// engine looks for an engine that runs privileged containers. It returns nil if there is none.
func (m *machine) engine(ctx context.Context, o Options) (containerEngine, Check) {
	check := Check{Name: "engine", Status: OK}
	found, err := m.find(ctx, engine.Options{CacheDir: o.CacheDir, NoInstall: !o.Install, Say: o.Say})
	var none *engine.NotFoundError
	switch {
	case errors.As(err, &none):
		check.Status = Fail
		check.Found = "none runs a privileged container" + refused(none.Refusals)
		check.Remedy = strings.ReplaceAll(none.Remedy, "\n", "; or: ")
		return nil, check
	case err != nil:
		check.Status, check.Found = Fail, err.Error()
		return nil, check
	}
	check.Found = fmt.Sprintf("%s %s (%s, %s) runs privileged containers%s", found.Name(), found.Version(),
		found.Runtime(), found.StorageDriver(), refused(found.Refusals()))
	if found.StorageDriver() == "vfs" {
		check.Status = Warn
		check.Found += "; its storage driver vfs copies the whole image for every node"
		check.Remedy = "put the engine's storage on a file system that overlay works on, such as ext4 or xfs"
	}
	return found, check
}

// refused describes the rejected engines, to be appended to a finding.
func refused(refusals []engine.Refusal) string {
	var text strings.Builder
	for _, refusal := range refusals {
		fmt.Fprintf(&text, "; %s: %s", refusal.Engine, refusal.Reason)
	}
	return text.String()
}

// ours is the prefix of the names of holdfast's clusters, and thus of their containers and networks.
const ours = "holdfast-"

// lists are engine commands that list objects which may be holdfast's: one object per line, its name first.
var lists = []struct {
	what string
	args []string
}{
	{"container", []string{"ps", "--all", "--filter", "label=io.x-k8s.kind.cluster", "--format", "{{.Names}}"}},
	{"container", []string{"ps", "--all", "--filter", "label=" + engine.Label, "--format", "{{.Names}}"}},
	{"network", []string{"network", "ls", "--format", "{{.Name}}"}},
	// An anonymous volume is recognized by its label, if the engine has labelled it with the node.
	{"volume", []string{"volume", "ls", "--format", "{{.Name}} {{.Labels}}"}},
	{"image", []string{"images", "--filter", "label=" + engine.Label + "=probe", "--format", "{{.Repository}}"}},
}

// leftovers lists objects of earlier runs. Objects of a current run look the same.
func leftovers(ctx context.Context, e containerEngine) Check {
	check := Check{Name: "leftovers", Status: OK, Found: "none"}
	if e == nil {
		check.Found = "unknown without an engine"
		return check
	}
	found := map[string][]string{}
	for _, list := range lists {
		answer, err := e.Output(ctx, list.args...)
		if err != nil {
			check.Status, check.Found = Warn, "unknown: "+err.Error()
			return check
		}
		for line := range strings.Lines(string(answer)) {
			if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.Contains(line, ours) {
				found[list.what] = append(found[list.what], short(name))
			}
		}
	}
	if len(found) == 0 {
		return check
	}
	var texts []string
	for _, what := range slices.Sorted(maps.Keys(found)) {
		texts = append(texts, fmt.Sprintf("%s %s", what, abridged(found[what])))
	}
	check.Status = Warn
	check.Found = strings.Join(texts, "; ") + ": left by earlier runs, or in use by a current run"
	check.Remedy = "holdfast down --all"
	return check
}

// short is a name as engines display it: the name of an anonymous volume, which has 64 digits, is shortened to 12.
func short(name string) string {
	if len(name) == 64 {
		return name[:12]
	}
	return name
}

// abridged lists the first few names and the number of the others.
func abridged(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
