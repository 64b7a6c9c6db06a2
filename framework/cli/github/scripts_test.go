package github

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runner is a machine of GitHub's, as far as a script sees it.
type runner struct {
	t                    *testing.T
	dir, output, summary string
	env                  []string
}

func newRunner(t *testing.T, env ...string) *runner {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // the scripts name files without links, and macOS has one in each folder for temporary files
	must(t, err)
	r := &runner{t: t, dir: dir, output: filepath.Join(dir, "output"), summary: filepath.Join(dir, "summary")}
	must(t, os.MkdirAll(filepath.Join(dir, "bin"), 0o755))
	r.env = append(os.Environ(), append([]string{
		"PATH=" + filepath.Join(dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"), "RUNNER_TEMP=" + dir,
		"GITHUB_OUTPUT=" + r.output, "GITHUB_STEP_SUMMARY=" + r.summary, "GITHUB_REPOSITORY=o/r", "GITHUB_REF_NAME=main", "GITHUB_RUN_ID=77",
	}, env...)...)
	return r
}

// program puts a script in the place of a program.
func (r *runner) program(name, script string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, "bin", name)
	must(r.t, os.WriteFile(path, []byte("#!/usr/bin/env bash\nset -euo pipefail\n"+script), 0o755))
	return path
}

func (r *runner) run(script string, args ...string) (code int, said string) {
	r.t.Helper()
	path, err := filepath.Abs(script)
	must(r.t, err)
	cmd := exec.CommandContext(r.t.Context(), "bash", append([]string{path}, args...)...)
	cmd.Env, cmd.Dir = r.env, r.dir
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err = cmd.Run()
	if cmd.ProcessState == nil {
		r.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), both.String()
}

func (r *runner) read(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(text), r.dir, "DIR")
}

// holdfast that keeps what it was told, and leaves what it is to leave.
const fakeHoldfast = `printf '%s\n' "$*" >> "$RUNNER_TEMP/asked"
into=""
while [ $# -gt 0 ]; do if [ "$1" = --artifacts ]; then into=$2; fi; shift; done
if [ -n "$LEAVES" ]; then
  mkdir "$into/r1"; ln -s r1 "$into/last-attempt"; echo "all of it" > "$into/r1/$LEAVES"
fi
exit "$ENDS"
`

func TestActionRun(t *testing.T) {
	for name, test := range map[string]struct {
		env     []string // beside the defaults of the inputs
		asked   string
		code    int
		verdict string
		report  string
	}{
		"a scope": {nil, "run --scope short --artifacts DIR/holdfast-X --", 0, "held", "report.md"},
		"scenarios of a version": {
			[]string{"SCENARIOS=chaos/rolling-update\n  mutants/* \n", "KUBERNETES=v1.37.0", "SCOPE=full"},
			"run --scope full --artifacts DIR/holdfast-X --kubernetes v1.37.0 -- chaos/rolling-update mutants/*", 0, "held", "report.md",
		},
		"what looks like a flag is a name": {[]string{"SCENARIOS=--keep"}, "run --scope short --artifacts DIR/holdfast-X -- --keep", 4, "usage", ""},
		"violated":                         {nil, "run --scope short --artifacts DIR/holdfast-X --", 1, "violated", "report.md"},
		"unknown":                          {nil, "run --scope short --artifacts DIR/holdfast-X --", 5, "unknown", "report.md"},
		"a crash is no doubt":              {nil, "run --scope short --artifacts DIR/holdfast-X --", 2, "failed", ""},
		"interrupted":                      {nil, "run --scope short --artifacts DIR/holdfast-X --", 130, "interrupted", "report.md"},
		"terminated":                       {nil, "run --scope short --artifacts DIR/holdfast-X --", 143, "interrupted", "report.md"},
		"no cluster":                       {nil, "run --scope short --artifacts DIR/holdfast-X --", 3, "failed", ""},
		"killed":                           {nil, "run --scope short --artifacts DIR/holdfast-X --", 137, "failed", ""},
		"an upgrade": {
			[]string{"FROM=v1.36.3", "TO=v1.37.0", "PROFILE=core,extended"},
			"certify --from v1.36.3 --to v1.37.0 --profile core,extended --artifacts DIR/holdfast-X", 1, "violated", "certificate.md",
		},
		"half an upgrade": {[]string{"TO=v1.37.0"}, "certify --from  --to v1.37.0 --profile core --artifacts DIR/holdfast-X", 4, "usage", ""},
	} {
		t.Run(name, func(t *testing.T) {
			env := []string{"SCOPE=short", "SCENARIOS=", "KUBERNETES=", "FROM=", "TO=", "PROFILE=core"}
			r := newRunner(t, append(append(env, test.env...), fmt.Sprint("ENDS=", test.code), "LEAVES="+test.report)...)
			r.env = append(r.env, "PROGRAM="+r.program("holdfast", fakeHoldfast))
			code, said := r.run(filepath.Join(actionDir, "run.sh"))
			if code != test.code {
				t.Errorf("ended with %d, and holdfast with %d: %s", code, test.code, said)
			}
			if asked := unnumbered(r.read(filepath.Join(r.dir, "asked"))); asked != test.asked+"\n" {
				t.Errorf("asked %q\nwant  %q", asked, test.asked)
			}
			want, summary := "verdict="+test.verdict+"\nartifacts=\nreport=\n", ""
			if test.report != "" {
				want = "verdict=" + test.verdict + "\nartifacts=DIR/holdfast-X/r1\nreport=DIR/holdfast-X/r1/" + test.report + "\n"
				summary = "all of it\n"
			}
			if diff := cmp.Diff([]string{want, summary}, []string{unnumbered(r.read(r.output)), r.read(r.summary)}); diff != "" {
				t.Errorf("outputs and summary (-want +got):\n%s", diff)
			}
		})
	}
}

