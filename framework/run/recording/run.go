package recording

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/observe"
)

// Body is what happens while a cluster is recorded. It ends with its context, which a signal ends.
type Body func(ctx context.Context, s *Session) error

// endLimit bounds the end of a recording: the last requests, the comparison of the watches with lists, and the removal of load workers.
const endLimit = 3 * time.Minute

// Record records a cluster while the body does what it does, and has the record judged. The result stands in run.json, whose content is
// returned. A signal ends the body; the recording then ends as always, and is judged. The error is that of the body, or of the harness.
func Record(ctx context.Context, o Options, body Body) (runfolder.File, error) {
	if err := o.fill(); err != nil {
		return runfolder.File{}, err
	}
	survey, err := Look(ctx, o.Access, o.Namespaces)
	if err != nil {
		return runfolder.File{}, err
	}
	return RecordKnown(ctx, o, survey, body)
}

// RecordKnown is Record for a cluster that was looked at before.
func RecordKnown(ctx context.Context, o Options, survey Survey, body Body) (runfolder.File, error) {
	if err := o.fill(); err != nil {
		return runfolder.File{}, err
	}
	s, err := open(ctx, o, survey)
	if err != nil {
		return runfolder.File{}, err
	}
	lock, err := runfolder.Lock(o.Run.Dir)
	if err != nil {
		return runfolder.File{}, err
	}
	defer func() { _ = lock.Close() }()
	return s.run(ctx, s.file(), body)
}

// run records, and has the record judged.
func (s *Session) run(ctx context.Context, file runfolder.File, body Body) (runfolder.File, error) {
	o := s.options
	if err := errors.Join(runfolder.ReserveRoom(o.Run.Dir), file.Write(o.Run.Dir)); err != nil {
		return runfolder.File{}, err
	}
	done := interrupt.Of(ctx).Add(interrupt.Pending{
		Undo: "end the recording and judge it", Done: "the recording is ended", Left: "the record in " + o.Run.Dir + " is incomplete",
	})
	err := s.record(ctx, body)
	done()
	return s.finish(file, err)
}

// open connects to the cluster, and begins the record.
func open(ctx context.Context, o Options, survey Survey) (*Session, error) {
	s, err := connect(o, survey)
	if err != nil {
		return nil, err
	}
	header, err := s.header(ctx)
	if err != nil {
		return nil, err
	}
	w, err := history.Create(s.dir(), header)
	if err != nil {
		return nil, err
	}
	s.board = newBoard(w)
	return s, nil
}

// connect connects to the cluster.
func connect(o Options, survey Survey) (*Session, error) {
	s := &Session{options: o, Survey: survey, config: reading(o.Access), clock: newServerClock(), began: time.Now()}
	s.config.Wrap(s.clock.wrap)
	var err error
	if s.client, err = kubernetes.NewForConfig(s.config); err != nil {
		return nil, err
	}
	if _, err = s.client.Discovery().ServerVersion(); err != nil { // the answer shows the clock of the API server, which the header tells
		return nil, fmt.Errorf("open cluster %s: %w", o.Access.Name(), err)
	}
	return s, nil
}

func (s *Session) dir() string {
	return filepath.Join(s.options.Run.Dir, filepath.FromSlash(s.options.Run.Scenario))
}

// reading is the configuration of clients that list and watch much, and write nothing.
func reading(a *existing.Access) *rest.Config {
	c := a.ReadOnly()
	c.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	c.ContentType = "application/json" // of questions about permissions
	return c
}

// record is what happens, from the first list to the last. The record is closed in the end, whatever happened, and has the error.
func (s *Session) record(ctx context.Context, body Body) error {
	err := s.play(ctx, body)
	if own := besides(err); own != nil && ctx.Err() == nil {
		err = errors.Join(err, s.board.Append(history.Event{T: s.board.Now(), Trouble: &history.Trouble{What: own.Error()}}))
	}
	return errors.Join(err, s.close(ctx))
}

