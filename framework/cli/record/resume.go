package record

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/cli/terminal"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/launch"
	"github.com/holdfast-ha/holdfast/framework/recording"
)

// goOn goes on with the recording that --resume names, as its own command line says.
func (f *flags) goOn(cmd *cobra.Command, version string, command []string, report Report) error {
	var others []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if flag.Name != "resume" && flag.Name != "artifacts" {
			others = append(others, "--"+flag.Name)
		}
	})
	if len(others)+len(command) > 0 {
		return exit.Usage(fmt.Errorf("--resume with %q: a recording goes on as it was begun", append(others, command...)))
	}
	dir, file, err := launch.Interrupted(f.artifacts, f.resume)
	if err != nil {
		return exit.Usage(err)
	}
	begun, err := begunAs(file)
	if err != nil {
		return exit.Usage(fmt.Errorf("resume %s: %w", dir, err))
	}
	begun.artifacts = filepath.Dir(dir)
	o, survey, err := begun.options(cmd, nil)
	if err != nil {
		return err
	}
	s := file.Scenarios[0]
	o.Run = recording.Run{ID: file.ID, Dir: dir, Scenario: s.Name, Claim: s.Claim, Holdfast: version, Seed: file.Seed, Args: file.Args, Again: file.Reproduce}
	file, err = recording.Continue(cmd.Context(), o, survey, file, recording.Wait(begun.remaining(file)))
	return begun.finish(cmd, o, file, err, report)
}

// remaining is how long the recording still lasts; 0: until a signal ends it.
func (f *flags) remaining(file runfolder.File) time.Duration {
	if f.span == 0 {
		return 0
	}
	return max(f.span-time.Since(file.Started), time.Millisecond)
}

// begunAs are the flags with which a recording was begun.
func begunAs(file runfolder.File) (*flags, error) {
	i := slices.Index(file.Args, "record")
	switch {
	case !file.Ended.IsZero():
		return nil, errors.New("it has ended, and was judged: 'holdfast report' shows it")
	case i < 0 || len(file.Scenarios) != 1:
		return nil, fmt.Errorf("it was begun by 'holdfast %q', and is no recording", file.Args)
	}
	f := &flags{cluster: terminal.ClusterFlags()}
	cmd := &cobra.Command{}
	f.add(cmd)
	cmd.Flags().BoolP("verbose", "v", false, "")
	if err := cmd.ParseFlags(slices.Concat(file.Args[:i], file.Args[i+1:])); err != nil {
		return nil, err
	}
	return f, nil
}
