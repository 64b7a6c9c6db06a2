package appfile_test

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/app/manifests"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

var update = flag.Bool("update", false, "rewrite the schema")

// object is a part of a schema.
type object = map[string]any

// value are the types of a text that may look like a number, or like true.
var value = []string{"string", "number", "boolean"}

// schemas makes schemas of Go types.
type schemas struct {
	comments map[string]string   // of fields, by "Type.Field"
	values   map[string][]string // that are allowed, by the path of a field
	required map[string][]string // fields, by the path of their parent
}

// of is the schema of the field at a path.
func (s schemas) of(t reflect.Type, path string) object {
	if values := s.values[path]; values != nil {
		return object{"type": "string", "enum": values}
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return object{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`}
	case t == reflect.TypeFor[appfile.Faults]():
		return object{"type": "array", "items": fault(true)}
	case t == reflect.TypeFor[appfile.Failed]():
		return object{"anyOf": []object{{"type": "integer", "minimum": 0}, {"type": "string", "pattern": `^[0-9]{1,2}(\.[0-9]+)?%$`}}}
	case t == reflect.TypeFor[appfile.Span](), t == reflect.TypeFor[appfile.Idle]():
		return s.of(reflect.TypeFor[time.Duration](), path)
	case t == reflect.TypeFor[appfile.ByProbe]():
		return object{"type": "object", "additionalProperties": s.of(t.Elem(), path+".*")}
	case t == reflect.TypeFor[appfile.Call]():
		return object{"type": "string", "pattern": `^/?[A-Za-z_][A-Za-z0-9_.]*/[A-Za-z_][A-Za-z0-9_]*$`}
	case t == reflect.TypeFor[appfile.Status]():
		return object{"anyOf": []object{{"type": "integer", "minimum": 200, "maximum": 599}, {"type": "string", "enum": expect.CodeNames()}}}
	case reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]()):
		return object{"anyOf": []object{{"type": value}, s.fields(t, path)}}
	case t == reflect.TypeFor[*string]():
		return object{"type": value}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem(), path)
	case reflect.Struct:
		return s.fields(t, path)
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem(), path+"[]")}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem(), path+".*")}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	}
	return object{"type": "string"}
}

// fields is the schema of a struct.
func (s schemas) fields(t reflect.Type, path string) object {
	properties := object{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, tagged := f.Tag.Lookup("yaml")
		if !tagged {
			continue
		}
		one := s.of(f.Type, strings.TrimPrefix(path+"."+name, "."))
		one["description"] = s.comments[t.Name()+"."+f.Name]
		properties[name] = one
	}
	made := object{"type": "object", "properties": properties, "additionalProperties": false}
	if required := s.required[path]; required != nil {
		made["required"] = required
	}
	return made
}

// comments are the comments of the fields of this package's types.
func comments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, is := n.(*ast.TypeSpec)
			if !is {
				return true
			}
			if fields, is := spec.Type.(*ast.StructType); is {
				for _, f := range fields.Fields.List {
					for _, name := range f.Names {
						all[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
					}
				}
			}
			return true
		})
	}
	return all
}

// fault is the schema of a fault: its name, or its name with a workload. Some are for a cluster that is there already.
func fault(existing bool) object {
	names := appfile.FaultNames(existing)
	return object{"anyOf": []object{
		{"type": "string", "enum": names},
		{"type": "object", "propertyNames": object{"enum": names}, "additionalProperties": object{"type": "string"}, "minProperties": 1, "maxProperties": 1},
	}}
}

func lanes() (names []string) {
	for _, scheme := range []string{"http", "https", "tcp", "ws"} {
		for _, k := range load.LanesTo(scheme) {
			if name := string(k.Name); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// ofFile is the schema of a file, and what it is made of.
func ofFile(t *testing.T) (s schemas, made object) {
	t.Helper()
	s = schemas{
		comments: comments(t),
		values: map[string][]string{
			"apiVersion": {appfile.APIVersion}, "kind": {appfile.Kind}, "app.pull": {appfile.PullMissing, appfile.PullNever},
			"app.secrets":          {manifests.GenerateSecrets},
			"probes[].expect.like": {"before"}, "probes[].from": {appfile.FromOutside}, "probes[].lanes[]": lanes(), "disturb.window.days[]": {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"},
		},
		required: map[string][]string{"": {"apiVersion", "kind", "app"}, "app.chart": {"path"}, "probes[].expect.json": {"path"}, "probes[].headers.*": {"fromSecret"},
			"cluster": {"uid"}, "disturb.window": {"from", "to"}, "disturb.nodeKill": {"command", "undo"}},
	}
	made = s.of(reflect.TypeFor[appfile.File](), "")
	made["$schema"], made["title"] = "http://json-schema.org/draft-07/schema#", "holdfast.yaml"
	made["if"] = object{"required": []string{"cluster"}}
	made["else"] = object{"properties": object{"faults": object{"items": fault(false)}}}
	made["description"] = "The test of an application, which holdfast test reads."
	return s, made
}

// The schema is generated, so that it cannot say another thing than the types that the file is read into.
func TestSchema(t *testing.T) {
	s, made := ofFile(t)
	text, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(appfile.SchemaName, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(appfile.SchemaName)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), string(text)); diff != "" {
		t.Errorf("%s (-want +got), `go test ./framework/app/appfile -update` accepts it:\n%s", appfile.SchemaName, diff)
	}
	described(t, "", made)
	for _, name := range lanes() {
		if said := s.comments["Probe.Lanes"]; !regexp.MustCompile(`\b` + name + `[,) ]`).MatchString(said) {
			t.Errorf("the description of lanes does not name %s: %s", name, said)
		}
	}
	of := map[string]string{"Promises.Voluntary": strings.Join(apptest.FaultsOf(apptest.Voluntary), ", "), "Promises.Involuntary": strings.Join(apptest.FaultsOf(apptest.Involuntary), ", ")}
	for field, faults := range of {
		if !strings.Contains(s.comments[field], faults) {
			t.Errorf("the description of %s, %q, has not its faults %q", field, s.comments[field], faults)
		}
	}
	if faults := s.comments["File.Faults"]; !strings.Contains(faults, strings.Join(apptest.DefaultFaults, ", ")) {
		t.Errorf("the description of faults, %q, has not the defaults %q", faults, apptest.DefaultFaults)
	}
}

// described reports fields without a description, and objects that take fields of any name.
func described(t *testing.T, path string, s object) {
	t.Helper()
	if properties, has := s["properties"].(object); has {
		if s["additionalProperties"] != false {
			t.Errorf("%s takes fields of any name", path)
		}
		for name, one := range properties {
			if one := one.(object); one["description"] == "" {
				t.Errorf("%s.%s has no description: its field in Go needs a comment", path, name)
			}
			described(t, path+"."+name, one.(object))
		}
	}
	for _, part := range []string{"items", "additionalProperties"} {
		if one, is := s[part].(object); is {
			described(t, path+"."+part, one)
		}
	}
	alternatives, _ := s["anyOf"].([]object)
	for _, one := range alternatives {
		described(t, path, one)
	}
}

func TestWriteOverwritesNothingOfTheUser(t *testing.T) {
	dir := t.TempDir()
	path, schema := filepath.Join(dir, appfile.Name), filepath.Join(dir, appfile.SchemaName)
	refused := func(want string) {
		t.Helper()
		if err := appfile.Write(path, whole); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if err := os.WriteFile(schema, []byte(`{"title": "mine"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("is no schema of holdfast")
	if _, err := os.Stat(path); err == nil {
		t.Error("a refused file was written")
	}
	older := strings.Replace(string(appfile.Schema), `"rate"`, `"speed"`, 1)
	if err := os.WriteFile(schema, []byte(older), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := appfile.Write(path, whole); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(schema)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(appfile.Schema), string(written)); diff != "" {
		t.Errorf("the older schema (-want +got):\n%s", diff)
	}
	refused("exists already: remove it")
}
