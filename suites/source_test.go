package suites_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/scenario/manifests"
	"github.com/holdfast-ha/holdfast/workloads/app"

	_ "github.com/holdfast-ha/holdfast/suites/chaos"
	_ "github.com/holdfast-ha/holdfast/suites/conformance"
	_ "github.com/holdfast-ha/holdfast/suites/incidents"
	_ "github.com/holdfast-ha/holdfast/suites/profiles"
	_ "github.com/holdfast-ha/holdfast/suites/scale"
	_ "github.com/holdfast-ha/holdfast/suites/upgrade"
)

// implementers returns the exported types of a package that have a method.
func implementers(t *testing.T, dir, method string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source in %s (%v)", dir, err)
	}
	var found []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != method {
				continue
			}
			receiver := f.Recv.List[0].Type
			if star, isPointer := receiver.(*ast.StarExpr); isPointer {
				receiver = star.X
			}
			if name, ok := receiver.(*ast.Ident); ok && name.IsExported() {
				found = append(found, name.Name)
			}
		}
	}
	slices.Sort(found)
	return found
}

func typeName(v any) string { return reflect.TypeOf(v).Name() }

func TestEveryFaultIsUsedByAScenario(t *testing.T) {
	used := map[string]bool{}
	for _, s := range scenario.All {
		for _, f := range s.Faults {
			used[typeName(f)] = true
		}
	}
	upgrade, err := scenario.Upgrade("v1.37.0", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(scenariosOf(t, "apps/haproxy-grpc"), upgrade) { // the sample backend has no configuration to change
		for _, f := range s.Faults {
			used[typeName(f)] = true
		}
	}
	for _, name := range faults(t) {
		if !used[name] {
			t.Errorf("fault %s: no scenario uses it", name)
		}
	}
}

// scenariosOf are those of an application, which make apps runs.
func scenariosOf(t *testing.T, folder string) []scenario.Spec {
	t.Helper()
	f, err := appfile.Read(filepath.Join(folder, appfile.Name))
	if err != nil {
		t.Fatal(err)
	}
	read, err := app.Read(f.Sources())
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(read, f.App.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	probes, err := f.ProbesOf()
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := apptest.Test{App: a, Probes: probes, Faults: f.Faults}.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// faults are the types that a scenario can have as faults.
func faults(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, dir := range []string{"../framework/fault", "../framework/scenario/manifests"} {
		planned := implementers(t, dir, "Plan")
		if len(planned) == 0 {
			t.Fatalf("no fault in the source of %s", dir)
		}
		found = append(found, planned...)
	}
	return found
}

// Tests play the examples of all faults where nothing happens, and expect that no promise is held.
func TestEveryFaultHasAnExample(t *testing.T) {
	exemplified := map[string]bool{}
	for _, f := range slices.Concat(fault.Examples(), manifests.Examples()) {
		exemplified[typeName(f)] = true
	}
	for _, name := range faults(t) {
		if !exemplified[name] {
			t.Errorf("fault %s: Examples of its package has no example of it", name)
		}
	}
}

// A promise that only mutants make is never kept, and a promise that no mutant breaks may catch nothing.
func TestEveryInvariantIsPromisedAndHasAMutant(t *testing.T) {
	promised, caught := map[string]bool{}, map[string]bool{}
	for _, s := range scenario.All {
		if s.Mutant != nil {
			caught[s.Mutant.CaughtBy] = true
			continue
		}
		for _, p := range s.Promises {
			promised[invariant.Kind(p)] = true
		}
	}
	if diff := cmp.Diff(implementers(t, "../framework/judge/invariant", "Needs"), invariant.Kinds()); diff != "" {
		t.Errorf("not all invariants are in the table of kinds (-source +table):\n%s", diff)
	}
	for _, name := range invariant.Kinds() {
		if !promised[name] {
			t.Errorf("invariant %s: no scenario that should hold promises it", name)
		}
		if !caught[name] {
			t.Errorf("invariant %s: no mutant shows that it would catch anything", name)
		}
	}
}

func TestEveryMutantHasATwinInTheSuites(t *testing.T) {
	named := map[string]scenario.Spec{}
	for _, s := range scenario.All {
		named[s.Name] = s
	}
	mutants := 0
	for _, s := range scenario.All {
		if s.Mutant == nil {
			continue
		}
		mutants++
		twin, found := named[s.Mutant.Twin]
		switch {
		case !found:
			t.Errorf("%s: its twin %s is not in the suites", s.Name, s.Mutant.Twin)
		case twin.Mutant != nil:
			t.Errorf("%s: its twin %s is a mutant itself", s.Name, twin.Name)
		case twin.Full && !s.Full:
			t.Errorf("%s: its twin %s is not run in the short profile", s.Name, twin.Name)
		case reflect.DeepEqual(practices(s), practices(twin)):
			t.Errorf("%s: it does not differ from its twin %s", s.Name, twin.Name)
		}
	}
	if mutants == 0 {
		t.Error("no mutants")
	}
}

// A mutant that lacks several practices does not show what each of them prevents, so it says how many it lacks.
func TestAMutantWithoutSeveralPracticesSaysSo(t *testing.T) {
	// These fields prepare the absence of a practice, and are none themselves.
	none := []string{"Affinity", "NodePort", "StartDelay", "PastScheduler"}
	several := 0
	for _, s := range scenario.All {
		if s.Mutant == nil {
			continue
		}
		twin := scenario.All[slices.IndexFunc(scenario.All, func(of scenario.Spec) bool { return of.Name == s.Mutant.Twin })]
		var lacks []string
		has, had := reflect.ValueOf(s.Backend), reflect.ValueOf(twin.Backend)
		for i := range has.NumField() {
			name := has.Type().Field(i).Name
			if !slices.Contains(none, name) && !reflect.DeepEqual(has.Field(i).Interface(), had.Field(i).Interface()) {
				lacks = append(lacks, name)
			}
		}
		if !reflect.DeepEqual(s.Gateway, twin.Gateway) {
			lacks = append(lacks, "Gateway")
		}
		if len(lacks) > 1 {
			several++
			if !strings.Contains(s.Mutant.Removed, " practices: ") {
				t.Errorf("%s differs from its twin in %q, and says only %q", s.Name, lacks, s.Mutant.Removed)
			}
		}
	}
	if several == 0 {
		t.Error("no mutant lacks several practices")
	}
}

// A verdict that names why requests failed can only be compared with the planted cause if the mutant names that cause.
func TestMutantsOfRequestsNameTheirCause(t *testing.T) {
	named := 0
	for _, s := range scenario.All {
		if s.Mutant == nil || s.Mutant.Harness || !judge.NamesCauses(s.Mutant.CaughtBy) {
			continue
		}
		named++
		cause := attribution.Cause(s.Mutant.Cause)
		if !slices.Contains(attribution.Causes(), cause) || !cause.OfSystem() {
			t.Errorf("%s is caught by %s, and plants %q: want one of %q", s.Name, s.Mutant.CaughtBy, cause, attribution.Causes())
		}
	}
	if named == 0 {
		t.Error("no mutant is caught by a promise that names causes")
	}
}

// practices are what a mutant can take away. A fault that fixes or rejects a workload is also a practice; a fault that disturbs
// it is not.
func practices(s scenario.Spec) []any {
	all := []any{s.Backend, s.Simulated, s.Gateway, s.Addons, s.PinTo, s.NodePorts, s.LoadWorkers.CPU, s.Cluster.ControlPlanes}
	for _, f := range s.Faults {
		switch f.(type) {
		case manifests.ApplyAuditFixes, manifests.ApplyPolicy:
			all = append(all, f)
		}
	}
	return all
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range scenario.All {
		if seen[s.Name] {
			t.Errorf("two scenarios are called %s", s.Name)
		}
		seen[s.Name] = true
	}
}
