package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/base/output"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/run/launch"
	"github.com/holdfast-ha/holdfast/framework/run/recording"
	"github.com/holdfast-ha/holdfast/framework/run/recording/inside"
)

// recordFlags are those of the command.
type recordFlags struct {
	cluster    *existing.Flags
	namespaces []string
	all        bool

	probes string // the file
	urls   []string
	behind []string
	from   string // history.LoadFrom
	image  string
	rate   float64
	// workers is how many load workers there are inside of the cluster.
	workers int

	span, before, recover, settled time.Duration
	artifacts, resume              string

	given *pflag.FlagSet // the flags of the command line
}

const recordLong = `record watches a cluster that is there already, while a command runs, or for some time, or until Ctrl-C. Then it says what the
record shows: what was disturbed (nodes drained, lost, replaced or upgraded, workloads rolled out or scaled, pods ended, and by whom),
and which promises held through it. If nothing was disturbed, the verdict is Unknown, because nothing was shown.

record changes nothing in the cluster. Its client sends get, list and watch requests, and no other, and none for a Secret. What the user
must not read is listed, and what depends on it is not judged. A user needs get, list and watch of pods, deployments, statefulsets,
endpointslices, poddisruptionbudgets and events in the namespace, and of nodes.

With --url, or the probes of a holdfast.yaml, it sends requests from where it runs, ten a second on each lane unless told otherwise,
and judges them, too. A server that answers with status 429 gets no more. Which pods the requests meet is inferred from the Services behind the URL. Without
a URL, nothing is promised about requests.

With --load inside, the requests come from a pod in the cluster, as those of its other applications do; with both, what differs is the
front door's doing. Then record writes to the cluster: one namespace of its own with a Job, which it removes again. The nodes pull the image of --image,
which is this program: 'holdfast image self' writes it to a file. The context must be named.

The command runs as it would without record. Its kubectl uses the recorded cluster, unless the command says otherwise. The recording
begins before it, and ends when every workload has settled after it, and every pod that was told to end has ended.

The API server may be away, credentials may expire, and this machine may sleep meanwhile: the recording goes on, and what it may have
missed is in the record. If record itself is killed, or its machine restarts, --resume goes on with a recording without a command. What
happened in between is a gap in the record. The cluster and the requests are not taken from the record: name them again, as --context,
--url and --probes do.

What is promised: no request fails through drains, rollouts and other orderly changes; after a lost node requests fail no longer than
Kubernetes needs to notice, and after a restarted container or a failed pod no longer than proxies need; evictions respect disruption budgets; each workload recovers; pods are bound where their constraints allow, and
hard spread constraints are met again.

`

