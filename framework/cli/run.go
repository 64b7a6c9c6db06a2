package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/deploy"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/run/launch"
	"github.com/holdfast-ha/holdfast/framework/run/maintenance"
	"github.com/holdfast-ha/holdfast/framework/run/progress"
	"github.com/holdfast-ha/holdfast/framework/run/provider"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports/formats"
)

// runFlags are the flags of `holdfast run`.
type runFlags struct {
	run.Options
	given    *pflag.FlagSet // the flags of the command line
	provider string
	list     bool
	resume   string          // the interrupted run
	begun    *runfolder.File // it; nil: a new run
	repeat   int             // rounds
}

// maxRounds limits --repeat: more rounds tell hardly more, and the names of their folders have three digits.
const maxRounds = 999

func runCommand(version string) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [SCENARIO ...]",
		Short: "Run scenarios on a real cluster, judge them, and write a report",
		Long: `run creates a cluster, runs scenarios on it, judges the records, and writes a report. Without arguments it runs all scenarios
of the scope. A scenario can be given by a pattern such as 'chaos/drain-*', and --label chooses by what a scenario is about. With --incident it runs the scenarios that reproduce an outage.

run removes everything that it created, also after Ctrl-C. A second Ctrl-C, at least one second after the first, ends it at once and
lists what is left. Records and reports stay in artifacts/: latest is the last run in which a scenario was judged, and last-attempt is
the last run that began.

--resume continues a run that was interrupted by Ctrl-C, a kill or a power failure. It skips the scenarios that the folder of the run has judged. The
others run, and what they left is moved to a folder set-aside-1 in the run's folder. Seed, scenarios and settings are those of the interrupted run,
which the same version of holdfast must have begun. The report and the exit code are those of the whole run.

A scenario that is Unknown because the machine of all nodes was busy, so that answers were slow, requests timed out, proxies were late or a node was
lost, runs again, once, and that run is judged.

With --time-budget 40m, a run begins with a rolling update, a drain, a killed node, a budget, a spread and a mutant of each. They always run. Of the
others it leaves out, and names, those that would not end in time at the pace of the run so far. It then ends with exit code 5, unless a promise was
broken, and --resume runs the rest.

--repeat runs the scenarios several times. Each round is a run of its own in a folder round-001, with its own seed. After each round, and after
Ctrl-C, run tells how many mutants were caught and how many good scenarios were called Violated, with the 95 % confidence intervals.
The exit code is that of all rounds together: one missed mutant makes it 1.

With --cluster, run uses the cluster of that name and runs the scenarios that fit it. If there is no such cluster, it makes the one that most
of the scenarios need. The cluster stays, so the next run begins a minute earlier. Only one run may use a cluster at a time. The Lease in the cluster's
namespace holdfast names that run.

` + exit.Codes,
		Example: `  holdfast run
  holdfast run chaos/rolling-update mutants/no-prestop
  holdfast run 'chaos/drain-*' --label gateway
  holdfast run --list
  holdfast run --scope full --kubernetes v1.36.3
  holdfast run --proxy-mode iptables
  holdfast run --time-budget 40m
  holdfast run --repeat 20 chaos/delete-pods mutants/no-prestop
  holdfast run --incident maintenance-took-us-out
  holdfast run --resume last-attempt
  holdfast run --cluster demo chaos/drain-one-worker`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Names = args
			if f.resume != "" {
				var err error
				if f, err = f.resumed(cmd); err != nil {
					return err
				}
			}
			chosen, told, err := f.Scenarios()
			if err != nil {
				return exit.Usage(err)
			}
			if f.list {
				return f.printList(cmd.OutOrStdout(), chosen)
			}
			if err := f.validate(); err != nil {
				return exit.Usage(err)
			}
			return f.run(cmd, version, chosen, told)
		},
	}
	f.own(cmd)
	cmd.ValidArgsFunction = completeScenarios
	return cmd
}

func (f runFlags) validate() error {
	switch {
	case f.repeat < 1 || f.repeat > maxRounds:
		return fmt.Errorf("--repeat %d: want 1 to %d", f.repeat, maxRounds)
	case f.repeat > 1 && f.TimeBudget > 0:
		return errors.New("--repeat with --time-budget: rounds that leave out scenarios cannot be compared")
	}
	return f.Validate()
}

// own are the flags of `holdfast run`.
func (f *runFlags) own(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Scope, "scope", "short", "short (a quarter of an hour) or full (about three hours)")
	flags.StringArrayVar(&f.Labels, "label", nil, "only scenarios with this label, such as node-kill; can be repeated; 'run --list' ends with all labels")
	flags.IntVar(&f.SimulatedNodes, "simulated-nodes", 0, "nodes without a machine in scenarios that have any; default: the scenario's own number")
	flags.IntVar(&f.SimulatedPods, "simulated-pods", 0, "pods on them; default: the scenario's own number")
	flags.IntVar(&f.repeat, "repeat", 1, "number of rounds, each a run with its own seed")
	flags.StringVar(&f.Incident, "incident", "", "run the scenarios that reproduce this outage; --list lists all incidents")
	flags.BoolVar(&f.list, "list", false, "list the scenarios and their claims, and run nothing")
	flags.DurationVar(&f.TimeBudget, "time-budget", 0, "how long the run may take, such as 40m: what tells most comes first, and scenarios that would end later are left out")
	flags.StringVar(&f.resume, "resume", "", "continue this interrupted run: its folder, or its name below --artifacts")
	f.place(cmd)
}

