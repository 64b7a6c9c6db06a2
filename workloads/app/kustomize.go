package app

import (
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kustomization builds a kustomization, as `kubectl apply -k` does.
func (r *reader) kustomization(folder string) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		r.says("build the kustomization in "+folder+": ", "%s", ofKustomize(err.Error()))
		return
	}
	text, err := built.AsYaml()
	r.text(folder, text, err)
}

var (
	absent    = regexp.MustCompile(`(?:lstat|open|read) (\S+): no such file or directory`)
	innermost = regexp.MustCompile(`(?s).*(?:accumulating|merging) resources from '?`)
	outermost = regexp.MustCompile(`(?s): must build at directory.*`)
	quoted    = regexp.MustCompile("(?s)\\{.*|`.*|map\\[.*|unknown anchor.*") // what is in a file
)

// ofKustomize is the cause in an error of kustomize, which tells it last, after each folder on the way.
func ofKustomize(said string) string {
	if found := absent.FindStringSubmatch(said); found != nil {
		return "there is no file or folder " + found[1] + ", which a kustomization names"
	}
	if strings.Contains(said, "must specify --enable-helm") {
		return "it renders a Helm chart: run 'kustomize build --enable-helm', and use its output with -f"
	}
	said = outermost.ReplaceAllString(innermost.ReplaceAllString(said, ""), "")
	return quoted.ReplaceAllString(strings.TrimSuffix(strings.Replace(said, "': ", ": ", 1), "'"), "...")
}