// play records until the body has ended and the cluster has settled.
func (s *Session) play(ctx context.Context, body Body) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	lasting := context.WithoutCancel(ctx) // what records goes on until the record is closed
	scope := observe.Scope{Namespaces: s.options.Namespaces, Without: s.Survey.without(), Reading: true, Clock: s.clock}
	if s.watcher, err = observe.Start(lasting, s.client, scope, s.board); err != nil {
		return s.options.Access.Explain(err)
	}
	if err := s.board.ended(); err != nil {
		return err
	}
	s.Say("watching %s", s.board.counts())
	s.follow(lasting)
	if s.left.Phase == history.Drained { // the recorder was ending the recording
		return nil
	}
	if err := s.startLoad(ctx, lasting); err != nil {
		return err
	}
	if s.left.Phase == history.Steady {
		return s.during(ctx, lasting, body)
	}
	if err := s.phase(history.Steady); err != nil {
		return err
	}
	if err := poll.Pass(ctx, s.options.Before); err != nil {
		return nil // a signal ends a recording like everything else
	}
	if len(s.options.Command)+len(s.options.Does) > 0 {
		if err := s.Undisturbed(); err != nil {
			return err
		}
	}
	return s.during(ctx, lasting, body)
}

// during lets the body do what it does, and watches what comes of it. A second signal ends the process.
func (s *Session) during(ctx, lasting context.Context, body Body) error {
	return errors.Join(body(ctx, s), s.after(ctx, lasting))
}

// after watches what comes of what the body has done. Who has ended the body by a signal does not want to wait for long.
func (s *Session) after(ctx, lasting context.Context) error {
	limit := s.options.Recover
	if ctx.Err() != nil {
		ctx, limit = lasting, min(limit, hurried)
	}
	s.Say("recording until every workload has been settled for %s, for at most %s", s.options.Settled, limit)
	if err := s.Settle(ctx, limit); ctx.Err() == nil {
		return err
	}
	return nil // a signal
}

// hurried is how long a recording goes on at most after a signal.
const hurried = time.Minute

func (s *Session) phase(name history.PhaseName) error {
	return s.board.Append(history.Event{T: s.board.Now(), Phase: &history.Phase{Name: name}})
}

// close ends the load and the watches, and completes the record.
func (s *Session) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	errs := []error{s.phase(history.Drained)}
	for _, l := range s.load {
		errs = append(errs, l.session.Stop(ctx))
	}
	for _, end := range s.ending {
		errs = append(errs, end(ctx))
	}
	if s.watcher != nil {
		errs = append(errs, s.watcher.Stop())
	}
	for i, err := range errs {
		if err == nil {
			continue
		}
		errs = append(errs, s.board.Append(history.Event{T: s.board.Now(), Trouble: &history.Trouble{What: err.Error()}}))
		if errors.Is(err, collect.ErrWorkerGone) { // nothing of holdfast has failed: evidence is missing, and the verdict says which
			errs[i] = nil
		}
	}
	return errors.Join(append(errs, s.board.Close())...)
}

// finish judges the record, and writes run.json.
func (s *Session) finish(file runfolder.File, recordErr error) (runfolder.File, error) {
	result := &file.Scenarios[len(file.Scenarios)-1]
	result.Took = time.Since(s.began)
	if recorded, err := history.Open(s.dir()); err != nil {
		recordErr = errors.Join(recordErr, err)
		result.Error = recordErr.Error()
	} else if errors.Is(recordErr, ErrUnhealthy) {
		result.Error = recordErr.Error()
	} else {
		judge.Record(recorded, result)
		spoil(result, recordErr)
	}
	file.Ended = time.Now()
	file.Outcome = string(judge.WorthOf(file))
	return file, errors.Join(recordErr, runfolder.FreeRoom(s.options.Run.Dir), file.Write(s.options.Run.Dir))
}

// spoil takes back that a recording is held whose recorder, or whose body, has failed: it shows nothing. How a command ended is in the record.
func spoil(result *runfolder.ScenarioResult, err error) {
	if own := besides(err); own != nil && result.Outcome == string(verdict.Held) {
		result.Error, result.Outcome = own.Error(), string(verdict.Unknown)
	}
}
