package github

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/suites/mutants/upgrade"
)

const (
	actionDir  = ".github/actions/holdfast"
	nightlyDir = ".github/nightly"
	scriptsDir = ".github/release"
)

// action is what GitHub knows of the metadata of a composite action; it ignores what it does not know, which here is a mistake.
//
// Source: https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax
type action struct {
	Name        string                                           `json:"name"`
	Description string                                           `json:"description"`
	Inputs      map[string]struct{ Description, Default string } `json:"inputs"`
	Outputs     map[string]struct{ Description, Value string }   `json:"outputs"`
	Runs        struct {
		Using string `json:"using"`
		Steps []step `json:"steps"`
	} `json:"runs"`
}

type step struct {
	ID    string            `json:"id,omitempty"`
	Name  string            `json:"name,omitempty"`
	If    any               `json:"if,omitempty"`
	Uses  string            `json:"uses,omitempty"`
	Run   string            `json:"run,omitempty"`
	Shell string            `json:"shell,omitempty"`
	With  map[string]any    `json:"with,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
}

func readAction(t *testing.T) (a action) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(actionDir, "action.yml"))
	must(t, err)
	must(t, yaml.UnmarshalStrict(text, &a))
	return a
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What actionlint leaves out, which looks at workflows alone.
func TestTheActionIsWhole(t *testing.T) {
	a := readAction(t)
	if a.Runs.Using != "composite" || a.Name == "" || a.Description == "" {
		t.Errorf("%+v", a)
	}
	text, err := os.ReadFile(filepath.Join(actionDir, "action.yml"))
	must(t, err)
	for name, in := range a.Inputs {
		if in.Description == "" || !strings.Contains(string(text), "inputs."+name+" ") {
			t.Errorf("input %s has no description, or is not used", name)
		}
	}
	for _, used := range regexp.MustCompile(`inputs\.([a-z-]+)`).FindAllStringSubmatch(string(text), -1) {
		if _, there := a.Inputs[used[1]]; !there {
			t.Errorf("there is no input %s", used[1])
		}
	}
	told := map[string]bool{} // the outputs of steps, as steps.ID.outputs.NAME
	for _, s := range a.Runs.Steps {
		if s.Run != "" && s.Shell == "" {
			t.Errorf("step %q: GitHub wants a shell of a step in an action", s.Name)
		}
		if strings.Contains(s.Run, "${{") {
			t.Errorf("step %q: what a caller gives would run as a part of the script", s.Name)
		}
		if name, ok := strings.CutPrefix(s.Run, `bash "$GITHUB_ACTION_PATH/`); ok {
			script := readScript(t, filepath.Join(actionDir, strings.TrimSuffix(name, `"`)))
			for _, out := range regexp.MustCompile(`echo "([a-z]+)=`).FindAllStringSubmatch(script, -1) {
				told["steps."+s.ID+".outputs."+out[1]] = true
			}
			checkGiven(t, name, script, s.Env)
		}
	}
	for _, used := range regexp.MustCompile(`steps\.[a-z]+\.outputs\.[a-z]+`).FindAllString(string(text), -1) {
		if !told[used] {
			t.Errorf("no step tells %s", used)
		}
	}
}

func readScript(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}

// checkGiven wants each variable that a script reads to be given by its step, by GitHub, or by itself.
func checkGiven(t *testing.T, name, script string, env map[string]string) {
	t.Helper()
	for _, used := range regexp.MustCompile(`(?:\$\{?|env\.)([A-Z][A-Z_]+)`).FindAllStringSubmatch(script, -1) {
		given := strings.HasPrefix(used[1], "GITHUB_") || strings.HasPrefix(used[1], "RUNNER_")
		if _, ok := env[used[1]]; !ok && !given {
			t.Errorf("%s reads %s, which nobody gives it", name, used[1])
		}
	}
	for variable := range env {
		if variable != "GH_TOKEN" && !strings.Contains(script, variable) { // gh reads that one
			t.Errorf("%s is given %s, and does not read it", name, variable)
		}
	}
}

