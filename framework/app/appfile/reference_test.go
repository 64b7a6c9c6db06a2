package appfile_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
)

// The file that has the reference, and the lines around it.
const (
	referenceIn = "../../../workloads/README.md"
	begins      = "<!-- The reference is made by: go test ./framework/app/appfile -update -->\n"
	ends        = "<!-- the end of the reference -->\n"
)

// The reference says of each field and of each fault what the schema and the table of faults say.
func TestReference(t *testing.T) {
	_, made := ofFile(t)
	text, err := os.ReadFile(referenceIn)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begins)
	was, after, ended := strings.Cut(rest, ends)
	if !found || !ended {
		t.Fatalf("%s has no line %q with %q after it", referenceIn, begins, ends)
	}
	is := reference(made)
	if *update {
		if err := os.WriteFile(referenceIn, []byte(before+begins+is+ends+after), 0o644); err != nil {
			t.Fatal(err)
		}
		was = is
	}
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("%s (-want +got), `go test ./framework/app/appfile -update` accepts it:\n%s", referenceIn, diff)
	}
}

func reference(made object) string {
	var b strings.Builder
	b.WriteString("| field | what it has | default | what it is |\n| --- | --- | --- | --- |\n")
	rows(&b, "", made)
	b.WriteString("\n| fault | what is done | what is promised by default |\n| --- | --- | --- |\n")
	for _, name := range apptest.FaultNames() {
		d := apptest.Faults[name]
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, d.Does(), d.Promised())
	}
	existing := slices.DeleteFunc(appfile.FaultNames(true), func(name string) bool { return slices.Contains(apptest.FaultNames(), name) })
	fmt.Fprintf(&b, "\nOnly in a cluster that is there already: `%s`.\n", strings.Join(existing, "`, `"))
	return b.String()
}

// rows are those of the fields of an object, and of what is in them.
func rows(b *strings.Builder, path string, s object) {
	properties, _ := s["properties"].(object)
	required, _ := s["required"].([]string)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		one, at := properties[name].(object), strings.TrimPrefix(path+"."+name, ".")
		otherwise, what := split(fmt.Sprint(one["description"]))
		if slices.Contains(required, name) {
			otherwise = "required"
		}
		row(b, at, one, otherwise, what)
	}
}

// row is that of a field, with those of its elements where they are more than texts, and of its fields.
func row(b *strings.Builder, at string, s object, otherwise, what string) {
	if what+otherwise != "" || kind(s) != "fields" {
		fmt.Fprintf(b, "| `%s` | %s |%s |%s |\n", at, kind(s), strings.TrimRight(" "+otherwise, " "), strings.TrimRight(" "+what, " "))
	}
	for _, one := range slices.Concat([]object{s}, alternatives(s)) {
		rows(b, at, one)
		if items, is := one["items"].(object); is {
			inside(b, at+"[]", items)
		}
		if values, is := one["additionalProperties"].(object); is && one["propertyNames"] == nil {
			inside(b, at+".NAME", values)
		}
	}
}

// inside is what is in a list or under names: nothing is to be said of plain texts.
func inside(b *strings.Builder, at string, s object) {
	if kind(s) != "text" {
		row(b, at, s, "", "")
	}
}

func alternatives(s object) []object {
	of, _ := s["anyOf"].([]object)
	return of
}

// kind says what a field has.
func kind(s object) string {
	if of := alternatives(s); len(of) > 0 {
		var words []string
		for _, one := range of {
			words = append(words, kind(one))
		}
		return strings.Join(slices.Compact(words), ", or ")
	}
	if values, is := s["enum"].([]string); is {
		if slices.Contains(values, "kill-container") {
			return "name of a fault"
		}
		return "`" + strings.Join(values, "`, `") + "`"
	}
	if types, is := s["type"].([]string); is && slices.Contains(types, "string") {
		return "text"
	}
	switch s["type"] {
	case "array":
		return "list"
	case "object":
		return "fields"
	case "boolean":
		return "true or false"
	case "integer":
		return "whole number"
	case "number":
		return "number"
	}
	if pattern, _ := s["pattern"].(string); strings.Contains(pattern, "|ms|") {
		return "duration"
	}
	return "text"
}

// split is a description as its first default and the rest.
func split(description string) (otherwise, what string) {
	before, after, has := strings.Cut(description, "default: ")
	if !has {
		return "", description
	}
	otherwise, after, _ = strings.Cut(after, ";")
	return otherwise, strings.Trim(strings.TrimSuffix(strings.TrimSpace(before), ";")+";"+after, "; ")
}
