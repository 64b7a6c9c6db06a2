package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/run/intent"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/reading"
	"github.com/holdfast-ha/holdfast/framework/safety/show"
)

// planFlags are those of `holdfast plan`.
type planFlags struct {
	appfile.Choice
	cluster *existing.Flags
	output  string
	seed    uint64
}

const planLong = `plan shows what 'holdfast test --disturb' would do to an application in a cluster that holdfast did not make, and does nothing: it sends no
request that could change anything. For each fault it names each object that would be touched, the field,
the undo and the permission, and for each refusal the rule, the object, the reason and the next step. It asks the API server about each
permission, also those of the undo, and, with a dry run, whether it would create another pod in the place of each that ends.

What may be done is said in holdfast.yaml:

  cluster: {uid: 1f0c...}    # of namespace kube-system, which plan shows; no other is touched
  app: {namespace: shop}     # the application runs already; manifests are not needed
  faults: [rollout, drain]
  disturb:
    pods: 1                  # of each workload, at a time
    duration: 5m             # of each fault, which is then undone
    window: {days: [Tue], from: "09:00", to: "16:00", zone: Europe/Berlin}
    failures: 50             # requests that may fail, before the fault is undone at once
    neighbours: [mail]       # namespaces whose pods may be evicted from a node that is drained

and by the owner of each workload, with a label on it or on its namespace:

  kubectl label namespace shop holdfast.dev/disturb=allowed

What can be done:

  rollout      a rolling update, as by kubectl rollout restart, and back
  delete-pod   the eviction of a pod
  scale        one replica more, one less than before, and back
  drain        a node is cordoned and its pods are evicted, never forced
  cordon       a node is cordoned, and its pods stay
  node-kill    a command of your own takes a node away, and another brings it back

Exit codes: 0 all of it could be done; 3 the cluster could not be reached; 4 the command line or the file is wrong; 5 something is
refused.

The rules, by which something is refused or done in a certain way:

`

// planCommand is the command `holdfast plan`.
func planCommand() *cobra.Command {
	f := planFlags{cluster: clusterFlags()}
	cmd := &cobra.Command{
		Use:   "plan --context CONTEXT [FILE]",
		Short: "Show what faults would do to a running cluster, object by object, and do nothing",
		Long:  planLong + rules(),
		Example: `  holdfast plan --context staging                       # reads ./holdfast.yaml
  holdfast plan --context staging -n shop --url http://web/ --faults rollout,drain
  holdfast plan --context staging shop.yaml -o json      # for programs`,
		Args: func(cmd *cobra.Command, args []string) error { return exit.Usage(cobra.MaximumNArgs(1)(cmd, args)) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.output != "text" && f.output != "json" {
				return exit.Usage(fmt.Errorf("output %q: want text or json", f.output))
			}
			if err := f.Running(args); err != nil {
				return exit.Usage(err)
			}
			return f.run(cmd)
		},
	}
	set := cmd.Flags()
	f.cluster.Add(set)
	f.RunningFlags(set)
	set.StringVarP(&f.output, "output", "o", "text", "text or json")
	set.Uint64Var(&f.seed, "seed", 0, "of the choice among several pods or nodes that a fault can be done to")
	return cmd
}

// rules are the rules of safety that code keeps, for help.
func rules() string {
	var lines []string
	for _, r := range disturb.Rules {
		wrapped := text.WrapSoft(r.Promise, 90)
		lines = append(lines, fmt.Sprintf("  %2d  %s", r.Number, strings.ReplaceAll(wrapped, "\n", "\n      ")))
	}
	return strings.Join(lines, "\n")
}

func (f planFlags) run(cmd *cobra.Command) error {
	p, err := f.plan(cmd)
	if err != nil {
		return err
	}
	write := p.Text
	if f.output == "json" {
		write = p.JSON
	}
	if err := write(cmd.OutOrStdout()); err != nil {
		return err
	}
	if !p.Goes {
		return exit.With(exit.Unknown, errors.New("refused: not all of it would be done"))
	}
	return nil
}

// plan reads the cluster and plans, as if the operator's key was given: a plan needs none.
func (f planFlags) plan(cmd *cobra.Command) (d show.Document, err error) {
	access, err := f.cluster.Open()
	if err != nil {
		return d, exit.Usage(err)
	}
	reader, err := reading.New(access)
	if err != nil {
		return d, err
	}
	a, err := intent.Read(cmd.Context(), f.Choice, reader, intent.Options{Context: f.cluster.Context(), Disturb: true, Seed: f.seed})
	var unanswered *reading.UnansweredError
	switch {
	case errors.As(err, &unanswered):
		return d, access.Explain(err)
	case err != nil:
		return d, exit.Unread(err)
	}
	snapshot, err := reader.Read(cmd.Context(), a.Request)
	if err != nil {
		return d, access.Explain(err)
	}
	p := disturb.Make(a.Request, snapshot)
	p.Notes = append(p.Notes, a.Notes()...)
	facts, err := factsOf(cmd, access)
	return show.Of(p, facts), err
}

// factsOf is what can be found out about the cluster with the rights that the user has.
func factsOf(cmd *cobra.Command, access *existing.Access) ([]existing.Fact, error) {
	client, err := kubernetes.NewForConfig(access.ReadOnly())
	if err != nil {
		return nil, err
	}
	return existing.Facts(cmd.Context(), client)
}
