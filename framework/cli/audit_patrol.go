package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/cli/terminal"
	"github.com/holdfast-ha/holdfast/framework/patrol"
	"github.com/holdfast-ha/holdfast/framework/patrol/emit"
)

// patrolFlags are the flags of the patrol, and of what installs it.
type patrolFlags struct {
	serve      string
	every      time.Duration
	events     bool
	mostSeries int
	emit       string
	critical   string
	image      string
	namespace  string
	plain      bool
	alerts     emit.Alerts
}

// servingFlags and installingFlags are refused where they would have no effect.
var (
	singleFlags     = []string{"output", "fail-on"}
	servingFlags    = []string{"interval", "events", "max-series"}
	installingFlags = []string{"image", "patrol-namespace", "without-operator"}
	alertFlags      = []string{"alert-pending", "alert-new"}
)

func (f *patrolFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.serve, "serve", "", "audit the cluster again and again, and serve a page and metrics at this address, such as :9090")
	flags.DurationVar(&f.every, "interval", patrol.Every, "with --serve: the time from one audit to the next")
	flags.BoolVar(&f.events, "events", false, "with --serve: write an Event onto each workload with an error or a warning; needs `create` on Events")
	flags.IntVar(&f.mostSeries, "max-series", patrol.MostSeries, "with --serve: the most series with labels of workloads; what is beyond is counted")
	flags.StringVar(&f.emit, "emit", "", "print manifests, and do nothing else: "+strings.Join(emitNames(), ", "))
	flags.StringVar(&f.critical, "critical", audit.DefaultCritical, "with --emit policy: label selector of the workloads that the policy binds")
	flags.StringVar(&f.image, "image", "", "with --emit patrol: the image that has holdfast as its entry point")
	flags.StringVar(&f.namespace, "patrol-namespace", emit.Namespace, "with --emit patrol: the namespace that the patrol runs in")
	flags.BoolVar(&f.plain, "without-operator", false, "with --emit patrol: leave out the objects of the Prometheus Operator")
	flags.DurationVar(&f.alerts.Pending, "alert-pending", audit.PendingLimit, "with --emit patrol: alert when pods are Pending for longer than this")
	flags.DurationVar(&f.alerts.New, "alert-new", emit.New, "with --emit patrol: how long a single point of failure counts as new")
}

// emitters print what --emit names.
var emitters = map[string]func(f auditFlags, out io.Writer) error{
	"policy":           auditFlags.emitPolicy,
	"patrol":           auditFlags.emitPatrol,
	"patrol-rules":     func(f auditFlags, out io.Writer) error { return printed(out)(f.alerts.File()) },
	"patrol-dashboard": func(_ auditFlags, out io.Writer) error { return printed(out)(emit.Dashboard(), nil) },
}

func emitNames() []string { return []string{"policy", "patrol", "patrol-rules", "patrol-dashboard"} }

// printed writes a text, unless there is an error.
func printed(out io.Writer) func([]byte, error) error {
	return func(text []byte, err error) error {
		if err != nil {
			return exit.Usage(err)
		}
		_, err = out.Write(text)
		return err
	}
}

func (f auditFlags) emitPolicy(out io.Writer) error { return printed(out)(audit.Policy(f.critical)) }

func (f auditFlags) emitPatrol(out io.Writer) error {
	return printed(out)(emit.Patrol(emit.Options{
		Namespace: f.namespace, Image: f.image, Scope: f.scope, Every: f.every, Events: f.events, MostSeries: f.mostSeries,
		Plain: f.plain, Alerts: f.alerts,
	}))
}

// validatePatrol refuses flags that belong to another way of using the command.
func (f auditFlags) validatePatrol(cmd *cobra.Command) error {
	if f.serve != "" && f.emit != "" {
		return errors.New("--serve and --emit: give one of them")
	}
	if _, known := emitters[f.emit]; f.emit != "" && !known {
		return fmt.Errorf("emit %q: want %s", f.emit, strings.Join(emitNames(), ", "))
	}
	for _, rule := range []struct {
		flags []string
		fits  bool
		with  string
	}{
		{singleFlags, f.serve == "" && f.emit == "", "a single audit"},
		{servingFlags, f.serve != "" || f.emit == "patrol", "--serve or --emit patrol"},
		{[]string{"critical"}, f.emit == "policy", "--emit policy"},
		{installingFlags, f.emit == "patrol", "--emit patrol"},
		{alertFlags, f.emit == "patrol" || f.emit == "patrol-rules", "--emit patrol or patrol-rules"},
	} {
		if i := slices.IndexFunc(rule.flags, cmd.Flags().Changed); i >= 0 && !rule.fits {
			return fmt.Errorf("--%s is for %s", rule.flags[i], rule.with)
		}
	}
	return f.validateNumbers()
}

func (f auditFlags) validateNumbers() error {
	switch {
	case f.every < patrol.Least:
		return fmt.Errorf("interval %s: want at least %s, because each audit lists every pod", f.every, patrol.Least)
	case f.mostSeries < 0:
		return fmt.Errorf("max series %d: want 0 or more", f.mostSeries)
	}
	return f.alerts.Validate()
}

// runPatrol serves until the command is told to end.
func (f auditFlags) runPatrol(cmd *cobra.Command, version string) error {
	way, err := f.cluster.Open()
	if err != nil {
		return err
	}
	reader, err := kubernetes.NewForConfig(reading(way))
	if err != nil {
		return err
	}
	o := patrol.Options{Reader: reader, Scope: f.scope, Every: f.every, MostSeries: f.mostSeries, Version: version}
	if f.events {
		writer, err := kubernetes.NewForConfig(patrol.OnlyEvents(way.Config()))
		if err != nil {
			return err
		}
		host, _ := os.Hostname() // in a pod, its name; it is shown, and nothing depends on it
		o.Writer = patrol.NewAnnouncer(writer.EventsV1(), cmp.Or(host, "holdfast"))
	}
	listener, err := new(net.ListenConfig).Listen(cmd.Context(), "tcp", f.serve)
	if err != nil {
		return fmt.Errorf("serve at %s: %w", f.serve, err)
	}
	terminal.SayTo(cmd.ErrOrStderr())("patrol: a page at http://%s/ and metrics at /metrics; the cluster is read every %s", listener.Addr(), f.every)
	return patrol.New(o).Serve(cmd.Context(), listener)
}
