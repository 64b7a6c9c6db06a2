package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/run/launch"
)

// resumed are the flags of the command that began the run named by --resume. They differ from f only in what that command
// and its seed determine.
func (f runFlags) resumed(cmd *cobra.Command) (runFlags, error) {
	var others []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains([]string{"resume", "artifacts", "cluster", "verbose"}, flag.Name) {
			others = append(others, "--"+flag.Name)
		}
	})
	if len(f.Names)+len(others) > 0 {
		return f, exit.Usage(fmt.Errorf("--resume with %q: a resumed run has the scenarios and settings that it was begun with", append(others, f.Names...)))
	}
	dir, file, err := launch.Interrupted(f.Artifacts, f.resume)
	if err != nil {
		return f, err
	}
	begun, err := begunAs(file.Args)
	if err != nil {
		return f, fmt.Errorf("resume run %s: %w", file.ID, err)
	}
	artifacts, named := strings.CutSuffix(dir, string(filepath.Separator)+filepath.FromSlash(file.ID)) // a round's ID has two parts
	begun.Artifacts, begun.Seed, begun.begun, begun.repeat = artifacts, file.Seed, &file, 1
	if f.Cluster != begun.Cluster { // a record may come from another person: it reaches no cluster that the caller does not name
		return f, exit.Usage(fmt.Errorf("resume run %s: it used cluster %q, and --cluster says %q: name the same one", file.ID, begun.Cluster, f.Cluster))
	}
	if !named {
		return f, fmt.Errorf("resume run %s: its folder was renamed to %s", file.ID, filepath.Base(dir))
	}
	return begun, nil
}

// begunAs are the flags of a `holdfast run` with these arguments.
func begunAs(args []string) (runFlags, error) {
	var f runFlags
	i := slices.Index(args, "run")
	if i < 0 {
		return f, fmt.Errorf("it was begun by 'holdfast %q', and only 'holdfast run' can be resumed", args)
	}
	cmd := &cobra.Command{}
	f.own(cmd)
	cmd.Flags().BoolP("verbose", "v", false, "")
	if err := cmd.ParseFlags(slices.Concat(args[:i], args[i+1:])); err != nil {
		return f, err
	}
	f.Names = cmd.Flags().Args()
	return f, nil
}
