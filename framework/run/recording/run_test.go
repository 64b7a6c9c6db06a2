package recording

import (
	"context"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// refusing forbids requests for some resources.
func refusing(resources []string) func(method, path string) *apierrors.StatusError {
	return func(_, at string) *apierrors.StatusError {
		if r := path.Base(at); slices.Contains(resources, r) {
			return apierrors.NewForbidden(schema.GroupResource{Resource: r}, "", errors.New("not for you"))
		}
		return nil
	}
}

// onlyAsked returns what a recorder sent besides reads and questions about the user.
func (s *staging) onlyAsked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.wrote), func(r string) bool { return strings.Contains(r, "/selfsubject") })
}

func TestARecordHasWhatHappenedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStaging(t)
		o, lines := s.options(t)
		o.Command, o.Does = []string{"kubectl", "delete", "pod"}, []string{"deletion"}
		o.Run.Chosen = []runfolder.Chosen{{Name: o.Run.Scenario}, {Name: "record/later"}}
		file, err := Record(t.Context(), o, func(ctx context.Context, session *Session) error {
			return session.Step(history.Step{What: history.CommandStep}, func() error { return s.deletePod(ctx) })
		})
		if err != nil {
			t.Fatal(err)
		}
		if wrote := s.onlyAsked(); len(wrote) > 0 {
			t.Errorf("the recorder wrote: %v", wrote)
		}
		run := recorded(t, o)
		h := run.Header
		if h.Recorded == nil || !slices.Equal(h.Recorded.Command, o.Command) || !slices.Equal(h.Recorded.Does, o.Does) || !slices.Equal(h.Recorded.Namespaces, []string{"shop"}) || h.Cluster.Provider != "existing" ||
			h.Cluster.Kubernetes != "v1.37.1" || h.Samples != history.SamplesOfNoise || len(h.Facts) == 0 {
			t.Errorf("header %+v", h)
		}
		var kinds []string
		for _, p := range h.Promises {
			kinds = append(kinds, p.Kind)
		}
		if diff := cmp.Diff([]string{"BudgetHonoured", "RecoversWithin", "Placement", "SpreadWithin"}, kinds); diff != "" {
			t.Errorf("promises without load (-want +got):\n%s", diff)
		}
		var words []string
		for _, e := range run.Events {
			switch {
			case e.Phase != nil:
				words = append(words, string(e.Phase.Name))
			case e.Step != nil:
				words = append(words, e.Step.What+" "+string(e.Step.Stage))
			case e.Pod != nil && e.Pod.Change == history.Deleted:
				words = append(words, "a pod is gone")
			case e.Server != nil:
				words = append(words, "server "+e.Server.Version)
			case e.Trouble != nil:
				t.Errorf("trouble: %s", e.Trouble.What)
			case e.Gap != nil:
				t.Errorf("gap: %+v", e.Gap)
			}
		}
		slices.Sort(words) // the version comes whenever its first answer does
		if diff := cmp.Diff([]string{"a pod is gone", "command begin", "command end", "drained", "server v1.37.1", "steady"}, words); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		from, to := run.UnderLoad()
		if steps := timeline.Steps(run); len(steps) != 1 || steps[0].Begin.At-from < o.Before || to-steps[0].End.At < DefaultSettled {
			t.Errorf("steps %+v, recorded from %s to %s", steps, from, to)
		}
		if len(file.Scenarios) != 1 || file.Outcome != "unknown" || len(file.Chosen) != 2 || file.Ended.IsZero() { // another was chosen, too
			t.Errorf("run.json %+v", file)
		}
		if stored, err := runfolder.ReadFile(o.Run.Dir); err != nil || stored.Outcome != file.Outcome {
			t.Errorf("stored: %+v, %v", stored, err)
		}
		if !lines.has("watching 1 workload, 5 nodes") {
			t.Errorf("said %q", lines.lines)
		}
	})
}

