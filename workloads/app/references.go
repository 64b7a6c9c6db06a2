package app

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Reference is the name of an image in a manifest, or a text that may be one.
type Reference struct {
	Image string
	Where string // the object, its file and line, and the field
	Use   Use
}

// Use is what is known of a reference.
type Use int

// The uses, the least certain first. Whether a text outside of pod specs names an image is known only to the program that reads it.
const (
	Possible Use = iota // a text with the form name:tag, such as redis:6379
	Named               // a text that names a registry, or that stands where its field says that it is an image
	InPod               // an image of a pod spec: the kubelet gets it
)

// References are the images that the manifests name: those of pod specs, and those in any other text, such as fields of custom resources,
// environment variables, and files in ConfigMaps. The values of Secrets are not read.
func (a App) References() (all []Reference) {
	for _, m := range a.All() {
		if m.Object.GetKind() == "Secret" || m.Object.GetKind() == "CustomResourceDefinition" { // the latter describes fields, and has none
			continue
		}
		w := walk{m: m, spec: podSpecs[m.Object.GetKind()]}
		w.value(m.Object.Object, nil, false)
		all = append(all, w.found...)
	}
	return all
}

// walk looks at all texts of a manifest.
type walk struct {
	m     Manifest
	spec  []string // the path of its pod spec
	found []Reference
}

// value looks at a value. It is told if a name says that there is an image.
func (w *walk) value(v any, path []any, image bool) {
	switch v := v.(type) {
	case map[string]any:
		named, _ := v["name"].(string) // of an environment variable
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if len(path) == 0 && (key == "apiVersion" || key == "kind") || len(path) == 1 && path[0] == "metadata" && key != "annotations" ||
				key == lastApplied {
				continue
			}
			says := imageName.MatchString(key) || key == "value" && imageName.MatchString(named)
			w.value(v[key], append(slices.Clone(path), key), says)
		}
	case []any:
		for i, one := range v {
			w.value(one, append(slices.Clone(path), i), image)
		}
	case string:
		w.text(v, path, image)
	}
}

// lastApplied is an annotation in which kubectl keeps the whole manifest.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// imageName are the names of fields and variables that hold an image: image, sidecarImage, RELATED_IMAGE_PROXY.
var imageName = regexp.MustCompile(`^images?$|[a-z]Images?(Name|Ref)?$|^images?(Name|Ref)$|(^|_)IMAGES?(_|$)`)

// The parts of a reference.
// Source: https://github.com/distribution/reference/blob/main/reference.go
const (
	part    = `[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*`
	version = `(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?`
	host    = `(?:(?:[a-zA-Z0-9-]+\.)+[a-zA-Z0-9-]+(?::[0-9]+)?|[a-zA-Z0-9-]+:[0-9]+|localhost)/`
)

// reference is the form of a name of an image. Its first group is the registry.
var reference = regexp.MustCompile(`^(` + host + `)?` + part + `(?:/` + part + `)*` + version + `$`)

// text looks for references in a text. A file in a ConfigMap has many words.
func (w *walk) text(text string, path []any, image bool) {
	if w.ofPod(path) {
		w.add(text, path, InPod)
		return
	}
	words := wordsOf(text)
	before := ""
	for _, word := range words {
		if word == ":" { // "image": "nginx:1.25"
			before += word
			continue
		}
		key, value, assigned := strings.Cut(word, "=")
		if !assigned {
			key, value = "", word
			if name, colon := strings.CutSuffix(before, ":"); colon {
				key = name
			}
		}
		before = word
		w.word(value, path, image && len(words) == 1 || imageName.MatchString(key))
	}
}

// wordsOf are the words of a text: of a sentence, of YAML, of JSON, of a shell's command.
func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`,;()[]{}<>", r) })
}

// word adds a word that has the form of a reference. It is told if it stands where an image stands.
func (w *walk) word(word string, path []any, image bool) {
	form := reference.FindStringSubmatch(word)
	// Without a tag or a digest, a path is no more than a path.
	versioned := strings.Contains(word[strings.LastIndexByte(word, '/')+1:], ":") || strings.Contains(word, "@")
	switch {
	case form == nil:
	case image, form[1] != "" && versioned:
		w.add(word, path, Named)
	case versioned:
		w.add(word, path, Possible)
	}
}

func (w *walk) add(image string, path []any, use Use) {
	if image != "" {
		where := fmt.Sprintf("%s %s (%s): %s", w.m.Object.GetKind(), w.m.Object.GetName(), w.m.Place(path...), Field(path))
		w.found = append(w.found, Reference{Image: image, Where: where, Use: use})
	}
}

// ofPod reports whether a field is an image of the object's pod spec: of a container, or of a volume.
func (w *walk) ofPod(path []any) bool {
	rest := path
	for _, key := range w.spec {
		if len(rest) == 0 || rest[0] != key {
			return false
		}
		rest = rest[1:]
	}
	switch {
	case w.spec == nil || len(rest) < 3:
		return false
	case rest[0] == "volumes":
		return len(rest) == 4 && rest[2] == "image" && rest[3] == "reference"
	}
	return len(rest) == 3 && slices.Contains(containerLists, fmt.Sprint(rest[0])) && rest[2] == "image"
}

// containerLists are the fields of a pod spec with containers.
var containerLists = []string{"initContainers", "containers"}

// Field is a path as Kubernetes writes it: spec.containers[0].image.
func Field(path []any) string {
	var b strings.Builder
	for _, step := range path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		default:
			fmt.Fprintf(&b, ".%s", step)
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}
