package app

import (
	"path/filepath"
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
		r.says("build the kustomization in "+folder+": ", "%s", ofKustomize(err.Error(), folder))
		return
	}
	text, err := built.AsYaml()
	r.text(folder, text, err)
}

var (
	absent    = regexp.MustCompile(`(?:lstat|open|read) (\S+): no such file or directory`)
	innermost = regexp.MustCompile(`(?s).*(?:accumulating|merging) resources from '?`)
	outermost = regexp.MustCompile(`(?s): must build at directory.*`)
	quoted    = regexp.MustCompile("(?s)\\{.*|`.*|map\\[.*|unknown anchor.*|//[^/\\s]*@") // what is in a file
)

// ofKustomize is the cause in an error of kustomize about a folder. It tells the cause last, after each folder on the way.
func ofKustomize(said, folder string) string {
	if found := absent.FindStringSubmatch(said); found != nil {
		cause := "there is no file or folder " + found[1]
		if !strings.HasSuffix(found[1], filepath.Clean(folder)) {
			cause += ", which a kustomization names"
		}
		return cause
	}
	if strings.Contains(said, "must specify --enable-helm") {
		return "it renders a Helm chart: run 'kustomize build --enable-helm', and use its output with -f"
	}
	said = strings.Replace(outermost.ReplaceAllString(innermost.ReplaceAllString(said, ""), ""), "': ", ": ", 1)
	if strings.Count(said, "'")%2 == 1 { // the end of what was around it
		said = strings.TrimSuffix(said, "'")
	}
	return quoted.ReplaceAllString(said, "...")
}
