package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/audit/exporter"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
)

// auditFlags are the flags of `holdfast audit`.
type auditFlags struct {
	cluster        *existing.Flags
	scope          audit.Scope
	output, failOn string
	emit, critical string
	listen         string
	every          time.Duration
}

// severities by the values of --fail-on.
var severities = map[string]audit.Severity{"error": audit.Error, "warning": audit.Warning, "note": audit.Note}

// auditCommand is the command `holdfast audit`.
func auditCommand(version string) *cobra.Command {
	f := auditFlags{cluster: clusterFlags()}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List the single points of failure of a cluster's workloads, with patches",
		Long: `audit reads a cluster with get and list requests only, and lists the single points of failure of each Deployment and
StatefulSet, with severity, evidence and the commands that fix them. It changes nothing. It ignores DaemonSets, and workloads that are
scaled to zero. Objects that it has no permission to read are reported as not checked.

With --listen it audits the cluster again and again until it is told to end, and serves metrics for Prometheus at /metrics. It does not
authenticate its clients, so limit who can reach the address. Manifests that run it in a cluster, alerting rules and a dashboard are in
framework/audit/exporter/deploy of holdfast's repository. --skip fixed-node-ports spares it the permission to read ConfigMaps.

Exit codes: 0 nothing found at the level of --fail-on; 1 something found; 3 the cluster could not be reached; 4 the command line is
wrong; 5 nothing found, but something could not be checked. With --listen: 0 when it is told to end.

Rules:

` + ruleList(),
		Example: `  holdfast audit
  holdfast audit --context prod --namespace shop --fail-on error
  holdfast audit --output sarif --skip no-match-label-keys
  holdfast audit --emit policy         # a ValidatingAdmissionPolicy, for kubectl apply
  holdfast audit --every 1m --listen 127.0.0.1:9090`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.validate(cmd); err != nil {
				return exit.Usage(err)
			}
			switch {
			case f.emit != "":
				return f.emitPolicy(cmd.OutOrStdout())
			case f.listen != "":
				return f.serve(cmd, version)
			}
			return f.run(cmd, version)
		},
	}
	flags := cmd.Flags()
	f.cluster.Add(flags)
	flags.StringSliceVarP(&f.scope.Namespaces, "namespace", "n", nil, "only this namespace, or these; default: all but kube-*")
	flags.BoolVar(&f.scope.System, "system", false, "include Kubernetes' own namespaces (kube-*)")
	flags.StringVarP(&f.output, "output", "o", "table", "table, json or sarif")
	flags.StringVar(&f.failOn, "fail-on", "warning", "the least severity that makes the exit code 1: error, warning, note, or never")
	flags.StringSliceVar(&f.scope.Skip, "skip", nil, "skip these rules")
	flags.StringVar(&f.emit, "emit", "", "print manifests, and do nothing else: policy")
	flags.StringVar(&f.critical, "critical", audit.DefaultCritical, "with --emit policy: label selector of the workloads that the policy binds")
	flags.StringVar(&f.listen, "listen", "", "audit the cluster again and again, and serve metrics at this address, such as :9090")
	flags.DurationVar(&f.every, "every", time.Minute, "with --listen: the time from one audit to the next")
	return cmd
}

// titleColumns is the width of a rule's title in the help.
const titleColumns = 60

func ruleList() string {
	var lines strings.Builder
	for _, r := range audit.Rules {
		title := strings.Split(text.WrapSoft(r.Title, titleColumns), "\n")
		fmt.Fprintf(&lines, "  %-27s %-8s %s\n", r.ID, r.Severity, title[0])
		for _, more := range title[1:] {
			fmt.Fprintf(&lines, "%39s%s\n", "", more)
		}
	}
	return strings.TrimSuffix(lines.String(), "\n")
}

// onlyWith are the flags that have an effect in one way of using the command alone.
var onlyWith = map[string][]string{"a single audit": {"output", "fail-on"}, "--listen": {"every"}, "--emit policy": {"critical"}}

