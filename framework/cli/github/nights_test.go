package github

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// files lists the files below a folder, with slashes.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	must(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	}))
	return names
}

func TestKeepNight(t *testing.T) {
	r := newRunner(t)
	tonight, keep := filepath.Join(r.dir, "tonight"), filepath.Join(r.dir, "keep")
	r.env = append(r.env, "TONIGHT="+tonight, "KEEP="+keep)
	must(t, os.MkdirAll(tonight, 0o755))
	if code, said := r.run(filepath.Join(nightlyDir, "keep-night.sh")); code == 0 || !strings.Contains(said, "::error::no job of this night has left a run or a certificate") {
		t.Errorf("without anything to keep: ended with %d: %s", code, said)
	}
	for _, name := range []string{
		"run-v1.37.0/r 1/run.json", "run-v1.37.0/r 1/report.json", "run-v1.37.0/r 1/report.html", "run-v1.37.0/r 1/chaos/a/events.jsonl", "run-v1.37.0/latest/report.json",
		"run-v1.37.0/last-attempt/run.json", "run-v1.37.0/latest/report.html", "certificate-a/c1/certificate.json", "certificate-a/c1/certificate.html",
		"certificate-a/c1/certificate.md",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(tonight, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(tonight, name), []byte(name), 0o644))
	}
	if code, said := r.run(filepath.Join(nightlyDir, "keep-night.sh")); code != 0 {
		t.Fatalf("ended with %d: %s", code, said)
	}
	want := []string{
		"certificate-a/c1/certificate.html", "certificate-a/c1/certificate.json", "run-v1.37.0/r 1/report.html", "run-v1.37.0/r 1/report.json",
		"run-v1.37.0/r 1/run.json",
	}
	if diff := cmp.Diff(want, files(t, keep)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestGatherNights(t *testing.T) {
	for _, tool := range []string{"jq", "unzip"} { // GitHub's machines have both
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s on this machine: install it (apt-get install %s) to try the nightly's script, which is not tried here", tool, tool)
		}
	}
	night := func(id int, edit func(*uploaded)) uploaded {
		u := uploaded{ID: id, WorkflowRun: workflowRun{ID: id * 10, HeadBranch: "main", RepositoryID: 1, HeadRepositoryID: 1}}
		edit(&u)
		return u
	}
	mine := func(*uploaded) {}
	for name, test := range map[string]struct {
		list []uploaded
		want []string
		ok   bool
	}{
		"the first night": {nil, nil, true},
		"ours, of earlier nights": {[]uploaded{
			night(1, mine), night(2, mine), night(3, func(u *uploaded) { u.Expired = true }), night(4, func(u *uploaded) { u.WorkflowRun.HeadBranch = "topic" }),
			night(5, func(u *uploaded) { u.WorkflowRun.HeadRepositoryID = 2 }), night(6, func(u *uploaded) { u.WorkflowRun.ID = 77 }),
		}, []string{"1/report.json", "2/report.json"}, true},
		"one that cannot be had": {[]uploaded{night(1, mine), night(9, mine)}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, "ARTIFACT=night-reports")
			into := filepath.Join(r.dir, "nights")
			r.env = append(r.env, "INTO="+into, "LIST="+filepath.Join(r.dir, "list.json"))
			r.program("gh", strings.ReplaceAll(fakeGH, "good-certificate-v1.36.3-v1.37.0", "night-reports"))
			text, err := json.Marshal(map[string]any{"artifacts": append([]uploaded{}, test.list...)})
			must(t, err)
			must(t, os.WriteFile(filepath.Join(r.dir, "list.json"), text, 0o644))
			for id := range 7 {
				archive(t, filepath.Join(r.dir, fmt.Sprint(id, ".zip")), "report.json")
			}
			code, said := r.run(filepath.Join(nightlyDir, "gather-nights.sh"))
			if (code == 0) != test.ok {
				t.Fatalf("ended with %d: %s", code, said)
			}
			if got := files(t, into); test.ok && !slices.Equal(got, test.want) {
				t.Errorf("gathered %q, want %q", got, test.want)
			}
		})
	}
}

func TestTrendOfTheNights(t *testing.T) {
	const head = "## The last nights\n\n```\n"
	for name, test := range map[string]struct {
		ends, code int
		last       string // line
		said       string
	}{
		"nothing moved":     {0, 0, "the last line", ""},
		"a regression":      {1, 1, "the last line", "::error title=The last nights::the last line\n"},
		"too few nights":    {5, 0, "too few nights to tell", "::notice title=The last nights::too few nights to tell\n"},
		"something is gone": {5, 5, "1 scenario gone", "::error title=The last nights::1 scenario gone\n"},
		"nothing is said":   {5, 5, "", "::error title=The last nights::a line\n"},
		"nothing was found": {3, 3, "the last line", "::error title=The last nights::the last line\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, fmt.Sprint("ENDS=", test.ends), "LAST="+test.last)
			folder := filepath.Join(r.dir, "nights")
			must(t, os.MkdirAll(folder, 0o755))
			program := r.program("holdfast", `if [ "$1" = report ]; then [ "$*" = "report $NIGHTS --index" ]; exit 0; fi
[ "$*" = "trend $NIGHTS" ]
printf '%s\n' "a line" ${LAST:+"$LAST"}
exit "$ENDS"`)
			r.env = append(r.env, "PROGRAM="+program, "NIGHTS="+folder)
			code, said := r.run(filepath.Join(nightlyDir, "trend.sh"))
			text := strings.TrimSuffix("a line\n"+test.last, "\n") + "\n"
			got := []string{r.read(r.summary), r.read(filepath.Join(folder, "trend.txt")), said}
			want := []string{head + text + "```\n", text, text + test.said}
			if diff := cmp.Diff(want, got); diff != "" || code != test.code {
				t.Errorf("ended with %d, want %d (-want +got):\n%s", code, test.code, diff)
			}
		})
	}
}
