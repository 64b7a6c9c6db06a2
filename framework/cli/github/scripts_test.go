package github

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakes stand in for programs. Each writes its command line to the file asked.
var fakes = map[string]string{
	"docker": `case "$1 $2" in "login --username") cat > /dev/null ;; esac`,
	"curl":   `cp "$RELEASE/$(basename "${@: -1}")" "${@: -2:1}"`,
	"holdfast": `if [ "$1" = report ]; then exit 0; fi
if [ -n "${TEXT:-}" ]; then mkdir -p artifacts/last-attempt; echo "$TEXT" | tee artifacts/last-attempt/certificate.md; fi
while [ $# -gt 0 ] && [ "${LEAVES:-}" ]; do
  if [ "$1" = --artifacts ]; then mkdir "$2/r1"; ln -s r1 "$2/last-attempt"; echo all > "$2/r1/$LEAVES"; fi; shift
done
exit "${ENDS:-0}"`,
	"gh": `case $2 in
  download) [ -z "${FAILS:-}" ]; cp "$RELEASE"/* . ;;
  *artifacts\?name=*) jq -r "$4" <<< "$LIST" ;;
  */zip) [ -z "${FAILS:-}" ]; tar -c -C "$RELEASE" . ;;
  */contents/*) echo abc ;;
esac`,
	"unzip": `mkdir -p "${@: -1}"; tar -x -f "${@: -3:1}" -C "${@: -1}"`,
}

// night is an artifact in GitHub's list.
//
// Source: https://docs.github.com/en/rest/actions/artifacts
func night(id, branch, repository, run string) string {
	return `{"id":` + id + `,"created_at":"2026-11-0` + id + `T04:00:00Z","expired":false,"workflow_run":{"id":` + run + `,"head_branch":"` + branch +
		`","repository_id":1,"head_repository_id":` + repository + `}}`
}

// fails is any exit code but 0.
const fails = -1

const (
	actionRun = actionDir + "/run.sh"
	download  = actionDir + "/download.sh"
	compare   = ".github/nightly/compare-certificates.sh"
	planted   = ".github/nightly/no-certificate.sh"
	last      = ".github/nightly/last-certificate.sh"
	gather    = ".github/nightly/gather-nights.sh"
	trend     = ".github/nightly/trend.sh"
	pushImage = ".github/release/push-image.sh"
	pushCask  = ".github/release/push-cask.sh"
)

// A script ends as holdfast does, and what is not proven good does not pass as good.
func TestScripts(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		env    string // blank-separated
		text   string // what holdfast prints
		code   int
		want   string // in what is printed, in the outputs, or among the commands
		never  string
	}{
		"held":                     {actionRun, "LEAVES=report.md", "", 0, "verdict=held", ""},
		"violated":                 {actionRun, "ENDS=1 LEAVES=report.md", "", 1, "verdict=violated", ""},
		"a crash":                  {actionRun, "ENDS=2", "", 2, "verdict=failed", ""},
		"no evidence":              {actionRun, "", "", 3, "verdict=failed", ""},
		"a name like a flag":       {actionRun, "SCENARIOS=--keep ENDS=4", "", 4, "-- --keep", ""},
		"an upgrade":               {actionRun, "FROM=v1.36.3 TO=v1.37.0 ENDS=1 LEAVES=certificate.md", "", 1, "certify --from v1.36.3 --to v1.37.0 --profile core", ""},
		"download":                 {download, "VERSION=v1.2.3", "", 0, "program=", "built from source"},
		"download, wrong sum":      {download, "VERSION=v1.2.3 SUM=0", "", 1, "is not what was published", "program="},
		"download, no sum":         {download, "VERSION=v1.2.3 SUMMED=another", "", 1, "checksums.txt says ''", "program="},
		"download, no release":     {download, "VERSION=v9.9.9", "", 0, "built from source: release v9.9.9 has no", "program="},
		"download, a path":         {download, "VERSION=v1.2.3/../../evil", "", 0, "is no release", "program="},
		"no regression":            {compare, "FOUND=true NEW=DIR/release", "no regression", 0, "", "::error"},
		"a regression":             {compare, "FOUND=true NEW=DIR/release FROM=v1 TO=v2 ENDS=1", "regressed: chaos/x", 1, "::error title=v1 to v2, compared with the last certificate::regressed: chaos/x", ""},
		"planted and caught":       {planted, "ENDS=1", "cause: late-withdrawal", 0, "", "::error"},
		"planted and missed":       {planted, "ENDS=0", "cause: late-withdrawal", 1, "ended with 0, not with 1", ""},
		"another cause":            {planted, "ENDS=1", "cause: late-endpoint", 1, "does not say late-withdrawal", ""},
		"the newest certificate":   {last, "LIST={\"artifacts\":[" + night("1", "main", "1", "5") + "," + night("2", "main", "1", "6") + "," + night("3", "topic", "1", "7") + "]}", "", 0, "artifacts/2/zip", ""},
		"a fork's, and this run's": {last, "LIST={\"artifacts\":[" + night("1", "main", "2", "5") + "," + night("2", "main", "1", "77") + "]}", "", 0, "found=false", "/zip"},
		"one that cannot be had":   {last, "FAILS=1 LIST={\"artifacts\":[" + night("1", "main", "1", "5") + "]}", "", fails, "", "found="},
		"ours among the nights":    {gather, "LIST={\"artifacts\":[" + night("1", "main", "1", "5") + "," + night("2", "main", "2", "6") + "]}", "", 0, "artifacts/1/zip", "artifacts/2"},
		"a night cannot be had":    {gather, "FAILS=1 LIST={\"artifacts\":[" + night("1", "main", "1", "5") + "]}", "", fails, "", ""},
		"too few nights":           {trend, "ENDS=5", "too few nights to tell", 0, "::notice", ""},
		"a scenario is gone":       {trend, "ENDS=5", "1 scenario gone", 5, "::error", ""},
		"push":                     {pushImage, "", "", 0, "docker push registry.example.com/team/holdfast:v1.2.3-arm64", ""},
		"push, wrong sum":          {pushImage, "SUM=0", "", fails, "", "docker"},
		"a cask":                   {pushCask, "TAP_TOKEN=t", "", 0, "--raw-field sha=abc", ""},
		"a cask of a pre-release":  {pushCask, "TAP_TOKEN=t GITHUB_REF_NAME=v1.2.3-rc.1", "", 0, "the tap stays as it is", "--method"},
		"a tap without a token":    {pushCask, "TAP_TOKEN=", "", 0, "the tap stays as it is", "--method"},
		"no cask":                  {pushCask, "TAP_TOKEN=t FAILS=1", "", fails, "", "--method"},
	} {
		t.Run(name, func(t *testing.T) {
			code, said := runScript(t, test.script, append(strings.Fields(test.env), "TEXT="+test.text))
			if code != test.code && (test.code != fails || code == 0) || !strings.Contains(said, test.want) || test.never != "" && strings.Contains(said, test.never) {
				t.Errorf("exit code %d, want %d, %q and not %q:\n%s", code, test.code, test.want, test.never, said)
			}
		})
	}
}