// unnumbered takes out what mktemp makes up.
func unnumbered(text string) string {
	return regexp.MustCompile(`holdfast-\w{6}`).ReplaceAllString(text, "holdfast-X")
}

func TestActionBuild(t *testing.T) {
	const fakeGo = `case "$1 ${2:-}" in
"env GOARCH") echo arm64; exit ;;
"env GOPATH") echo "$RUNNER_TEMP/go"; exit ;;
esac
echo "$CGO_ENABLED ${GOOS:-} ${GOBIN:-} $*" >> "$RUNNER_TEMP/asked"
if [ "$1 ${GOOS:-}" = "install linux" ]; then mkdir -p "$RUNNER_TEMP/go/bin/linux_arm64"; echo linux > "$RUNNER_TEMP/go/bin/linux_arm64/holdfast"; fi`
	const local, released = "build -C /action/.github/actions/holdfast/../../.. -trimpath -buildvcs=false -o ", "install -trimpath github.com/holdfast-ha/holdfast@v1.2.3\n"
	for _, test := range []struct{ system, version, want string }{
		{"Linux", "", "0   " + local + "DIR/holdfast/bin/holdfast .\n"},
		{"Linux", "v1.2.3", "0  DIR/holdfast/bin " + released},
		{"macOS", "", "0   " + local + "DIR/holdfast/bin/holdfast .\n0 linux  " + local + "DIR/holdfast/bin/holdfast-linux-arm64 .\n"},
		{"macOS", "v1.2.3", "0  DIR/holdfast/bin " + released + "0 linux  " + released},
	} {
		r := newRunner(t, "VERSION="+test.version, "GITHUB_ACTION_PATH=/action/.github/actions/holdfast", "RUNNER_OS="+test.system)
		r.program("go", fakeGo)
		code, said := r.run(filepath.Join(actionDir, "build.sh"))
		got := []string{r.read(filepath.Join(r.dir, "asked")), r.read(r.output)}
		if diff := cmp.Diff([]string{test.want, "program=DIR/holdfast/bin/holdfast\n"}, got); diff != "" || code != 0 {
			t.Errorf("%s, version %q: ended with %d, %s\n(-want +got):\n%s", test.system, test.version, code, said, diff)
		}
		if _, err := os.Stat(filepath.Join(r.dir, "holdfast", "bin", "holdfast-linux-arm64")); test.system == "macOS" && test.version != "" && err != nil {
			t.Error(err)
		}
		r.program("go", "exit 1")
		if code, _ := r.run(filepath.Join(actionDir, "build.sh")); code == 0 || strings.Count(r.read(r.output), "program") != 1 {
			t.Error("what does not build is given as built")
		}
	}
	if module := readScript(t, "go.mod"); !strings.HasPrefix(module, "module github.com/holdfast-ha/holdfast\n") {
		t.Error("the module has another name now")
	}
}

// uploaded is one artifact in GitHub's list of them.
//
// Source: https://docs.github.com/en/rest/actions/artifacts
type uploaded struct {
	ID          int         `json:"id"`
	CreatedAt   string      `json:"created_at"`
	Expired     bool        `json:"expired"`
	WorkflowRun workflowRun `json:"workflow_run"`
}

type workflowRun struct {
	ID               int    `json:"id"`
	HeadBranch       string `json:"head_branch"`
	RepositoryID     int    `json:"repository_id"`
	HeadRepositoryID int    `json:"head_repository_id"`
}

