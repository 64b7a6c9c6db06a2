package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/base/self"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/run/intent"
	"github.com/holdfast-ha/holdfast/framework/run/launch"
	"github.com/holdfast-ha/holdfast/framework/run/recording"
	"github.com/holdfast-ha/holdfast/framework/run/session"
	"github.com/holdfast-ha/holdfast/framework/safety/reading"
	"github.com/holdfast-ha/holdfast/framework/safety/show"
)

// disturbFlags are those of `holdfast test` for a cluster that holdfast did not make.
type disturbFlags struct {
	cluster                  *existing.Flags
	disturb                  bool
	image, from              string
	steady, recover, settled time.Duration
}

// disturbHelp is the part of the help of `holdfast test` about these flags.
const disturbHelp = `With --disturb and --context, the application is tested where it runs already, in a cluster that holdfast did not make. 'holdfast plan' shows
beforehand what would be done. Nothing is done unless every rule of safety allows all of it; 'holdfast plan --help' lists the rules. Each fault is
announced by Events, written down in the cluster before it happens, and undone. If this process is gone, a healer in the cluster undoes it after 30
seconds, and 'holdfast heal --context' does at any time. An administrator gives the rights with what 'holdfast rbac' prints.
`

// Add adds the flags.
func (f *disturbFlags) Add(set *pflag.FlagSet) {
	f.cluster = clusterFlags()
	f.cluster.AddFew(set)
	set.BoolVar(&f.disturb, "disturb", false, "with --context: disturb the application that runs in that cluster, as 'holdfast plan' shows")
	set.StringVar(&f.image, "holdfast-image", "", "with --disturb: reference of an image of this holdfast, which the nodes have or can pull")
	set.StringVar(&f.from, "load", string(history.LoadInside), "with --disturb: where requests are sent from: inside (pods of the cluster), outside (here), or both")
	set.DurationVar(&f.steady, "steady", recording.DefaultBefore, "with --disturb: how long to record before each fault")
	set.DurationVar(&f.recover, "recover", recording.DefaultRecover, "with --disturb: how long the application may take to recover")
	set.DurationVar(&f.settled, "settled", recording.DefaultSettled, "with --disturb: how long every workload must have been settled before the next fault")
}

// Flags that have a meaning with --disturb only, and without it only.
var (
	disturbOnly    = []string{"context", "kubeconfig", "holdfast-image", "load", "steady", "recover", "settled"}
	notWithDisturb = []string{
		"cluster", providerFlag, "kubernetes", "timings", "proxy-mode", "keep-logs", "fix", "ablate", "times", "watch", "image", "pull", "secrets", "before",
	}
)

// Wanted reports whether a cluster that holdfast did not make is meant, and returns an error for flags that do not fit together.
func (f *disturbFlags) Wanted(set *pflag.FlagSet) (bool, error) {
	if !f.disturb {
		if name := given(set, disturbOnly); name != "" {
			return false, fmt.Errorf("%s without --disturb: it is for an application that runs in a cluster of a kubeconfig; 'holdfast plan' shows what would be done", name)
		}
		return false, nil
	}
	if name := given(set, notWithDisturb); name != "" {
		return true, fmt.Errorf("%s with --disturb: it is for a cluster that holdfast makes", name)
	}
	switch from := history.LoadFrom(f.from); {
	case from != history.LoadInside && from != history.LoadOutside && from != history.LoadBoth:
		return true, fmt.Errorf("--load %s: want inside, outside or both", f.from)
	case f.steady < 0 || f.recover <= 0 || f.settled <= 0:
		return true, errors.New("--steady must not be negative, and --recover and --settled must be positive")
	case f.image == "":
		return true, session.ErrNoImage
	}
	return true, f.cluster.Named()
}

// Run plans, shows the plan, carries it out, and reports.
func (f *disturbFlags) Run(cmd *cobra.Command, version string, c testFlags) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	access, err := f.cluster.Open()
	if err != nil {
		return exit.Usage(err)
	}
	reader, err := reading.New(access)
	if err != nil {
		return err
	}
	c.Seed = launch.Seed(c.Seed)
	asked, err := intent.Read(ctx, c.Choice, reader, intent.Options{Context: f.cluster.Context(), Disturb: true, Seed: c.Seed})
	var unanswered *reading.UnansweredError
	switch {
	case errors.As(err, &unanswered):
		return access.Explain(err)
	case err != nil:
		return exit.Unread(err)
	}
	s, err := session.Open(ctx, session.Options{
		Access: access, Intent: asked, Image: f.image, From: history.LoadFrom(f.from), Workers: c.LoadWorkers, Before: f.steady, Recover: f.recover, Settled: f.settled,
		Out: out, Say: sayTo(out),
	})
	if err != nil {
		return err
	}
	if err := show.Of(s.Plan, s.Facts).Text(out); err != nil {
		return err
	}
	if s.Plan.Refused() {
		return exit.With(exit.Unknown, session.ErrRefused)
	}
	id, dir, err := launch.NewFolder(c.Artifacts)
	if err != nil {
		return err
	}
	file, err := s.Run(ctx, recording.Run{ID: id, Dir: dir, Holdfast: version, Seed: c.Seed, Args: os.Args[1:], Again: againCommand(append([]string{"holdfast", "test"}, cmd.Flags().Args()...), cmd.Flags(), nil, "--seed", fmt.Sprint(c.Seed))}, self.CommandLine())
	if len(file.Scenarios) == 0 { // nothing was begun
		return err
	}
	_, _ = fmt.Fprintln(out)
	writeRecorded(out, file)
	return report(out, dir, file, err, runfolder.PointLatest(c.Artifacts, id))
}
