package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/reports/trend"
)

func trendCommand() *cobra.Command {
	var last int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "trend DIR",
		Short: "Say what has moved over many nights, and fail on a regression",
		Long: `trend reads all runs and certificates below a folder, and follows the figures of each scenario over the last nights: recovery, outage,
p99, failed requests, blindness (the longest time without a request sent), missing evidence, and the shares of nights with a broken
promise and with an unknown verdict. For each figure that has moved it says since which night, from what to what, how sure that is, and what
else changed in that night: Kubernetes, the node image, holdfast, the container engine, the kernel or the CPU.

A figure has moved if the ranks of its values before and after some night differ by more than they do in permutations of the same values,
so one wild night is no trend. P is corrected for the number of figures (Holm): the probability that trend names any figure although none has
moved is at most 1 %. Small shifts need more nights than large ones. A regression is named every night, until it is older than --last.

It also names each scenario whose last night is not good, and each that is gone: it was judged in most nights and is not any more, nor on the line of
a newer Kubernetes or machine. A promise that was broken in the last night is no success, and neither is a scenario that is gone, was
never good, or has had no verdict since it was broken, an application that is not certified any more, or a last night that was killed.

Nights are compared only if they have the same application, Kubernetes minor version, timings, proxy mode, provider, engine, cluster of your own, planted
regression, number of simulated nodes, and number and architecture of cores. To compare two versions of Kubernetes, use 'holdfast certify'. A scenario that was not judged in a night has no figures
there. The probability assumes that nights do not depend on each other.

Exit codes: 0 nothing got worse; 1 a regression, or a promise was broken in the last night; 3 there is nothing to read; 4 the command line is wrong;
5 there are too few nights to tell, or something is gone, without evidence, or not whole.`,
		Example: `  holdfast trend artifacts
  holdfast trend artifacts --last 60 --json`,
		Args: oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if last < 1 {
				return exit.Usage(fmt.Errorf("--last %d: a trend needs nights; give a number above 0", last))
			}
			found, err := nightsBelow(args[0])
			if err != nil {
				return err
			}
			t := trend.Of(found, last)
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), t)
			} else {
				err = t.WriteText(cmd.OutOrStdout())
			}
			if err != nil {
				return err
			}
			return moved(t)
		},
	}
	cmd.Flags().IntVar(&last, "last", trend.DefaultLast, "look at so many nights of each kind")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// moved is the error with the exit code of a trend.
func moved(t trend.Trend) error {
	switch t.Result {
	case trend.Regression, trend.Broken:
		return exit.With(exit.Violated, errors.New(t.Summary))
	case trend.Missing, trend.TooFew:
		return exit.With(exit.Unknown, errors.New(t.Summary))
	}
	return nil
}