func (f auditFlags) validate(cmd *cobra.Command) error {
	way := "a single audit"
	switch {
	case f.emit != "" && f.listen != "":
		return errors.New("--listen and --emit: give one of them")
	case f.emit != "" && f.emit != "policy":
		return fmt.Errorf("emit %q: want policy", f.emit)
	case f.emit != "":
		way = "--emit policy"
	case f.listen != "":
		way = "--listen"
	}
	for with, flags := range onlyWith {
		if i := slices.IndexFunc(flags, cmd.Flags().Changed); i >= 0 && way != with {
			return fmt.Errorf("--%s is for %s", flags[i], with)
		}
	}
	if _, known := severities[f.failOn]; !known && f.failOn != "never" {
		return fmt.Errorf("fail on %q: want error, warning, note or never", f.failOn)
	}
	if _, known := writers[f.output]; !known {
		return fmt.Errorf("output %q: want table, json or sarif", f.output)
	}
	if f.every < exporter.Shortest {
		return fmt.Errorf("every %s: want at least %s, because each audit lists every pod", f.every, exporter.Shortest)
	}
	return audit.Options{Skip: f.scope.Skip}.Validate()
}

func (f auditFlags) run(cmd *cobra.Command, version string) error {
	way, client, err := f.open()
	if err != nil {
		return err
	}
	cluster, err := audit.Read(cmd.Context(), client, f.scope)
	if err != nil {
		return way.Explain(err)
	}
	report := audit.Audit(cluster, audit.Options{Skip: f.scope.Skip, Kubectl: f.kubectl()})
	if err := writers[f.output](cmd.OutOrStdout(), report, version); err != nil {
		return err
	}
	return f.outcome(report)
}

// serve serves metrics until the command is told to end.
func (f auditFlags) serve(cmd *cobra.Command, version string) error {
	_, client, err := f.open()
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(cmd.Context(), "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", f.listen, err)
	}
	sayTo(cmd.ErrOrStderr())("audit: metrics at http://%s/metrics; the cluster is read every %s", listener.Addr(), f.every)
	return exporter.New(exporter.Options{Client: client, Scope: f.scope, Every: f.every, Version: version}).Serve(cmd.Context(), listener)
}

func (f auditFlags) emitPolicy(out io.Writer) error {
	policy, err := audit.Policy(f.critical)
	if err != nil {
		return exit.Usage(err)
	}
	_, err = out.Write(policy)
	return err
}

// open returns a client that cannot write. It asks for Protobuf, which costs a third of JSON to read.
func (f auditFlags) open() (*existing.Access, kubernetes.Interface, error) {
	way, err := f.cluster.Open()
	if err != nil {
		return nil, nil, err
	}
	config := way.ReadOnly()
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(config)
	return way, client, err
}

// kubectl is the kubectl command for the same cluster.
func (f auditFlags) kubectl() string {
	command := "kubectl"
	for _, word := range f.cluster.Words() {
		if !strings.HasPrefix(word, "--") {
			word = audit.Quote(word)
		}
		command += " " + word
	}
	return command
}

// outcome is the exit code of an audit. Findings take precedence over what could not be checked.
func (f auditFlags) outcome(r audit.Report) error {
	found := 0
	for _, finding := range r.Findings {
		if least, some := severities[f.failOn]; some && finding.Severity.AtLeast(least) {
			found++
		}
	}
	switch {
	case found > 0:
		return exit.With(exit.Violated, fmt.Errorf("found: %d of severity %s or worse", found, f.failOn))
	case len(r.NotChecked) > 0:
		return exit.With(exit.Unknown, errors.New("unknown: something could not be checked"))
	}
	return nil
}

// writers by the values of --output.
var writers = map[string]func(io.Writer, audit.Report, string) error{
	"table": func(w io.Writer, r audit.Report, _ string) error { return r.WriteText(w) },
	"json":  func(w io.Writer, r audit.Report, _ string) error { return r.WriteJSON(w) },
	"sarif": func(w io.Writer, r audit.Report, version string) error { return r.WriteSARIF(w, version) },
}