// What the user must not read is left out, and said. What cannot be judged then is not promised.
func TestALimitedUserRecordsWhatItMayRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStaging(t)
		s.forbid("nodes", "poddisruptionbudgets", "events", "daemonsets", "kube-system")
		o, _ := s.options(t)
		if _, err := Record(t.Context(), o, Wait(time.Second)); err != nil {
			t.Fatal(err)
		}
		h := recorded(t, o).Header
		var kinds, not []string
		for _, p := range h.Promises {
			kinds = append(kinds, p.Kind)
		}
		for _, n := range h.Recorded.NotWatched {
			not = append(not, n.What)
		}
		if diff := cmp.Diff([]string{"RecoversWithin"}, kinds); diff != "" {
			t.Errorf("promises (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"nodes", "poddisruptionbudgets", "events"}, not); diff != "" {
			t.Errorf("not watched (-want +got):\n%s", diff)
		}
		for _, want := range []string{"The record has no nodes: this user must not list nodes, watch nodes.", "It is not judged whether no eviction takes"} {
			if !strings.Contains(strings.Join(h.Notes, "\n"), want) {
				t.Errorf("notes lack %q:\n%s", want, strings.Join(h.Notes, "\n"))
			}
		}
	})
}

// early is an API server whose clock is an hour ahead.
type early struct{ next http.RoundTripper }

func (e early) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := e.next.RoundTrip(r)
	if err == nil {
		answer.Header = http.Header{"Content-Type": answer.Header["Content-Type"], "Date": {time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}}
	}
	return answer, err
}

// The header, which is written before anything is watched, tells of a clock of the API server that is another.
func TestTheRecordTellsOfTheServersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStaging(t)
		o, _ := s.options(t)
		config := s.Config()
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return early{next} })
		o.Access = existing.Of("staging", "shop", config)
		if _, err := Record(t.Context(), o, Wait(time.Second)); err != nil {
			t.Fatal(err)
		}
		if h := recorded(t, o).Header; h.Cluster.Name != "staging" || !strings.Contains(strings.Join(h.Notes, "\n"), "The clock of the API server is 1h0m") &&
			!strings.Contains(strings.Join(h.Notes, "\n"), "The clock of the API server is 59m5") {
			t.Errorf("cluster %q, notes %q", h.Cluster.Name, h.Notes)
		}
	})
}

// A refusal comes before anything is begun, and says what to do.
func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*staging, *Options)
		want    string
	}{
		"no pods":             {func(s *staging, _ *Options) { s.forbid("pods") }, "this user must not list pods in namespace shop, watch pods in namespace shop"},
		"no such namespace":   {func(_ *staging, o *Options) { o.Namespaces = []string{"shpo"} }, "look at namespace shpo"},
		"behind without load": {func(_ *staging, o *Options) { o.Behind = []string{"shop/web"} }, "load without probes"},
		"an API server that is away": {func(s *staging, _ *Options) {
			s.Refuse = func(string, string) *apierrors.StatusError {
				return apierrors.NewServiceUnavailable("etcd is away")
			}
		}, "unable to handle the request"},
		"expired credentials": {func(s *staging, _ *Options) {
			s.Refuse = func(string, string) *apierrors.StatusError { return apierrors.NewUnauthorized("token expired") }
		}, "log in again"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStaging(t)
				o, _ := s.options(t)
				test.prepare(s, &o)
				ran := false
				_, err := Record(t.Context(), o, func(context.Context, *Session) error { ran = true; return nil })
				if err == nil || !strings.Contains(err.Error(), test.want) || ran {
					t.Errorf("got %v, ran %t; want %q", err, ran, test.want)
				}
			})
		})
	}
}

// A signal ends the recording, which is then closed and judged as always.
func TestASignalEndsTheRecording(t *testing.T) {
	for name, after := range map[string]time.Duration{"before the body": time.Second, "in the body": time.Minute, "after the body": 85 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStaging(t)
				o, _ := s.options(t)
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				file, err := Record(ctx, o, Wait(75*time.Second))
				if err != nil || file.Outcome == "" {
					t.Errorf("outcome %q, %v", file.Outcome, err)
				}
				if _, _, ok := recorded(t, o).Window(history.Drained); !ok {
					t.Error("the record has no end")
				}
			})
		})
	}
}