const fakeGH = `[ "$1" = api ]
case $2 in
  "repos/o/r/actions/artifacts?name=good-certificate-v1.36.3-v1.37.0&per_page=100") [ "$3" = --jq ] && jq -r "$4" < "$LIST" ;;
  repos/o/r/actions/artifacts/*/zip) cat "$RUNNER_TEMP/$(basename "$(dirname "$2")").zip" ;;
  *) exit 1 ;;
esac
`

func TestLastCertificate(t *testing.T) {
	for _, tool := range []string{"jq", "unzip"} { // GitHub's machines have both
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s on this machine: install it (apt-get install %s) to try the nightly's script, which is not tried here", tool, tool)
		}
	}
	night := func(id int, created string, edit func(*uploaded)) uploaded {
		u := uploaded{ID: id, CreatedAt: created, WorkflowRun: workflowRun{ID: id * 10, HeadBranch: "main", RepositoryID: 1, HeadRepositoryID: 1}}
		if edit != nil {
			edit(&u)
		}
		return u
	}
	const file = "certificate.json"
	for name, test := range map[string]struct {
		list  []uploaded
		holds map[int]string // the file in each artifact's archive
		want  string
		code  int
		// silent GitHub answers nothing.
		silent bool
	}{
		"the first night": {nil, nil, "found=false\n", 0, false},
		"the newest": {[]uploaded{night(2, "2026-11-19T04:00:00Z", nil), night(3, "2026-11-20T04:00:00Z", nil), night(1, "2026-11-18T04:00:00Z", nil)},
			map[int]string{3: file}, "found=true\n", 0, false},
		"the newest of our own that is still there": {[]uploaded{
			night(7, "2026-11-17T04:00:00Z", func(u *uploaded) { u.WorkflowRun.ID = 77 }), // this run's earlier attempt
			night(6, "2026-11-16T04:00:00Z", func(u *uploaded) { u.WorkflowRun.HeadRepositoryID = 2 }),
			night(5, "2026-11-15T04:00:00Z", func(u *uploaded) { u.WorkflowRun.HeadBranch = "topic" }),
			night(4, "2026-11-14T04:00:00Z", func(u *uploaded) { u.Expired = true }),
			night(3, "2026-11-13T04:00:00Z", nil),
		}, map[int]string{3: file}, "found=true\n", 0, false},
		"all are others'":        {[]uploaded{night(6, "2026-11-16T04:00:00Z", func(u *uploaded) { u.Expired = true })}, nil, "found=false\n", 0, false},
		"it cannot be had":       {[]uploaded{night(3, "2026-11-13T04:00:00Z", nil)}, nil, "", 1, false},
		"it is something else":   {[]uploaded{night(3, "2026-11-13T04:00:00Z", nil)}, map[int]string{3: "report.md"}, "", 1, false},
		"GitHub does not answer": {nil, nil, "", 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, "ARTIFACT=good-certificate-v1.36.3-v1.37.0")
			r.env = append(r.env, "INTO="+filepath.Join(r.dir, "last"), "LIST="+filepath.Join(r.dir, "list.json"))
			r.program("gh", fakeGH)
			if test.silent {
				r.program("gh", "exit 1")
			}
			text, err := json.Marshal(map[string]any{"artifacts": append([]uploaded{}, test.list...)})
			must(t, err)
			must(t, os.WriteFile(filepath.Join(r.dir, "list.json"), text, 0o644))
			for id, name := range test.holds {
				archive(t, filepath.Join(r.dir, fmt.Sprint(id, ".zip")), name)
			}
			code, said := r.run(filepath.Join(nightlyDir, "last-certificate.sh"))
			if (code != 0) != (test.code != 0) || r.read(r.output) != test.want {
				t.Errorf("ended with %d, told %q, want %q: %s", code, r.read(r.output), test.want, said)
			}
			if there := r.read(filepath.Join(r.dir, "last", file)) != ""; there != (test.want == "found=true\n") {
				t.Errorf("the certificate is there: %t", there)
			}
		})
	}
}

func archive(t *testing.T, path, name string) {
	t.Helper()
	var all bytes.Buffer
	z := zip.NewWriter(&all)
	w, err := z.Create(name)
	must(t, err)
	_, err = w.Write([]byte("{}"))
	must(t, err)
	must(t, z.Close())
	must(t, os.WriteFile(path, all.Bytes(), 0o644))
}

