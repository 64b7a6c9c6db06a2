package recording

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// Continue goes on with a recording whose recorder was killed, or whose machine was restarted: the run that a file describes. What was asked for is
// read from the record. A gap in the record says that nothing was watched meanwhile, and the objects that ended in that time end in the record when it
// is over. The load begins again. The error is that of Record, and nothing is changed if the recording cannot be continued.
//
// A recording of a command cannot be continued, because the command was the recorder's own child. Neither can one with load from inside of the
// cluster, whose workers were given up.
func Continue(ctx context.Context, o Options, survey Survey, file runfolder.File, body Body) (runfolder.File, error) {
	if err := o.fill(); err != nil {
		return runfolder.File{}, err
	}
	lock, err := runfolder.Lock(o.Run.Dir)
	if err != nil {
		return runfolder.File{}, fmt.Errorf("continue the recording in %s: %w", o.Run.Dir, err)
	}
	defer func() { _ = lock.Close() }()
	s, err := reopen(o, survey, file)
	if err != nil {
		return runfolder.File{}, fmt.Errorf("continue the recording in %s: %w", o.Run.Dir, err)
	}
	file.Resumed = append(file.Resumed, runfolder.Resumption{At: time.Now(), Holdfast: o.Run.Holdfast})
	return s.run(ctx, file, body)
}

// reopen connects to the cluster, and continues the record.
func reopen(o Options, survey Survey, file runfolder.File) (*Session, error) {
	s, err := connect(o, survey)
	if err != nil {
		return nil, err
	}
	unfinished, err := history.Open(s.dir())
	if err != nil {
		return nil, err
	}
	h := unfinished.Header
	switch {
	case h.Recorded == nil:
		return nil, errors.New("it is not that of a recording")
	case len(h.Recorded.Command) > 0:
		return nil, errors.New("it was the recording of a command, which ended with its recorder: record the command again, or judge what there is with 'holdfast judge'")
	case h.Recorded.Load == history.LoadInside || h.Recorded.Load == history.LoadBoth:
		return nil, errors.New("its load came from inside of the cluster, and those workers were given up: begin another recording, or judge what there is with 'holdfast judge'")
	}
	if err := sameCluster(h.Notes, survey.Identity.UID); err != nil {
		return nil, err
	}
	s.options.Namespaces, s.options.For, s.Survey.NotWatched, s.began = h.Recorded.Namespaces, h.Recorded.For, h.Recorded.NotWatched, file.Started
	w, left, err := history.Continue(s.dir())
	if err != nil {
		return nil, err
	}
	s.left, s.board, s.resumed = left, newBoard(w), len(file.Resumed)+1
	s.board.away = left.State
	return s, nil
}

// sameCluster is an error unless the notes of a record name the cluster with a UID. What cannot be told is refused: the record would be that of
// two clusters.
func sameCluster(notes []string, uid string) error {
	const must = "give the user the right that 'holdfast rbac' prints for it, and begin another recording"
	switch {
	case !slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, uidNoteBegins) }):
		return errors.New("it does not say which cluster it is of, because its user could not read the UID of namespace kube-system: " + must)
	case uid == "":
		return errors.New("whether this is its cluster is unknown, because the user must not read the UID of namespace kube-system: " + must)
	case !slices.Contains(notes, uidNote(uid)):
		return fmt.Errorf("it is that of another cluster: the UID of namespace kube-system is %s here", uid)
	}
	return nil
}
