package app

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Place is where a field of the manifest is written: "k8s/web.yaml:12". The path has keys of maps and indexes of lists. Without such a
// field, or if the source is no file of YAML, it is the source alone.
func (m Manifest) Place(path ...any) string {
	line := m.line(path)
	if line == 0 {
		return m.Source
	}
	return fmt.Sprintf("%s:%d", m.Source, line)
}

// line is the line of a field, counted from 1; 0: unknown.
func (m Manifest) line(path []any) int {
	key, value := m.find(path)
	if key == nil {
		key = value
	}
	if key == nil {
		return 0
	}
	return key.Line + max(m.document.line-1, 0)
}

// find is a field in the manifest's document; see the function of that name. Where that begins is known of what was read from a file. A template of a
// chart is searched for it.
func (m Manifest) find(path []any) (key, value *yaml.Node) {
	info, err := os.Stat(m.Source)
	if err != nil || !info.Mode().IsRegular() || m.document.line == noLine {
		return nil, nil
	}
	file, err := os.Open(m.Source)
	if err != nil {
		return nil, nil
	}
	defer file.Close() //nolint:errcheck // opened for reading only
	if _, err := file.Seek(m.document.start, io.SeekStart); err != nil {
		return nil, nil
	}
	documents := yaml.NewDecoder(file)
	for {
		var document yaml.Node
		switch err := documents.Decode(&document); {
		case err != nil: // io.EOF among others
			return nil, nil
		case len(document.Content) > 0 && m.is(document.Content[0]):
			return find(document.Content[0], path)
		case m.document.line > 0: // the file is not any more what was read
			return nil, nil
		}
	}
}

// is reports whether a document is the manifest's.
func (m Manifest) is(document *yaml.Node) bool {
	_, kind := find(document, []any{"kind"})
	_, name := find(document, []any{"metadata", "name"})
	wanted := m.Object.GetName()
	if name == nil {
		_, name = find(document, []any{"metadata", "generateName"})
		wanted = m.Object.GetGenerateName()
	}
	return kind != nil && name != nil && strings.EqualFold(kind.Value, m.Object.GetKind()) && name.Value == wanted
}

// find is a field below a node: its key, unless it is an element of a list, and its value; nil: there is none.
func find(n *yaml.Node, path []any) (key, value *yaml.Node) {
	value = n
	for _, step := range path {
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		var next *yaml.Node
		key = nil
		switch step := step.(type) {
		case int:
			if value.Kind == yaml.SequenceNode && step < len(value.Content) {
				next = value.Content[step]
			}
		case string:
			for i := 0; value.Kind == yaml.MappingNode && i+1 < len(value.Content); i += 2 {
				if value.Content[i].Value == step {
					key, next = value.Content[i], value.Content[i+1]
				}
			}
		}
		if next == nil {
			return nil, nil
		}
		value = next
	}
	return key, value
}

// Without is the application with one manifest changed, or left out if change returns false. The change gets a copy.
func (a App) Without(at int, change func(object map[string]any) (keep bool)) (App, error) {
	hooks := Stage{PreInstall: a.PreInstall, PostInstall: a.PostInstall}
	manifests := slices.Concat(a.Taken, a.Before.All(), hooks.All())
	for i, m := range a.Manifests {
		m.Object = *m.Object.DeepCopy()
		if i == at && !change(m.Object.Object) {
			continue
		}
		manifests = append(manifests, m)
	}
	changed, err := NewOn(a.existing, manifests, a.Namespace, a.without...)
	changed.Given, changed.PullNever, changed.Privileged, changed.Layout = a.Given, a.PullNever, a.Privileged, a.Layout
	return changed, err
}
