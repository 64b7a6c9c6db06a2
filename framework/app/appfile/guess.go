package appfile

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/app/manifests"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Guess is the text of a holdfast.yaml for an application whose manifests are in the given sources, relative to the folder of the file. Each
// guess has a comment with what it rests on. Missing is why there is no probe, or empty.
func Guess(a app.App, from app.Sources, folder string) (text, missing string) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(SchemaLine)
	line("# What holdfast test does to this application, and which requests it sends meanwhile. Guessed by holdfast init: check the comments.")
	line("apiVersion: %s", APIVersion)
	line("kind: %s", Kind)
	line("app:")
	set := func(is bool, key string, value any) {
		if is {
			line("  %s: %s", key, inYAML(value))
		}
	}
	set(len(from.Files) > 0, "manifests", relative(from.Files, folder))
	set(from.Kustomize != "", "kustomize", relative([]string{from.Kustomize}, folder)[0])
	if c := from.Chart; c.Path != "" {
		line("  chart:\n    path: %s", inYAML(relative([]string{c.Path}, folder)[0]))
		set(len(c.Values) > 0, "  values", relative(c.Values, folder))
		set(c.Release != "", "  release", c.Release)
	}
	set(len(from.Before) > 0, "before", relative(from.Before, folder))
	set(len(from.Without) > 0, "without", from.Without)
	if names := generated(a); len(names) > 0 {
		line("  # No object creates these Secrets, so that they get random values: %s. Add one to the manifests if the application needs another value.", comment(strings.Join(names, ", ")))
		line("  secrets: %s", manifests.GenerateSecrets)
	}
	line("  namespace: %s", inYAML(a.Namespace))
	line("  # Images are taken from the local container engine, or else pulled once by this machine. Archives of 'docker save' can be listed here.")
	line("  images: []")
	for _, image := range a.Images() {
		line("  # - %s", comment(image))
	}
	asked, missing := probes(a)
	b.WriteString(asked)
	line("# What is promised by default: no request fails during a voluntary disruption. After an involuntary one, only requests to the lost pods fail,")
	line("# until Kubernetes must have noticed. To promise another thing, change these lines; promises.probes.NAME is for one probe alone.")
	line("# promises:")
	line("#   voluntary: {failed: 0} # %s; or a share such as 0.1%%", strings.Join(apptest.FaultsOf(apptest.Voluntary), ", "))
	line("#   involuntary: {ends-within: 60s} # %s", strings.Join(apptest.FaultsOf(apptest.Involuntary), ", "))
	line("# One replica more and less, a rolling update, a drain, a deleted pod, a dead node. holdfast test --help lists others.")
	line("faults: [%s]", strings.Join(apptest.DefaultFaults, ", "))
	return b.String(), missing
}

// generated are the names of the Secrets that holdfast makes.
func generated(a app.App) (names []string) {
	for _, m := range a.Before.Objects {
		if m.Source == manifests.Generated {
			names = append(names, m.Object.GetName())
		}
	}
	return names
}

// relative are paths as a file in a folder has them: relative to it, unless the user has written them otherwise, or nothing else leads from there.
func relative(paths []string, folder string) (all []string) {
	for _, path := range paths {
		if !strings.Contains(path, "://") {
			near, err := filepath.Rel(folder, path)
			if err != nil { // one of them is absolute, or the folder is above this one
				near, err = filepath.Abs(path)
			}
			if err == nil {
				path = near
			}
		}
		all = append(all, path)
	}
	return all
}