// place adds the flags of all commands that run scenarios: on which cluster, and where the results go.
func (f *runFlags) place(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.given = flags
	flags.StringVar(&f.provider, providerFlag, "kind", "provider of the clusters")
	flags.StringVar(&f.Cluster, "cluster", "", "use the cluster of this name, and keep it; it is made if it does not exist")
	flags.StringVar(&f.Kubernetes, "kubernetes", "", "Kubernetes version, such as v1.37.0; default: the newest available version")
	flags.StringVar((*string)(&f.Profile), "timings", "", "lab or stock, for every scenario; default: the scenario's own")
	flags.StringVar((*string)(&f.ProxyMode), "proxy-mode", "", proxyModeHelp)
	flags.IntVar(&f.LoadWorkers, "load-workers", 0, "pods that send the load, each its share of the same requests; default: the scenario's own number, mostly 1")
	flags.Float64Var(&f.LoadRate, "load-rate", 0, "share of the scenarios' rates at which requests are sent, from 0.1 to 1; default: what the machine carries, mostly 1")
	flags.StringVar(&f.Artifacts, "artifacts", "artifacts", "folder of the records and the report")
	flags.Uint64Var(&f.Seed, "seed", 0, "seed of all random choices; default: a new seed, which is in the report")
	flags.BoolVar(&f.KeepLogs, "keep-logs", false, "keep the logs of nodes and pods also if every promise held")
}

func (f runFlags) run(cmd *cobra.Command, version string, chosen []scenario.Spec, told *history.Incident) error {
	if err := maintenance.CheckHolder(f.Cluster); err != nil { // a local file, which is faster than the engine and the API server
		return err
	}
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	progress := progress.New(out, f.repeat*len(chosen))
	p, err := providerNamed(ctx, f.provider, out, progress.Say)
	if err != nil {
		return err
	}
	chosen, err = f.onCluster(ctx, p, chosen, progress.Note)
	if err != nil {
		return err
	}
	settings, err := launch.Settings(ctx, f.Options, launch.Tools{Version: version, Out: out, Provider: p, Progress: progress, Begun: f.begun})
	if err != nil {
		return err
	}
	settings.Incident, settings.Reproduce = told, f.again(settings.Seed)
	if err := tell(out, told); err != nil {
		return err
	}
	if f.repeat > 1 {
		return f.rounds(ctx, out, settings, chosen)
	}
	begin := run.Scenarios
	if f.begun != nil {
		begin = run.Resume
	}
	file, err := begin(ctx, settings, chosen)
	if len(file.Scenarios) == 0 { // no scenario was begun
		return err
	}
	err = report(out, settings.Dir, file, err)
	if file.Cut() {
		_, _ = fmt.Fprintln(out, "continue this run: holdfast run --resume "+settings.Dir)
	}
	return err
}

// again returns the command that runs one scenario again, or without a name all scenarios of the run.
func (f runFlags) again(seed uint64) func(name, kubernetes string) string {
	return func(name, kubernetes string) string {
		words, without := append([]string{"holdfast", "run"}, f.given.Args()...), []string(nil)
		if name != "" {
			words, without = []string{"holdfast", "run", name}, []string{"scope", "label", "incident"}
		}
		others := []string{"--seed", fmt.Sprint(seed)}
		if kubernetes != "" && f.Cluster == "" {
			others = append(others, "--kubernetes", kubernetes)
		}
		return againCommand(words, f.given, without, others...)
	}
}

// onCluster is launch.OnCluster. Scenarios that do not fit are a usage error.
func (f runFlags) onCluster(ctx context.Context, p provider.Provider, chosen []scenario.Spec, say func(string)) ([]scenario.Spec, error) {
	fit, err := launch.OnCluster(ctx, f.Options, p, chosen, say)
	if misfit := (*launch.MisfitError)(nil); errors.As(err, &misfit) {
		err = exit.Usage(misfit)
	}
	return fit, err
}

// report prints the summary of a run, writes its reports and prints their path. failed are earlier errors of the run. If the reports
// cannot be written, the summary is printed nevertheless, and determines the exit code. Nothing was run with manifests that are refused.
func report(out io.Writer, dir string, file runfolder.File, failed ...error) error {
	if deploy.Refused(errors.Join(failed...)) != nil {
		return exit.Usage(errors.New("the API server refuses manifests of the application; see above"))
	}
	text := "\n" + summaryOf(file) + "\n"
	err := formats.WriteAll(dir)
	if err == nil {
		text += "report: " + filepath.Join(dir, formats.HTMLFile) + "\n"
	}
	_, said := io.WriteString(out, text)
	return exit.Besides(outcomeOf(file), append(failed, err, said)...)
}

// printList prints scenarios with their claims and, if nothing was named, incidents with their symptoms, and labels.
func (f runFlags) printList(out io.Writer, specs []scenario.Spec) error {
	var b strings.Builder
	for _, s := range specs {
		fmt.Fprintf(&b, "%-45s %s\n", s.Name, s.Claim)
	}
	if f.Incident == "" && len(f.Names) == 0 {
		for _, i := range scenario.Incidents {
			fmt.Fprintf(&b, "--incident %-34s %s\n", i.Name, i.Symptom)
		}
		for _, label := range scenario.Labels(specs) {
			fmt.Fprintf(&b, "--label %s\n", label)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// tell prints the incident that a run reproduces.
func tell(out io.Writer, i *history.Incident) error {
	if i == nil {
		return nil
	}
	_, err := fmt.Fprintf(out, "incident %s\n  story:   %s\n  symptom: %s\n  cause:   %s\n  fix:     %s\n",
		i.Name, i.Story, i.Symptom, i.Cause, i.Fix)
	return err
}