func TestCompareCertificates(t *testing.T) {
	const (
		head  = "## v1.36.3 to v1.37.0, compared with the last certificate\n\n"
		worse = "REGRESSION  chaos/rolling-update: was Held, is Violated\nregressed: chaos/rolling-update"
		lack  = "missing  chaos/delete-pods: was Held, is Unknown\nno regression, but evidence is missing"
		title = "::error title=v1.36.3 to v1.37.0, compared with the last certificate::"
		self  = "holdfast: see above\n" // on its other output
	)
	for name, test := range map[string]struct {
		found, told string
		ends        int
		no          bool // new certificate
		summary     string
		code        int
		said        string
	}{
		"the same": {"true", "no regression", 0, false, head + "```\nno regression\n```\n", 0, self + "no regression\n"},
		"a regression": {"true", worse, 1, false, head + "**regressed: chaos/rolling-update**\n\n```\n" + worse + "\n```\n", 1,
			self + worse + "\n" + title + "regressed: chaos/rolling-update\n"},
		"evidence is missing": {"true", lack, 5, false, head + "**no regression, but evidence is missing**\n\n```\n" + lack + "\n```\n", 5,
			self + lack + "\n" + title + "no regression, but evidence is missing\n"},
		"no certificate at all": {"true", "", 0, true, head + "Nothing to compare: this run has no certificate.\n", 1, ""},
		"the first night": {"false", "", 9, false,
			head + "Nothing to compare with: no earlier night has a certificate of these versions. This one is the first.\n", 0, ""},
		"one that cannot be read": {"true", "", 4, false, head + "**They could not be compared**\n\n```\n\n```\n", 4,
			self + "\n" + title + "They could not be compared\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, "FROM=v1.36.3", "TO=v1.37.0", "FOUND="+test.found, "TOLD="+test.told, fmt.Sprint("ENDS=", test.ends))
			last, fresh := filepath.Join(r.dir, "last"), filepath.Join(r.dir, "new")
			must(t, os.MkdirAll(fresh, 0o755))
			if !test.no {
				must(t, os.WriteFile(filepath.Join(fresh, "certificate.json"), []byte("{}"), 0o644))
			}
			program := r.program("holdfast", `[ "$*" = "diff $LAST $NEW" ]
[ -z "$TOLD" ] || printf '%s\n' "$TOLD"
echo "holdfast: see above" >&2
exit "$ENDS"`)
			r.env = append(r.env, "PROGRAM="+program, "LAST="+last, "NEW="+fresh)
			code, said := r.run(filepath.Join(nightlyDir, "compare-certificates.sh"))
			if diff := cmp.Diff([]string{test.summary, test.said}, []string{r.read(r.summary), said}); diff != "" || code != test.code {
				t.Errorf("ended with %d, want %d (-want +got):\n%s", code, test.code, diff)
			}
		})
	}
}

func TestNoCertificate(t *testing.T) {
	const certificate = "not certified; cause: late-withdrawal (in words)\n"
	for name, test := range map[string]struct {
		ends      int
		text      string
		code      int
		said, sum string
	}{
		"caught": {1, certificate, 0, "", certificate},
		"missed": {0, certificate, 1, "::error::late-kube-proxy was planted, and holdfast ended with 0, not with 1: something was violated\n", ""},
		"caught for another reason": {1, "cause: late-endpoint\n", 1,
			"::error::late-kube-proxy was planted, and the certificate does not say late-withdrawal\n", ""},
		"no cluster": {3, "", 1, "::error::late-kube-proxy was planted, and holdfast ended with 3, not with 1: something was violated\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, "PLANT=late-kube-proxy", "CAUSE=late-withdrawal", fmt.Sprint("ENDS=", test.ends), "TEXT="+test.text)
			r.program("holdfast", `[ "$*" = "certify --from a --to b --plant late-kube-proxy" ]
mkdir -p artifacts/last-attempt
printf '%s' "$TEXT" > artifacts/last-attempt/certificate.md
exit "$ENDS"`)
			code, said := r.run(filepath.Join(nightlyDir, "no-certificate.sh"), "--from", "a", "--to", "b")
			if diff := cmp.Diff([]string{test.said, test.sum}, []string{said, r.read(r.summary)}); diff != "" || code != test.code {
				t.Errorf("ended with %d, want %d (-want +got):\n%s", code, test.code, diff)
			}
		})
	}
}

// A program that ends with 0 and leaves no report has shown nothing.
func TestActionRunThatLeavesNothing(t *testing.T) {
	for _, upgrade := range []string{"", "v1.36.3"} {
		r := newRunner(t, "SCOPE=short", "SCENARIOS=", "KUBERNETES=", "FROM="+upgrade, "TO=", "PROFILE=core", "ENDS=0", "LEAVES=")
		r.env = append(r.env, "PROGRAM="+r.program("holdfast", fakeHoldfast))
		code, said := r.run(filepath.Join(actionDir, "run.sh"))
		if out := r.read(r.output); code != 3 || !strings.Contains(out, "verdict=failed\n") {
			t.Errorf("ended with %d: %s\n%s", code, said, out)
		}
	}
}
