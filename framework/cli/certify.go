package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/plant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// certifyFlags are what `holdfast certify` was told.
type certifyFlags struct {
	provider, from, to, timings, proxyMode, artifacts, plant string
	profiles                                                 []string
	seed                                                     uint64
	keep, keepLogs                                           bool
}

func certifyCommand(version string) *cobra.Command {
	var f certifyFlags
	cmd := &cobra.Command{
		Use:   "certify --from VERSION --to VERSION",
		Short: "Upgrade a cluster in place, under load, and certify what held before, during and after",
		Long: `certify makes a cluster of the version --from and upgrades it to --to as kubeadm documents it, node by node: the control plane with
etcd, CoreDNS and kube-proxy, then each worker (cordon, drain, kubeadm, new kubelet, Ready, uncordon). Requests of every kind flow
from before the first step until after the last. In between, with a new control plane and old workers, a rolling update and a
drain are tried. The scenarios of the profiles run on the same cluster before and after.

What was recorded becomes a certificate, for machines (certificate.json, certificate.yaml) and for people (certificate.html).
'holdfast diff' compares two of them. Not upgraded: the container runtime and the rest of a node's image.

Exit codes: 0 every profile that was asked for is certified; 1 something was Violated, or the upgrade failed; 3 the harness failed
before anything could be judged; 4 bad usage, such as an upgrade that Kubernetes does not support; 5 evidence is missing; 130 and
143 it was interrupted.`,
		Example: `  holdfast certify --from v1.36.3 --to v1.37.0
  holdfast certify --from v1.36.3 --to v1.37.0 --profile core,extended
  holdfast diff artifacts/20261121-203000 artifacts/20261122-203000`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			profiles, err := f.validate()
			if err != nil {
				return usage(err)
			}
			return f.run(cmd, version, profiles)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.provider, providerFlag, "kind", "what makes the cluster")
	flags.StringVar(&f.from, "from", "", "version that the cluster is made with, such as v1.36.3")
	flags.StringVar(&f.to, "to", "", "version that it is upgraded to, such as v1.37.0")
	flags.StringSliceVar(&f.profiles, "profile", []string{"core"}, "what is asked of the cluster: core (about five minutes a side), extended, or both")
	flags.StringVar(&f.timings, "timings", string(clusters.Stock), "stock: Kubernetes' own; or lab, which takes a node for lost in seconds, and so maybe all of them while the API server is renewed")
	flags.StringVar(&f.proxyMode, "proxy-mode", "", proxyModeHelp)
	flags.StringVar(&f.artifacts, "artifacts", "artifacts", "where the record and the certificate go")
	flags.Uint64Var(&f.seed, "seed", 0, "of all random choices; default: a new one, which the certificate names")
	flags.StringVar(&f.plant, "plant", "", "break the upgrade on purpose, to see that the certificate would catch it: "+strings.Join(plantNames(), ", "))
	flags.BoolVar(&f.keep, "keep", false, "keep the cluster; one whose upgrade failed is left as it was then")
	flags.BoolVar(&f.keepLogs, "keep-logs", false, "keep node and pod logs also of what held")
	return cmd
}

// validate returns the profiles that are asked for.
func (f certifyFlags) validate() ([]scenario.Profile, error) {
	if f.from == "" || f.to == "" {
		return nil, errors.New("certify: want --from and --to, such as --from v1.36.3 --to v1.37.0; 'holdfast image versions' lists what there is")
	}
	if err := clusters.CheckUpgrade(f.from, f.to); err != nil {
		return nil, err
	}
	spec := clusters.Spec{Zones: []string{"a"}, Profile: clusters.ProfileName(f.timings), ProxyMode: clusters.ProxyMode(f.proxyMode)}
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	if _, err := f.planted(); err != nil {
		return nil, err
	}
	return profilesOf(scenario.Profiles, f.profiles)
}

// planted is what is broken on purpose; one without a name breaks nothing.
func (f certifyFlags) planted() (plant.Plant, error) {
	if f.plant == "" {
		return plant.Plant{}, nil
	}
	return plant.Find(f.plant)
}

func plantNames() (names []string) {
	for _, p := range plant.All() {
		names = append(names, p.Name)
	}
	return names
}

// upgrade is the scenario that upgrades, with what is planted in it.
func (f certifyFlags) upgrade(p plant.Plant) (scenario.Spec, error) {
	at := func(m plant.Moment) fault.Arrange {
		if p.When != m {
			return nil
		}
		return func(ctx context.Context, t fault.Target) (func(context.Context) error, error) { return p.Cluster(ctx, t.Client) }
	}
	s, err := scenario.Upgrade(f.to, at(plant.AfterControlPlane), at(plant.BeforeWorkers))
	return p.Workload(s), err
}