// A disk that is full ends a recording that only waits, and never a command.
func TestARecordThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStaging(t)
		o, lines := s.options(t)
		file, err := Record(t.Context(), o, func(ctx context.Context, session *Session) error {
			if err := session.board.Close(); err != nil { // whatever comes now is refused
				return err
			}
			return session.Step(history.Step{What: history.CommandStep}, func() error { return poll.Pass(ctx, 10*time.Second) })
		})
		if err == nil || file.Outcome == "held" {
			t.Errorf("outcome %q, %v", file.Outcome, err)
		}
		if !lines.has("nothing is recorded any more") {
			t.Errorf("said %q", lines.lines)
		}
	})
}

// A workload that does not settle ends no recording: the record shows that it has not.
func TestWhatDoesNotSettleIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStaging(t)
		o, lines := s.options(t)
		o.Recover = 2 * time.Minute
		began := time.Now()
		_, err := Record(t.Context(), o, func(ctx context.Context, _ *Session) error {
			return s.change(func(c kubernetes.Interface) error {
				stuck, err := c.AppsV1().Deployments("shop").Get(ctx, "web", metav1.GetOptions{})
				if err != nil {
					return err
				}
				stuck = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "stuck", Namespace: "shop"}, Spec: *stuck.Spec.DeepCopy()}
				stuck.Spec.Selector.MatchLabels, stuck.Spec.Template.Labels = map[string]string{"app": "stuck"}, map[string]string{"app": "stuck"}
				stuck.Spec.Template.Spec.NodeSelector = map[string]string{"no": "such-node"}
				_, err = c.AppsV1().Deployments("shop").Create(ctx, stuck, metav1.CreateOptions{})
				return err
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 3*time.Minute {
			t.Errorf("it took %s", took)
		}
		if !lines.has("not everything has settled: shop/stuck (0 of 3 replicas available)") {
			t.Errorf("said %q", lines.lines)
		}
		recorded(t, o)
	})
}

// A body that fails, and one that panics, leave a whole record.
func TestABodyThatFails(t *testing.T) {
	for name, body := range map[string]Body{
		"fails":  func(context.Context, *Session) error { return errors.New("no such deployment") },
		"panics": func(context.Context, *Session) error { panic("oh") },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStaging(t)
			o, _ := s.options(t)
			file, err := Record(t.Context(), o, body)
			if err == nil || file.Outcome == "held" {
				t.Errorf("%s: outcome %s, %v", name, file.Outcome, err)
			}
			recorded(t, o)
		})
	}
}

// A recorder that has failed holds nothing, in each part of the recording, and also if a command has succeeded or failed. What was broken stays so.
func TestARecorderThatFailsHoldsNothing(t *testing.T) {
	failed := errors.New("the watches missed something")
	for name, test := range map[string]struct {
		body  error
		end   error
		holds bool
	}{
		"nothing fails":                     {nil, nil, true},
		"the command fails":                 {CommandError{errors.New("exit status 1")}, nil, true},
		"the body fails":                    {failed, nil, false},
		"the body and the command fail":     {errors.Join(CommandError{errors.New("exit status 1")}, failed), nil, false},
		"the end fails":                     {nil, failed, false},
		"the end fails, and so the command": {CommandError{errors.New("exit status 1")}, failed, false},
	} {
		for _, outcome := range []verdict.Outcome{verdict.Held, verdict.Violated, verdict.Unknown} {
			result := runfolder.ScenarioResult{Outcome: string(outcome)}
			spoil(&result, errors.Join(errors.Join(test.body, nil), test.end))
			want := outcome
			if outcome == verdict.Held && !test.holds {
				want = verdict.Unknown
			}
			if result.Outcome != string(want) || (result.Error == "") != (want == outcome) {
				t.Errorf("%s, of what is %s: outcome %s, error %q", name, outcome, result.Outcome, result.Error)
			}
		}
	}
}