// recordCommand is the command `holdfast record`.
func recordCommand(version string) *cobra.Command {
	f := recordFlags{cluster: clusterFlags()}
	cmd := &cobra.Command{
		Use:   "record [-- COMMAND [ARGUMENT ...]]",
		Short: "Record what a command does to a cluster that is there already, and judge it",
		Long:  recordLong + exit.Codes + "\nHere, 3 also means that the command failed, and Ctrl-C ends a recording without a command as --for does.",
		Example: `  holdfast record --context staging -n shop -- kubectl rollout restart deployment/web
  holdfast record --context staging -n shop --url https://shop.example.com/ -- ./upgrade-nodes.sh
  holdfast record --context prod -A --for 24h
  holdfast record --context prod --resume last-attempt
  holdfast record --context staging --url http://web.shop/ --load inside --image reg/hf:1 -- ./up.sh
  holdfast record -n shop --probes holdfast.yaml -- kubectl drain node-7 --ignore-daemonsets`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 && len(args) > 0 {
				return exit.Usage(fmt.Errorf("unexpected argument %q: the command comes after --, as in 'holdfast record -- kubectl rollout restart deployment/web'", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			recording.KeepSmall()
			if f.resume != "" {
				return f.goOn(cmd, version, args)
			}
			if err := f.validate(args); err != nil {
				return exit.Usage(err)
			}
			return f.run(cmd, version, args)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *recordFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.given = flags
	f.cluster.Add(flags)
	flags.StringSliceVarP(&f.namespaces, "namespace", "n", nil, "record this namespace, or these; default: that of the context")
	flags.BoolVarP(&f.all, "all-namespaces", "A", false, "record all namespaces")
	flags.StringVar(&f.probes, "probes", "", "send the requests of the probes in this holdfast.yaml")
	flags.StringSliceVar(&f.urls, "url", nil, "URL that requests are sent to (http, https, ws, wss, tcp); can be repeated")
	flags.StringSliceVar(&f.behind, "behind", nil, "Service behind which the requests end, as NAMESPACE/NAME, where the cluster's objects do not tell; can be repeated")
	flags.StringVar(&f.from, "load", string(history.LoadOutside), "where requests are sent from: outside (where record runs), inside (pods of the cluster), or both")
	flags.StringVar(&f.image, "image", "", "with --load inside or both: reference of an image of this holdfast, which the nodes can pull")
	flags.IntVar(&f.workers, "load-workers", 1, "with --load inside or both: pods that send the requests")
	flags.Float64Var(&f.rate, "rate", recording.Rate, "requests a second on each lane of --url")
	flags.DurationVar(&f.span, "for", 0, "without a command: how long to record; default: until Ctrl-C")
	flags.DurationVar(&f.before, "before", recording.DefaultBefore, "how long to record before the command begins")
	flags.DurationVar(&f.recover, "recover", recording.DefaultRecover, "how long a workload may take to recover")
	flags.DurationVar(&f.settled, "settled", recording.DefaultSettled, "how long every workload must have been settled before the recording ends; promises look 30s ahead")
	flags.StringVar(&f.artifacts, "artifacts", "artifacts", "folder of the records and the report")
	flags.StringVar(&f.resume, "resume", "", "go on with a recording whose recorder was killed: its ID below --artifacts, last-attempt, or its folder; name the cluster again")
}

func (f *recordFlags) validate(command []string) error {
	switch {
	case f.all && len(f.namespaces) > 0:
		return errors.New("--all-namespaces with --namespace: choose one")
	case f.span != 0 && len(command) > 0:
		return errors.New("--for with a command: the recording ends after the command")
	case len(command) > 0 && f.cluster.Beside() != "":
		return fmt.Errorf("%s with a command: the command's kubectl would use the cluster of the context; make a context for this cluster", f.cluster.Beside())
	case f.span < 0 || f.before < 0 || f.recover <= 0 || f.settled <= 0:
		return errors.New("--for and --before must not be negative, and --recover and --settled must be positive")
	case f.span > load.MaxDuration && (len(f.urls) > 0 || f.probes != ""):
		return fmt.Errorf("--for %s with requests: they are sent for at most %s", f.span, load.MaxDuration)
	case f.rate <= 0:
		return fmt.Errorf("--rate %g: want requests a second", f.rate)
	case len(f.behind) > 0 && len(f.urls) == 0 && f.probes == "":
		return errors.New("--behind without --url or --probes: no requests are sent")
	}
	if err := f.validateLoad(); err != nil {
		return err
	}
	return recording.CheckBehind(f.behind)
}

// validateLoad returns an error for load that cannot be sent. To make its workers is a write, for which the cluster must be named.
func (f *recordFlags) validateLoad() error {
	within := f.from == string(history.LoadInside) || f.from == string(history.LoadBoth)
	switch {
	case !within && f.from != string(history.LoadOutside):
		return fmt.Errorf("--load %s: want outside, inside or both", f.from)
	case !within && (f.image != "" || f.workers != 1):
		return errors.New("--image and --load-workers are for --load inside or both")
	case !within:
		return nil
	case len(f.urls) == 0 && f.probes == "":
		return errors.New("--load without --url or --probes: no requests are sent")
	case f.image == "":
		return inside.ErrNoImage
	case f.workers < 1:
		return fmt.Errorf("--load-workers %d: want at least 1", f.workers)
	}
	return f.cluster.Named()
}

func (f *recordFlags) run(cmd *cobra.Command, version string, command []string) error {
	ctx := cmd.Context()
	o, survey, err := f.options(cmd, command)
	if err != nil {
		return err
	}
	id, dir, err := launch.NewFolder(f.artifacts)
	if err != nil {
		return err
	}
	o.Run = recording.Run{
		ID: id, Dir: dir, Holdfast: version, Seed: launch.Seed(0), Args: os.Args[1:], Again: recordAgain(f.given, command),
		Scenario: "record/" + scopeName(o.Namespaces), Claim: claim(o),
	}
	body, done, err := f.body(cmd, o.Access, command)
	if err != nil {
		return err
	}
	defer done()
	file, err := recording.RecordKnown(ctx, o, survey, body)
	return f.finish(cmd, o, file, err)
}

// options say what is recorded, and what is known of the cluster, which is told.
func (f *recordFlags) options(cmd *cobra.Command, command []string) (o recording.Options, survey recording.Survey, err error) {
	access, err := f.cluster.Open()
	if err != nil {
		return o, survey, exit.Usage(err)
	}
	o = recording.Options{
		Access: access, Namespaces: f.scope(access), Behind: f.behind, Command: command, For: f.span, Before: f.before, Recover: f.recover, Settled: f.settled,
		Say: sayTo(cmd.ErrOrStderr()), // the standard output is the command's own, until the end
	}
	if o.Probes, o.Promised, err = f.asked(); err != nil {
		return o, survey, exit.Usage(err)
	}
	if len(o.Probes) > 0 {
		o.From = history.LoadFrom(f.from)
		o.Inside = inside.Workers(access.Config(), inside.Options{Image: f.image, Workers: f.workers, For: cmp.Or(f.span, load.MaxDuration)})
	}
	if survey, err = recording.Look(cmd.Context(), access, o.Namespaces); err == nil {
		tellRecorded(o.Say, access, survey)
	}
	return o, survey, err
}

// finish prints what was found, and writes the reports.
func (f *recordFlags) finish(cmd *cobra.Command, o recording.Options, file runfolder.File, failed error) error {
	if file.ID == "" { // nothing was recorded
		return failed
	}
	out := cmd.OutOrStdout()
	_, _ = fmt.Fprintln(out)
	writeRecorded(out, file)
	err := report(out, o.Run.Dir, file, failed, runfolder.PointLatest(f.artifacts, file.ID))
	if len(o.Command) == 0 { // a signal ends such a recording as it should
		err = exit.Final(err)
	}
	return err
}

// body is what happens meanwhile.
func (f *recordFlags) body(cmd *cobra.Command, access *existing.Access, command []string) (recording.Body, func(), error) {
	if len(command) == 0 {
		return recording.Wait(f.span), func() {}, nil
	}
	environ, remove, err := recording.Environ(access.Context, f.cluster.Kubeconfig())
	if err != nil {
		return nil, nil, fmt.Errorf("prepare the command: %w", err)
	}
	streams := recording.Streams{In: cmd.InOrStdin(), Out: output.Raw(cmd.OutOrStdout()), Err: output.Raw(cmd.ErrOrStderr())}
	return recording.Command(command, environ, streams), remove, nil
}

// scope are the namespaces that are recorded; none: all.
func (f *recordFlags) scope(access *existing.Access) []string {
	switch {
	case f.all:
		return nil
	case len(f.namespaces) == 0:
		return []string{access.Namespace}
	}
	slices.Sort(f.namespaces)
	return slices.Compact(f.namespaces)
}

// asked are the probes of the file and of the URLs, and what the file promises of their requests.
func (f *recordFlags) asked() (probes []apptest.Probe, promises apptest.Promises, err error) {
	var file appfile.File
	if f.probes != "" {
		if file, err = appfile.Read(f.probes); err == nil && len(file.Probes) == 0 {
			err = fmt.Errorf("%s has no probes", f.probes)
		}
	}
	if err == nil {
		probes, promises, err = file.Asked(f.probes, f.urls, f.rate)
	}
	return probes, promises, cmp.Or(err, recording.CheckProbes(probes))
}

// claim is a sentence that the recording can prove false.
func claim(o recording.Options) string {
	what := "what happens to " + in(o.Namespaces)
	if len(o.Command) > 0 {
		what = "'" + prose.Shorten(strings.Join(o.Command, " "), 80) + "'"
	}
	return what + " is invisible to clients, and respects the budgets and constraints of " + in(o.Namespaces)
}

func in(namespaces []string) string {
	switch len(namespaces) {
	case 0:
		return "all namespaces"
	case 1:
		return "namespace " + namespaces[0]
	}
	return "namespaces " + prose.List(namespaces)
}

func scopeName(namespaces []string) string {
	if len(namespaces) == 0 {
		return "all-namespaces"
	}
	return strings.Join(namespaces, "-")
}

// recordAgain is the command that records the same again.
func recordAgain(given *pflag.FlagSet, command []string) string {
	words := []string{againCommand([]string{"holdfast", "record"}, given, nil)}
	if len(command) > 0 {
		words = append(words, "--")
	}
	for _, word := range command {
		words = append(words, audit.Word(word))
	}
	return strings.Join(words, " ")
}

// tellRecorded says which cluster is recorded, as whom, what was found out about it, and what cannot be watched.
func tellRecorded(say func(string, ...any), access *existing.Access, s recording.Survey) {
	who := cmp.Or(s.Identity.User, "a user whom the API server does not name")
	say("cluster %s, read as %s", access, who)
	if s.Identity.UID != "" {
		say("  %-14s %s", "UID", s.Identity.UID)
	}
	for _, f := range s.Facts {
		say("  %-14s %s", f.Name, f)
	}
	for _, n := range s.NotWatched {
		say("not watched: %s: %s", n.What, n.Why)
	}
}
