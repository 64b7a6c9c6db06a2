package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/base/output"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/run/certify"
	"github.com/holdfast-ha/holdfast/framework/run/launch"
	"github.com/holdfast-ha/holdfast/framework/run/recording"
	"github.com/holdfast-ha/holdfast/framework/run/session"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// runningFlags are the flags of `holdfast certify --upgrade`, which certifies the upgrade of a cluster that holdfast did not make.
type runningFlags struct {
	cluster    *existing.Flags
	upgrade    string
	namespaces []string
	urls       []string
	behind     []string
	recover    time.Duration
	disturb    bool
	image      string
}

func (f *runningFlags) add(cmd *cobra.Command) {
	f.cluster = clusterFlags()
	flags := cmd.Flags()
	f.cluster.AddFew(flags)
	flags.StringVar(&f.upgrade, "upgrade", "", "with --context: the shell command that upgrades that cluster, which is recorded")
	flags.StringSliceVarP(&f.namespaces, "namespace", "n", nil, "with --upgrade: record this namespace, or these; default: that of the context")
	flags.StringSliceVar(&f.urls, "url", nil, "with --upgrade: URL that requests are sent to; can be repeated")
	flags.StringSliceVar(&f.behind, "behind", nil, "with --upgrade: Service behind which the requests end, as NAMESPACE/NAME, where the cluster's objects do not tell")
	flags.BoolVar(&f.disturb, "disturb", false, "with --upgrade: disturb the application before and after it, as 'holdfast test --disturb' does, as far as the rules of safety allow")
	flags.StringVar(&f.image, "holdfast-image", "", "with --disturb: reference of an image of this holdfast, which the nodes have or can pull")
	flags.DurationVar(&f.recover, "recover", recording.DefaultRecover, "with --upgrade: how long a workload may take to recover")
}

// Flags that have a meaning with --upgrade only, and without it only.
var (
	runningOnly    = []string{"upgrade", "context", "kubeconfig", "namespace", "url", "behind", "recover", "disturb", "holdfast-image"}
	notWithUpgrade = []string{"from", "to", "plant", "profile", providerFlag, "timings", "proxy-mode", "keep", "keep-logs"}
)

// given is the first of some flags that the command line has; empty: it has none.
func given(flags *pflag.FlagSet, names []string) string {
	i := slices.IndexFunc(names, flags.Changed)
	if i < 0 {
		return ""
	}
	return "--" + names[i]
}

// without returns an error for flags that would mean nothing, because there is no --upgrade.
func (f *runningFlags) without(flags *pflag.FlagSet) error {
	if name := given(flags, runningOnly); name != "" {
		return fmt.Errorf("%s without a command in --upgrade: it is for the upgrade of a cluster that is there already", name)
	}
	return nil
}

// validate returns an error for flags that do not fit together. To upgrade is to write, for which the cluster must be named.
func (f *runningFlags) validate(own certifyFlags, flags *pflag.FlagSet) error {
	created := given(flags, notWithUpgrade)
	switch {
	case created != "":
		return fmt.Errorf("%s with --upgrade: the cluster is there already, and the command decides what it becomes", created)
	case len(f.urls) == 0 && own.app == "":
		return errors.New("--upgrade without requests: name a URL with --url, or a holdfast.yaml with probes with --app")
	case f.cluster.Beside() != "":
		return fmt.Errorf("%s with --upgrade: the command's kubectl would use the cluster of the context; make a context for this cluster", f.cluster.Beside())
	case f.recover <= 0:
		return fmt.Errorf("--recover %s: want a time", f.recover)
	case f.disturb && own.app == "":
		return errors.New("--disturb without --app: holdfast.yaml names the cluster that may be disturbed, by the UID of its namespace kube-system")
	case f.disturb && f.image == "":
		return session.ErrNoImage
	case !f.disturb && f.image != "":
		return errors.New("--holdfast-image without --disturb: nothing of holdfast runs in the cluster")
	}
	return errors.Join(f.cluster.Named(), recording.CheckBehind(f.behind))
}

