package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/run/launch"
	"github.com/holdfast-ha/holdfast/framework/run/recording"
)

// requestFlags say which requests are sent.
var requestFlags = []string{"probes", "rate", "url"}

// besideResume are the flags that may be given with --resume, beside those of the cluster.
var besideResume = append([]string{"artifacts", "resume", "verbose"}, requestFlags...)

// goOn goes on with the recording that --resume names. A record may come from another person: it says what was recorded, and for how long. Which cluster
// is asked, as whom, and what requests are sent, the caller says.
func (f *recordFlags) goOn(cmd *cobra.Command, version string, command []string) error {
	may := pflag.NewFlagSet("cluster", pflag.ContinueOnError)
	clusterFlags().Add(may)
	var others []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if may.Lookup(flag.Name) == nil && !slices.Contains(besideResume, flag.Name) {
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
	begun, err := recordingBegunAs(file)
	if err != nil {
		return exit.Usage(fmt.Errorf("resume %s: %w", dir, err))
	}
	if err := errors.Join(f.sendsAs(begun), plainFiles(dir)); err != nil {
		return exit.Usage(fmt.Errorf("resume %s: %w", dir, err))
	}
	begun.artifacts, begun.cluster, begun.from, begun.image = filepath.Dir(dir), f.cluster, string(history.LoadOutside), ""
	o, survey, err := begun.options(cmd, nil)
	if err != nil {
		return err
	}
	s := file.Scenarios[0]
	o.Run = recording.Run{ID: file.ID, Dir: dir, Scenario: s.Name, Claim: s.Claim, Holdfast: version, Seed: file.Seed, Args: file.Args, Again: file.Reproduce}
	file, err = recording.Continue(cmd.Context(), o, survey, file, recording.Wait(begun.remaining(file)))
	return begun.finish(cmd, o, file, err)
}

// remaining is how long the recording still lasts; 0: until a signal ends it.
func (f *recordFlags) remaining(file runfolder.File) time.Duration {
	if f.span == 0 {
		return 0
	}
	return max(f.span-time.Since(file.Started), time.Millisecond)
}

// sendsAs returns an error unless the caller says again what requests the recording sent.
func (f *recordFlags) sendsAs(begun *recordFlags) error {
	if f.probes == begun.probes && f.rate == begun.rate && slices.Equal(f.urls, begun.urls) {
		return nil
	}
	words := givenFlags(begun.given, func(name string) bool { return slices.Contains(requestFlags, name) })
	if len(words) == 0 {
		return errors.New("it sent no requests: leave --url, --probes and --rate out")
	}
	return fmt.Errorf("its requests are sent again only if you say which: repeat %s", strings.Join(words, " "))
}

// plainFiles returns an error for a record through which another file would be written.
func plainFiles(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !d.Type().IsRegular() {
			err = fmt.Errorf("%s is no plain file, and no recorder makes such files: go on with a record of your own", path)
		}
		return err
	})
}

// recordingBegunAs are the flags with which a recording was begun.
func recordingBegunAs(file runfolder.File) (*recordFlags, error) {
	i := slices.Index(file.Args, "record")
	switch {
	case len(file.Scenarios) == 1 && !filepath.IsLocal(filepath.FromSlash(file.Scenarios[0].Name)):
		return nil, fmt.Errorf("its scenario %q leads out of its folder", file.Scenarios[0].Name)
	case !file.Ended.IsZero():
		return nil, errors.New("it has ended, and was judged: 'holdfast report' shows it")
	case i < 0 || len(file.Scenarios) != 1:
		return nil, fmt.Errorf("it was begun by 'holdfast %q', and is no recording", file.Args)
	}
	f := &recordFlags{cluster: clusterFlags()}
	cmd := &cobra.Command{}
	f.add(cmd)
	cmd.Flags().BoolP("verbose", "v", false, "")
	if err := cmd.ParseFlags(slices.Concat(file.Args[:i], file.Args[i+1:])); err != nil {
		return nil, err
	}
	return f, nil
}