// profilesOf finds profiles by their names, in the order in which they were described.
func profilesOf(all []scenario.Profile, names []string) (chosen []scenario.Profile, err error) {
	var known []string
	for _, p := range all {
		name := strings.ToLower(p.Name)
		known = append(known, name)
		if slices.ContainsFunc(names, func(asked string) bool { return strings.EqualFold(asked, name) }) {
			chosen = append(chosen, p)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, strings.ToLower(name)) {
			return nil, fmt.Errorf("profile %q: there are %s", name, strings.Join(known, ", "))
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("profile: want at least one of %s", strings.Join(known, ", "))
	}
	return chosen, nil
}

// The parts of a certification, and their folders.
const (
	beforePart  = "before"
	upgradePart = "upgrade"
	afterPart   = "after"
)

func (f certifyFlags) run(cmd *cobra.Command, version string, profiles []scenario.Profile) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	asked := scenariosOf(profiles)
	broken, err := f.planted()
	if err != nil {
		return err
	}
	for i, s := range asked {
		if s.Stock && f.timings == string(clusters.Stock) {
			s = s.InStock()
		}
		asked[i] = broken.Workload(s)
	}
	upgrade, err := f.upgrade(broken)
	if err != nil {
		return err
	}
	progress := scenario.NewProgress(out, 2*len(asked)+1)
	back, err := provider(ctx, f.provider, out, progress.Say)
	if err != nil {
		return err
	}
	releases, err := releasesOf(ctx, back, f.from, f.to)
	if err != nil {
		return err
	}
	base, err := f.settings(ctx, version, out, back, progress)
	if err != nil {
		return err
	}
	// As kubeadm has it: a controller that has heard nothing for a while must start anew, and not take all nodes for lost.
	base.LeaderElection = true
	sayTo(out)("certify %s: %s to %s, about %s\n", base.RunID, f.from, f.to, 2*about(asked)+upgrade.About)
	c := &certification{certifyFlags: f, profiles: profiles, base: base, releases: releases, engine: back.engine, ctx: ctx, out: out}
	parts := []scenario.Part{
		{Name: beforePart, Settings: c.part(beforePart, f.from), Chosen: asked},
		{Name: upgradePart, Settings: c.part(upgradePart, f.from), Chosen: []scenario.Spec{upgrade}},
		{Name: afterPart, Settings: c.part(afterPart, f.to), Chosen: asked},
	}
	_, err = scenario.RunParts(ctx, parts, c.after)
	return besides(c.issue(), err, c.err)
}

// releasesOf gets what each version is made of, before anything is begun: a version that cannot be had costs no run.
func releasesOf(ctx context.Context, back backing, versions ...string) (all []certificate.Release, err error) {
	for _, v := range versions {
		r, err := back.release(ctx, v)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// scenariosOf profiles are each run once.
func scenariosOf(profiles []scenario.Profile) (all []scenario.Spec) {
	for _, p := range profiles {
		for _, s := range p.Scenarios() {
			if !slices.ContainsFunc(all, func(other scenario.Spec) bool { return other.Name == s.Name }) {
				all = append(all, s)
			}
		}
	}
	return all
}

func (f certifyFlags) settings(ctx context.Context, version string, out io.Writer, back backing, progress *scenario.Progress) (scenario.Settings, error) {
	r := runFlags{
		provider: f.provider, scope: "full", timings: f.timings, proxyMode: f.proxyMode, artifacts: f.artifacts, seed: f.seed, keep: f.keep,
		keepLogs: f.keepLogs,
	}
	return r.settings(ctx, version, out, back, progress)
}

// certification is certify at work.
type certification struct {
	certifyFlags
	profiles []scenario.Profile
	base     scenario.Settings
	releases []certificate.Release // from, to
	engine   string
	ctx      context.Context
	out      io.Writer
	cluster  clusters.Cluster
	upgraded bool  // it was begun; whatever becomes of the cluster, no other can show it
	broken   error // a promise was, in one of the parts: the outcome of the whole, whatever can be written
	err      error
}

// part is a run of its own below the whole's folder.
func (c *certification) part(name, kubernetes string) scenario.Settings {
	s := c.base
	s.RunID, s.Dir, s.Kubernetes = s.RunID+"/"+name, filepath.Join(s.Dir, name), kubernetes
	s.LeaveBroken = c.keep && name == upgradePart
	open := s.Open
	s.Open = func(ctx context.Context, name string, spec clusters.Spec) (clusters.Cluster, error) {
		if c.upgraded {
			return nil, errors.New("the cluster that was upgraded is lost, and a new one would show nothing of an upgrade")
		}
		var err error
		c.cluster, err = open(ctx, name, spec)
		return c.cluster, err
	}
	return s
}

// after a part, whether the next one is worth its time.
func (c *certification) after(part int, f history.RunFile) bool {
	name := []string{beforePart, upgradePart, afterPart}[part]
	err := reports.WriteAll(filepath.Join(c.base.Dir, name))
	_, said := fmt.Fprintf(c.out, "\n%s: %s\n\n", name, summary(f))
	c.err = errors.Join(c.err, err, said)
	if outcome := outcomeOf(f); ExitCode(outcome) == ExitViolated {
		c.broken = outcome
	}
	if name == upgradePart {
		c.upgraded = true
		return c.cluster != nil && c.cluster.Spec().Kubernetes == c.to
	}
	return c.ctx.Err() == nil
}