// certify certifies the upgrade of the running cluster.
func (f *runningFlags) certify(cmd *cobra.Command, version string, own certifyFlags) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	access, err := f.cluster.Open()
	if err != nil {
		return exit.Usage(err)
	}
	probes, promises, err := f.probes(own.app)
	if err != nil {
		return exit.Usage(err)
	}
	own.Seed = launch.Seed(own.Seed)
	var tries *around
	if f.disturb {
		if tries, err = f.around(ctx, access, own, out); err != nil {
			return err
		}
		probes, promises = tries.options.Intent.Probes, tries.options.Intent.Promises
	}
	if len(f.namespaces) == 0 {
		f.namespaces = []string{access.Namespace}
	}
	survey, err := recording.Look(ctx, access, f.namespaces)
	if err != nil {
		return err
	}
	id, dir, err := launch.NewFolder(own.Artifacts)
	if err != nil {
		return err
	}
	c := &certify.Existing{
		Dir: dir, ID: id, Holdfast: version, Seed: own.Seed, Reproduce: certifyAgain(cmd, own.Seed),
		Cluster: f.about(access, survey), Probes: probesOf(probes),
		Ended: func(part string, file runfolder.File) error {
			_, err := fmt.Fprintf(out, "\n%s: %s\n\n", part, summaryOf(file))
			return err
		},
	}
	run := recording.Run{ID: id, Holdfast: version, Seed: own.Seed, Args: os.Args[1:], Again: c.Reproduce}
	if c.Features, c.Refused = notAsked(); tries != nil {
		c.Features, c.Refused = tries.features, tries.refused
		c.Disturb = func(ctx context.Context, _, dir string) (runfolder.File, error) {
			run := run
			run.Dir = dir
			return tries.run(ctx, run)
		}
	}
	sayTo(out)("certify %s: the upgrade of %s by %q\n", id, access, f.upgrade)
	c.Upgrade = func(ctx context.Context, dir string) (runfolder.File, error) {
		run := run
		run.Dir, run.Scenario, run.Claim = dir, certify.UpgradeScenario, "the upgrade of the cluster is invisible to clients"
		return f.record(cmd, recording.Options{
			Access: access, Namespaces: f.namespaces, Probes: probes, Behind: f.behind, Command: []string{"sh", "-c", f.upgrade}, Recover: f.recover,
			Class: apptest.Voluntary, Promised: promises, Say: sayTo(out), Run: run,
		}, survey)
	}
	doc, violated, err := c.Run(ctx)
	return exit.Besides(certified(doc, violated), err, printCertificate(out, c.Dir, doc, err))
}

// record records the command. How it ended is in the record, and so in the certificate.
func (f *runningFlags) record(cmd *cobra.Command, o recording.Options, survey recording.Survey) (runfolder.File, error) {
	environ, remove, err := recording.Environ(o.Access.Context, f.cluster.Kubeconfig())
	if err != nil {
		return runfolder.File{}, fmt.Errorf("prepare the upgrade: %w", err)
	}
	defer remove()
	streams := recording.Streams{In: cmd.InOrStdin(), Out: output.Raw(cmd.OutOrStdout()), Err: output.Raw(cmd.ErrOrStderr())}
	file, err := recording.RecordKnown(cmd.Context(), o, survey, recording.Command(o.Command, environ, streams))
	if failed := (recording.CommandError{}); errors.As(err, &failed) {
		err = nil
	}
	return file, err
}

// probes are those of the file, and of the URLs, and what the file promises of their requests.
func (f *runningFlags) probes(file string) (probes []apptest.Probe, promises apptest.Promises, err error) {
	var read appfile.File
	if file != "" {
		if read, err = appfile.Read(fileOf(file)); err == nil && len(read.Probes)+len(f.urls) == 0 { // the upgrade would be made, and nothing be shown
			err = fmt.Errorf("%s has no probes, and no URL is named with --url", file)
		}
	}
	if err == nil {
		probes, promises, err = read.Asked(file, f.urls, 0)
	}
	return probes, promises, cmp.Or(err, recording.CheckProbes(probes))
}

func probesOf(probes []apptest.Probe) (list []certificate.ApplicationProbe) {
	for _, p := range probes {
		list = append(list, certificate.ApplicationProbe{Name: p.Name, URL: p.URL, Rate: cmp.Or(p.Rate, recording.Rate)})
	}
	return list
}

// about is what the certificate says of the cluster.
func (f *runningFlags) about(access *existing.Access, s recording.Survey) certificate.Cluster {
	c := certificate.Cluster{
		Name: access.Name(), UID: s.Identity.UID, User: s.Identity.User, Namespaces: f.namespaces, Command: f.upgrade,
		Probes: []certificate.ApplicationProbe{}, Facts: []reports.Fact{},
	}
	for _, fact := range s.Facts {
		c.Facts = append(c.Facts, reports.Fact{Name: fact.Name, Found: fact.String()})
	}
	for _, n := range s.NotWatched { // a certificate must not look as if these had been judged
		c.Facts = append(c.Facts, reports.Fact{Name: "not watched", Found: n.What + ", so that what depends on them is not judged: " + n.Why})
	}
	return c
}
