package app

import (
	"path/filepath"
	"regexp"
	"strings"
)

var (
	absent  = regexp.MustCompile(`(?:lstat|open|read) (\S+): no such file or directory`)
	remote  = regexp.MustCompile(`resources from '\S+://|failed to run '\S*git `)
	sources = regexp.MustCompile(`(?:accumulating|merging) resources from '([^':]+)'`)
	// quotesNothing are the causes in which kustomize shows no more of a file than names of files, fields and objects.
	quotesNothing = regexp.MustCompile(`unable to find one of .{1,99} in directory '[^']+'|security; file '[^']+' is not in or below '[^']+'|cycle detected|multiple kustomization files|` +
		`kustomization\.yaml is empty|kind should be Kustomization or Component|missing Resource metadata|may not add resource with an already registered id: ` + kustomizeID +
		`|(?:no matches for Id|nothing selected by) ` + kustomizeID + `|unable to parse SM or JSON patch|external plugins disabled|` +
		`json: (?:unknown field "[A-Za-z]+"|cannot unmarshal [a-z]+ into Go struct field [\w.]+)|yaml: line \d+: (?:[a-z ]|'[^\w']')+`)
)

const kustomizeID = `[\w.\[\]/-]+`

// causeOfKustomize is the cause in an error of kustomize about a folder, if it is known to quote nothing of a file: others may show a password.
func causeOfKustomize(said, folder string) string {
	found := absent.FindStringSubmatch(said)
	switch {
	case strings.Contains(said, "loading KV pairs"): // also the names of files may be what was meant as a password
		return "a configMapGenerator or secretGenerator has what it cannot read: want literals such as NAME=VALUE, and files and envs that are there"
	case remote.MatchString(said):
		return "it names a URL that cannot be read from here: download what is there, and name that"
	case found != nil && strings.HasSuffix(found[1], filepath.Clean(folder)):
		return "there is no file or folder " + found[1]
	case found != nil:
		return "there is no file or folder " + found[1] + ", which a kustomization names"
	case strings.Contains(said, "must specify --enable-helm"):
		return "it renders a Helm chart: run 'kustomize build --enable-helm', and use its output with -f"
	}
	where := ""
	for _, one := range sources.FindAllStringSubmatch(said, -1) {
		where = one[1] + ": "
	}
	if cause := quotesNothing.FindString(said); cause != "" {
		return where + cause
	}
	return where + "kustomize cannot build it, and its words may show what is in a file: 'kustomize build " + folder + "' tells them"
}