// runScript runs a script as on a machine of GitHub's. It returns what was printed, the outputs of the step, and the commands of the stand-ins.
func runScript(t *testing.T, script string, env []string) (code int, said string) {
	t.Helper()
	dir := t.TempDir()
	bin, release := filepath.Join(dir, "bin"), filepath.Join(dir, "release")
	must(t, os.MkdirAll(bin, 0o755))
	must(t, os.MkdirAll(release, 0o755))
	for name, text := range fakes {
		text = "#!/usr/bin/env bash\nset -euo pipefail\n" + `echo "` + name + ` $*" >> "$RUNNER_TEMP/asked"` + "\n" + text + "\n"
		must(t, os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(release, "holdfast"), []byte("#!/bin/sh\necho holdfast.local/holdfast:abc\n"), 0o755))
	set := map[string]string{}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		set[name] = strings.ReplaceAll(value, "DIR", dir)
	}
	sums := ""
	for _, platform := range []string{"linux_amd64", "linux_arm64"} {
		archive := "holdfast_1.2.3_" + platform + ".tar.gz"
		must(t, exec.CommandContext(t.Context(), "tar", "-czf", filepath.Join(release, archive), "-C", release, "holdfast").Run())
		sum := sha256.Sum256([]byte(readText(t, filepath.Join(release, archive))))
		sums += cmp.Or(set["SUM"], hex.EncodeToString(sum[:])) + "  " + cmp.Or(set["SUMMED"], archive) + "\n"
	}
	for name, text := range map[string]string{"checksums.txt": sums, "certificate.json": "{}", "holdfast.rb": "{}"} {
		must(t, os.WriteFile(filepath.Join(release, name), []byte(text), 0o644))
	}
	path, err := filepath.Abs(script)
	must(t, err)
	cmd := exec.CommandContext(t.Context(), "bash", path)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "RUNNER_TEMP="+dir, "RELEASE="+release, "PROGRAM=holdfast",
		"GITHUB_OUTPUT="+dir+"/output", "GITHUB_STEP_SUMMARY="+dir+"/summary", "GITHUB_REPOSITORY=o/r", "GITHUB_REF_NAME=main", "GITHUB_RUN_ID=77",
		"GITHUB_SERVER_URL=https://example.com", "RUNNER_OS=Linux", "RUNNER_ARCH=X64", "VERSION=", "REF=v1.2.3",
		"SCOPE=short", "SCENARIOS=", "KUBERNETES=", "FROM=", "TO=", "PROFILE=core", "ARTIFACT=a", "INTO="+dir+"/into", "LAST="+dir, "NIGHTS="+dir,
		"PLANT=late-kube-proxy", "CAUSE=late-withdrawal", "ARCH=arm64", "REPOSITORY=registry.example.com/team/holdfast", "LOGIN=u", "PASSWORD=secret",
		"IMAGE=registry.example.com/team/holdfast:v1.2.3", "TAP=o/homebrew-tap", "GH_TOKEN=g")
	if strings.Contains(script, "release/") {
		cmd.Env = append(cmd.Env, "GITHUB_REF_NAME=v1.2.3")
	}
	for name, value := range set {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, _ := cmd.CombinedOutput() // the exit code follows
	said = string(out)
	for _, name := range []string{"output", "asked"} {
		text, _ := os.ReadFile(filepath.Join(dir, name)) // not there if nothing was written
		said += string(text)
	}
	return cmd.ProcessState.ExitCode(), said
}
