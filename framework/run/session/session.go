package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/run/recording"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/reading"
)

// Session is a plan that can be carried out.
type Session struct {
	// Plan is what would be done now, and Facts are what was found out about the cluster.
	Plan  disturb.Plan
	Facts []existing.Fact

	options  Options
	identity recording.Run
	reader   reading.Reader
	survey   recording.Survey
	held     *hold.Hold
	left     error // why not everything is undone
}

// Open reads the cluster and plans. It changes nothing.
func Open(ctx context.Context, o Options) (*Session, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	reader, err := reading.New(o.Access)
	if err != nil {
		return nil, err
	}
	s := &Session{options: o, reader: reader}
	snapshot, err := reader.Read(ctx, o.Intent.Request)
	if err != nil {
		return nil, o.Access.Explain(err)
	}
	s.Plan = disturb.Make(o.Intent.Request, snapshot)
	s.Plan.Notes = append(s.Plan.Notes, o.Intent.Notes()...)
	s.Facts, err = existing.Facts(ctx, reader.Client)
	return s, err
}

// ErrRefused means that a rule refuses a part of the plan, and that nothing was done (rule 23).
var ErrRefused = errors.New("refused: nothing was done, because not all of it may be done")

// Run does each step of the plan and undoes it. The run's Scenario and Claim are those of each step. The result stands in run.json, whose content is returned, and which has a scenario for each step
// that was begun. A signal ends the run, and what is in force is undone as always. The run also ends with the first step that did harm, or that could
// not be undone.
func (s *Session) Run(ctx context.Context, identity recording.Run, command string) (file runfolder.File, err error) {
	if s.Plan.Refused() {
		return file, ErrRefused
	}
	s.identity = identity
	if s.survey, err = recording.Look(ctx, s.options.Access, []string{s.options.Intent.Request.Namespace}); err != nil {
		return file, err
	}
	client, err := s.client(nil)
	if err != nil {
		return file, err
	}
	if err := s.homeIsThere(ctx, client); err != nil {
		return file, err
	}
	s.held, err = hold.Take(ctx, client, s.identity.ID, command, hold.Options{
		Cluster: s.options.Access.Name(), Foreign: true, Context: s.options.Access.Context, Namespaces: []string{s.options.Intent.Request.Namespace},
	})
	if err != nil {
		return file, s.options.Access.Explain(err)
	}
	name := s.options.Access.Name()
	done := interrupt.Of(ctx).Add(interrupt.Pending{
		Undo: "undo what was changed in cluster " + name, Done: "everything in cluster " + name + " is undone",
		Left: "cluster " + name + " may be left disturbed: 'holdfast heal --context " + name + "' undoes it, and so does its healer after " + hold.Silence.String(),
	})
	file, err = s.steps(ctx)
	lasting := context.WithoutCancel(ctx)
	if s.left != nil {
		return file, errors.Join(err, s.held.Leave(lasting, s.left.Error()))
	}
	done()
	return file, errors.Join(err, s.held.Release(lasting))
}

// homeIsThere returns an error if holdfast's own namespace is missing: holdfast makes none.
func (s *Session) homeIsThere(ctx context.Context, client kubernetes.Interface) error {
	home := s.options.Intent.Request.Home
	_, err := client.CoreV1().Namespaces().Get(ctx, home, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("namespace %s, in which holdfast keeps its Lease and the healer, is not there: an administrator can apply what 'holdfast rbac' prints", home)
	}
	return s.options.Access.Explain(err)
}

// steps does all steps, one after the other, between the user's own commands.
func (s *Session) steps(ctx context.Context) (file runfolder.File, err error) {
	file = s.begun()
	if before := s.options.Intent.Before; before != "" {
		s.options.Say("running %s", before)
		if err := s.shell(ctx, before); err != nil {
			return runfolder.File{}, fmt.Errorf("nothing was done, because the command before the first fault failed: %w", err)
		}
	}
	if after := s.options.Intent.After; after != "" {
		defer func() {
			s.options.Say("running %s", after)
			err = errors.Join(err, s.shell(context.WithoutCancel(ctx), after))
		}()
	}
	for i, planned := range s.Plan.Steps {
		var one runfolder.ScenarioResult
		s.identity.Before = file.Scenarios
		one, err = s.step(ctx, planned)
		if ctx.Err() != nil {
			one = cut(one)
			if s.left == nil && errors.Is(err, ctx.Err()) {
				err = nil // which is the signal
			}
		}
		file.Scenarios = append(file.Scenarios, one)
		if err != nil || ctx.Err() != nil {
			s.notBegun(ctx, &file, s.Plan.Steps[i+1:])
			break
		}
	}
	file.Ended = time.Now()
	file.Outcome = string(judge.WorthOf(file))
	return file, errors.Join(err, file.Write(s.identity.Dir))
}

// begun is run.json before the first step.
func (s *Session) begun() runfolder.File {
	f := s.identity.File(s.survey.Identity.Kubernetes)
	f.Chosen = s.chosen()
	return f
}

// chosen are the names of all steps. The run.json of a step has them, too: a run that is killed between two steps is not whole.
func (s *Session) chosen() (all []runfolder.Chosen) {
	for _, step := range s.Plan.Steps {
		all = append(all, runfolder.Chosen{Name: s.NameOf(step)})
	}
	return all
}

// cut is the result of a step that a signal has ended: half of a fault proves nothing, unless a promise was broken.
func cut(one runfolder.ScenarioResult) runfolder.ScenarioResult {
	if one.Outcome != string(verdict.Violated) {
		one.Interrupted, one.Outcome, one.Error, one.Verdicts = "interrupted while the cluster was disturbed", "", "", nil
	}
	return one
}

// notBegun lists the steps that were not begun, and says what ended the run: a signal by its name.
func (s *Session) notBegun(ctx context.Context, file *runfolder.File, rest []disturb.Step) {
	file.Interrupted = "a step that was not carried out as planned"
	var signal interrupt.Signal
	if errors.As(interrupt.Of(ctx).Cause(), &signal) {
		file.Interrupted = unix.SignalName(signal.By)
	}
	for _, step := range rest {
		left := s.identity.Result(s.NameOf(step), ClaimOf(step))
		left.NotBegun = "the run ended before: " + file.Interrupted
		file.Scenarios = append(file.Scenarios, left)
	}
}

// Suite is the first part of the names of all scenarios.
const Suite = "app"

// NameOf is the name of a step's scenario: that of the fault, and that of the workload where there are several.
func (s *Session) NameOf(step disturb.Step) string {
	name := Suite + "/" + step.Fault
	if slices.ContainsFunc(s.Plan.Steps, func(other disturb.Step) bool { return other.Workload != step.Workload }) {
		name += "-" + step.Workload.Name
	}
	return name
}

// ClaimOf is what a step's scenario is to show.
func ClaimOf(step disturb.Step) string {
	return fmt.Sprintf("%s is invisible to the clients of %s, and respects budgets and constraints", step.Does, step.Workload)
}
