package cli

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
)

func TestVersionJSON(t *testing.T) {
	out, code, err := execute(t, "version", "--json")
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if code != exit.Held || err != nil || got["version"] != "v1.2.3" || got["go"] != runtime.Version() ||
		got["os"] != runtime.GOOS || got["arch"] != runtime.GOARCH {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
}

func TestDescribeBuild(t *testing.T) {
	committed := time.Date(2026, 11, 26, 18, 8, 0, 0, time.UTC)
	bare := build{Version: "v1.2.3", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	with := func(commit string, at *time.Time, modified bool) build {
		b := bare
		b.Commit, b.Committed, b.Modified = commit, at, modified
		return b
	}
	settings := func(pairs ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{}
		for i := 0; i < len(pairs); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return info
	}
	for name, test := range map[string]struct {
		info *debug.BuildInfo
		want build
	}{
		"nothing is recorded":    {nil, bare},
		"without the repository": {settings("-trimpath", "true", "CGO_ENABLED", "0"), bare},
		"a commit": {
			settings("vcs", "git", "vcs.revision", "19d2ad4", "vcs.time", "2026-11-26T18:08:00Z", "vcs.modified", "false"),
			with("19d2ad4", &committed, false),
		},
		"a changed commit": {
			settings("vcs.revision", "19d2ad4", "vcs.time", "2026-11-26T18:08:00Z", "vcs.modified", "true"),
			with("19d2ad4", &committed, true),
		},
		"no date": {settings("vcs.revision", "19d2ad4", "vcs.time", "yesterday"), with("19d2ad4", nil, false)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, describeBuild("v1.2.3", test.info)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
