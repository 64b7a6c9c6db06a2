// Package github holds the tests of .github: of the action's form, and of scripts whose mistakes would let a bad release or a bad night pass. They
// cannot lie beside the scripts, because Go skips folders that begin with a dot. actionlint checks the workflows (`make lint`).
package github

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const actionDir = ".github/actions/holdfast"

// TestMain runs the tests where GitHub runs the scripts: at the top of the repository.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}

type step struct {
	Name, Run, Shell string
	Env              map[string]string
}

// actionlint looks at workflows alone. GitHub ignores an input of an action that is misspelled.
func TestActionIsWhole(t *testing.T) {
	var action struct {
		Inputs map[string]struct{ Description string }
		Runs   struct{ Steps []step }
	}
	text := readText(t, actionDir+"/action.yml")
	must(t, yaml.Unmarshal([]byte(text), &action))
	for name, in := range action.Inputs {
		if in.Description == "" || !strings.Contains(text, "inputs."+name+" ") {
			t.Errorf("input %s has no description, or is not used", name)
		}
	}
	for _, s := range action.Runs.Steps {
		if s.Run != "" && s.Shell == "" || strings.Contains(s.Run, "${{") {
			t.Errorf("step %q has no shell, or runs what a caller gives as a part of its script", s.Name)
		}
		if name, ok := strings.CutPrefix(s.Run, `bash "$GITHUB_ACTION_PATH/`); ok {
			checkGiven(t, filepath.Join(actionDir, strings.TrimSuffix(name, `"`)), s.Env)
		}
	}
}

// Each script of a workflow is a program, and its step gives it what it reads.
func TestWorkflowsGiveTheirScriptsWhatTheyRead(t *testing.T) {
	for _, name := range []string{"nightly", "release"} {
		var workflow struct {
			Jobs map[string]struct {
				Env   map[string]string
				Steps []step
			}
		}
		must(t, yaml.Unmarshal([]byte(readText(t, ".github/workflows/"+name+".yml")), &workflow))
		for _, job := range workflow.Jobs {
			for _, s := range job.Steps {
				if file, _, _ := strings.Cut(s.Run, " "); strings.HasPrefix(file, ".github/") {
					if info, err := os.Stat(file); err != nil || info.Mode()&0o111 == 0 {
						t.Errorf("%s cannot be run: %v", file, err)
					}
					env := map[string]string{}
					maps.Copy(env, job.Env)
					maps.Copy(env, s.Env)
					checkGiven(t, file, env)
				}
			}
		}
	}
}

func checkGiven(t *testing.T, script string, env map[string]string) {
	t.Helper()
	for _, used := range regexp.MustCompile(`(?:\$\{?|env\.)([A-Z][A-Z_]+)`).FindAllStringSubmatch(readText(t, script), -1) {
		if _, given := env[used[1]]; !given && !strings.HasPrefix(used[1], "GITHUB_") && !strings.HasPrefix(used[1], "RUNNER_") {
			t.Errorf("%s reads %s, and its step does not set it", script, used[1])
		}
	}
}
