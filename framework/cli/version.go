package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
)

func versionCommand(version string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of holdfast",
		Long: `version prints which holdfast this is. --json adds the commit and its date, where the build recorded them: a release and a build in
a clone of the repository do, 'go install' does not.`,
		Example: "  holdfast version\n  holdfast version --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, _ := debug.ReadBuildInfo()
			made := describeBuild(version, info)
			if asJSON {
				return printJSON(cmd.OutOrStdout(), made)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "holdfast %s %s %s/%s\n", made.Version, made.Go, made.OS, made.Arch)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// build says which holdfast this is.
type build struct {
	Version string `json:"version"`
	// Commit is the commit that was built; empty if the build did not record it.
	Commit string `json:"commit,omitempty"`
	// Committed is when that commit was made.
	Committed *time.Time `json:"committed,omitempty"`
	// Modified means that the source differed from the commit.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// describeBuild adds to the version what the Go toolchain recorded; info may be nil.
func describeBuild(version string, info *debug.BuildInfo) build {
	b := build{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info == nil {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			if at, err := time.Parse(time.RFC3339, s.Value); err == nil {
				b.Committed = &at
			}
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
