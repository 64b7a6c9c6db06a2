// Package auditing is `holdfast audit`: its flags, what it prints, the patrol that it serves, and the manifests that it emits.
package auditing

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/cli/terminal"
	"github.com/holdfast-ha/holdfast/framework/patrol"
)

// auditFlags are the flags of `holdfast audit`.
type auditFlags struct {
	cluster        *existing.Flags
	scope          audit.Scope
	output, failOn string
	patrolFlags
}

// severities by the values of --fail-on.
var severities = map[string]audit.Severity{"error": audit.Error, "warning": audit.Warning, "note": audit.Note}

// Command is the command `holdfast audit`.
func Command(version string) *cobra.Command {
	f := auditFlags{cluster: terminal.ClusterFlags()}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List the single points of failure of a cluster's workloads, with patches",
		Long: `audit reads a cluster with get and list requests only, and lists the single points of failure of each Deployment and
StatefulSet, with severity, evidence and the commands that fix them. It changes nothing. It ignores DaemonSets, and workloads that are
scaled to zero. Objects that it has no permission to read are reported as not checked.

With --serve it is a patrol: it audits the cluster every minute until it is told to end, and serves a page at / and metrics for Prometheus
at /metrics. It asks nobody who they are, so bind it to an address that only those can reach who may know what it shows. With --events it
also writes Events onto the workloads, and nothing else. --emit patrol prints what runs it in a cluster: a Deployment with the smallest
role, alerting rules and a dashboard. --skip fixed-node-ports spares it the permission to read ConfigMaps. In a cluster of 5,000 pods it takes
` + patrol.Cost + `.

Exit codes: 0 nothing found at the level of --fail-on; 1 something found; 3 the cluster could not be reached; 4 the command line is
wrong; 5 nothing found, but something could not be checked. A patrol ends with 0 when it is told to end.

Rules:

` + ruleList(),
		Example: `  holdfast audit
  holdfast audit --context prod --namespace shop --fail-on error
  holdfast audit --output sarif --skip no-match-label-keys
  holdfast audit --emit policy         # a ValidatingAdmissionPolicy, for kubectl apply
  holdfast audit --serve 127.0.0.1:9090
  holdfast audit --emit patrol --image IMAGE   # the patrol's manifests, for kubectl apply`,
		Args: terminal.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(f.validate(), f.validatePatrol(cmd)); err != nil {
				return exit.Usage(err)
			}
			switch {
			case f.emit != "":
				return emitters[f.emit](f, cmd.OutOrStdout())
			case f.serve != "":
				return f.runPatrol(cmd, version)
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
	f.add(flags)
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

func (f auditFlags) validate() error {
	if _, known := severities[f.failOn]; !known && f.failOn != "never" {
		return fmt.Errorf("fail on %q: want error, warning, note or never", f.failOn)
	}
	if _, known := writers[f.output]; !known {
		return fmt.Errorf("output %q: want table, json or sarif", f.output)
	}
	return audit.Options{Skip: f.scope.Skip}.Validate()
}

func (f auditFlags) run(cmd *cobra.Command, version string) error {
	way, err := f.cluster.Open()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(reading(way))
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

// reading is a configuration whose clients cannot write. They ask for Protobuf, which costs a third of JSON to read.
func reading(way *existing.Access) *rest.Config {
	config := way.ReadOnly()
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
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