// The scripts of workflows get what they read, and are files that can be run.
func TestWorkflowsGiveTheirScriptsWhatTheyRead(t *testing.T) {
	for workflow, want := range map[string]map[string][]string{
		"nightly.yml": {
			"certify": {"last-certificate.sh", "compare-certificates.sh"}, "planted": {"no-certificate.sh"},
			"nights": {"keep-night.sh", "gather-nights.sh", "trend.sh"},
		},
		"release.yml": {"tap": {"push-cask.sh"}, "image": {"push-image.sh"}, "images": {"join-images.sh"}},
	} {
		if diff := cmp.Diff(want, checkScripts(t, workflow)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", workflow, diff)
		}
	}
}

// checkScripts checks what the jobs of a workflow give to the scripts of .github, and returns the scripts of each job.
func checkScripts(t *testing.T, workflow string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(".github/workflows", workflow))
	must(t, err)
	var read struct {
		Jobs map[string]struct {
			Env   map[string]string `json:"env"`
			Steps []step            `json:"steps"`
		} `json:"jobs"`
	}
	must(t, yaml.Unmarshal(text, &read))
	found := map[string][]string{}
	for name, job := range read.Jobs {
		for _, s := range job.Steps {
			if !strings.HasPrefix(s.Run, ".github/") {
				continue
			}
			file, _, _ := strings.Cut(s.Run, " ")
			found[name] = append(found[name], filepath.Base(file))
			info, err := os.Stat(file)
			must(t, err)
			if info.Mode()&0o111 == 0 {
				t.Errorf("%s cannot be run", file)
			}
			script, env := readScript(t, file), maps.Clone(s.Env)
			for name, value := range job.Env {
				if strings.Contains(script, "$"+name) || strings.Contains(script, "${"+name) {
					env = with(env, name, value)
				}
			}
			checkGiven(t, file, script, env)
		}
	}
	return found
}

func with(env map[string]string, name, value string) map[string]string {
	if env == nil {
		env = map[string]string{}
	}
	env[name] = value
	return env
}

// Each plant is tried each night, and is known by the name and the cause that stand there.
func TestTheNightlyPlantsEveryPlant(t *testing.T) {
	text, err := os.ReadFile(".github/workflows/nightly.yml")
	must(t, err)
	var nightly struct {
		Jobs struct {
			Planted struct {
				Strategy struct {
					Matrix struct {
						Include []struct{ Plant, Cause string } `json:"include"`
					} `json:"matrix"`
				} `json:"strategy"`
			} `json:"planted"`
		} `json:"jobs"`
	}
	must(t, yaml.Unmarshal(text, &nightly))
	planted := nightly.Jobs.Planted.Strategy.Matrix.Include
	if len(planted) != len(upgrade.Regressions()) {
		t.Errorf("%d of %d plants are planted", len(planted), len(upgrade.Regressions()))
	}
	for _, p := range planted {
		known, err := upgrade.Find(p.Plant)
		if err != nil || p.Cause == "" || !strings.Contains(known.Cause, p.Cause) {
			t.Errorf("%+v: %v; its cause is %q", p, err, known.Cause)
		}
	}
}

// One version of an action of somebody else's is enough, and it is named.
func TestActionsOfOthersHaveOneVersion(t *testing.T) {
	files, err := filepath.Glob(".github/workflows/*.yml")
	must(t, err)
	versions := map[string]string{}
	for _, name := range append(files, filepath.Join(actionDir, "action.yml")) {
		text, err := os.ReadFile(name)
		must(t, err)
		for _, uses := range regexp.MustCompile(`uses: (\S+)`).FindAllStringSubmatch(string(text), -1) {
			of, version, _ := strings.Cut(uses[1], "@")
			if strings.HasPrefix(of, "./") {
				continue
			}
			if known, ok := versions[of]; version == "" || ok && known != version {
				t.Errorf("%s uses %s@%s, and others %q", name, of, version, known)
			}
			versions[of] = version
		}
	}
	if len(versions) < 4 {
		t.Errorf("found only %v", versions)
	}
}