// What goes wrong at the end is in the record, beside how a command ended.
func TestTheEndOfARecordingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStaging(t)
		o, _ := s.options(t)
		failed := errors.New("the watches missed something")
		file, err := Record(t.Context(), o, func(ctx context.Context, session *Session) error {
			session.ending = append(session.ending, func(context.Context) error { return failed })
			return errors.Join(s.deletePod(ctx), CommandError{errors.New("exit status 1")})
		})
		if troubles := recorded(t, o).Troubles(); !errors.Is(err, failed) || len(troubles) != 1 || troubles[0].Trouble.What != failed.Error() || file.Outcome == "held" {
			t.Errorf("%v, trouble %+v, outcome %s", err, troubles, file.Outcome)
		}
	})
}

// A command that fails is an error of its own. The record is as good as if it had succeeded.
func TestACommandThatFailsIsNoTroubleOfTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStaging(t)
		o, _ := s.options(t)
		o.Command = []string{"./upgrade.sh"}
		file, err := Record(t.Context(), o, func(ctx context.Context, session *Session) error {
			return session.Step(history.Step{What: history.CommandStep}, func() error {
				return errors.Join(s.deletePod(ctx), CommandError{errors.New("upgrade.sh: exit status 1")})
			})
		})
		if failed := (CommandError{}); !errors.As(err, &failed) || file.Outcome == "" {
			t.Errorf("outcome %q, %v", file.Outcome, err)
		}
		run := recorded(t, o)
		if troubles := run.Troubles(); len(troubles) > 0 {
			t.Errorf("trouble: %+v", troubles[0].Trouble)
		}
		if steps := timeline.Steps(run); len(steps) != 1 || steps[0].Error != "upgrade.sh: exit status 1" {
			t.Errorf("steps %+v", steps)
		}
	})
}

// An API server that is away for two minutes is a gap, and the recording goes on.
func TestAnAPIServerThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStaging(t)
		o, _ := s.options(t)
		var away atomic.Bool
		s.Refuse = func(string, string) *apierrors.StatusError {
			if away.Load() {
				return apierrors.NewServiceUnavailable("away")
			}
			return nil
		}
		_, err := Record(t.Context(), o, func(ctx context.Context, _ *Session) error {
			away.Store(true)
			s.HangUp()
			if err := poll.Pass(ctx, 2*time.Minute); err != nil {
				return err
			}
			away.Store(false)
			return poll.Pass(ctx, 30*time.Second)
		})
		if err != nil {
			t.Fatal(err)
		}
		gaps := 0
		for _, e := range recorded(t, o).Events {
			if e.Gap != nil && e.T-e.Gap.Since >= 2*time.Minute {
				gaps++
			}
		}
		if gaps < 7 {
			t.Errorf("%d gaps, want one of each watch", gaps)
		}
	})
}

// TestARunKeepsWhatItHasFound: a recording that is one of several steps leaves the results of those before it in run.json, from its beginning on: a run that
// is killed in it is worth what they are.
func TestARunKeepsWhatItHasFound(t *testing.T) {
	for outcome, want := range map[string]judge.Worth{"violated": judge.RunViolated, "held": judge.RunUnknown, "unknown": judge.RunUnknown} {
		s := newStaging(t)
		o, _ := s.options(t)
		o.Before, o.Settled = time.Second, time.Second
		o.Run.Before = []runfolder.ScenarioResult{{Name: "app/rollout", Dir: "app/rollout", Outcome: outcome}}
		o.Run.Chosen = []runfolder.Chosen{{Name: "app/rollout"}, {Name: o.Run.Scenario}, {Name: "app/drain"}}
		during := runfolder.File{}
		file, err := Record(t.Context(), o, func(context.Context, *Session) (err error) {
			during, err = runfolder.ReadFile(o.Run.Dir)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		after, err := runfolder.ReadFile(o.Run.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for when, f := range map[string]runfolder.File{"in it": during, "after it": after, "what it returns": file} {
			if len(f.Scenarios) != 2 || f.Scenarios[0].Outcome != outcome || f.Scenarios[1].Name != o.Run.Scenario || judge.WorthOf(f) != want {
				t.Errorf("%s, %s: %s: %+v", outcome, when, judge.WorthOf(f), f.Scenarios)
			}
		}
		if file.Outcome != string(want) || len(o.Run.Before) != 1 {
			t.Errorf("%s: the run is said to be %s", outcome, file.Outcome)
		}
	}
}
