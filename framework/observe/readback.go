package observe

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// readBackLists is the maximum number of lists at past versions for one gap. Finding one change among a thousand versions
// takes ten lists. After an API server was away for a minute, there were at most seven changes of pods to read back, and
// usually none.
const readBackLists = 300

// missedChange is a change that no watch reported.
type missedChange struct {
	object object
	change history.Change
}

// readBack finds every change between the version up to which everything was seen and a list. A restarted API server has
// forgotten the changes before its start, but its store has not: it lists the state at any version of the last five
// minutes. readBack compares the states at both ends of a range of versions and, if they differ, bisects the range, until
// the range is a single version. The difference at that version is one change.
//
// An object that was created and deleted between two versions with the same state is not found. While the API server is
// away nothing is created, and readBack runs as soon as it answers.
//
// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list (Exact); the five minutes
// are --etcd-compaction-interval of kube-apiserver
func (s *stream) readBack(ctx context.Context, now listed) ([]missedChange, error) {
	was := listed{version: s.version, objects: s.known}
	from, err := strconv.ParseUint(was.version, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read version %q: %w", was.version, err)
	}
	to, err := strconv.ParseUint(now.version, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read version %q: %w", now.version, err)
	}
	if to < from {
		return nil, fmt.Errorf("version %d is older than %d, which was seen before: the store lost data", to, from)
	}
	r := reader{stream: s, left: readBackLists}
	if err := r.between(ctx, from, to, was, now); err != nil {
		return nil, err
	}
	return r.missed, nil
}

// reader reads back what a stream missed.
type reader struct {
	stream *stream
	left   int // number of further lists allowed
	missed []missedChange
}

func (r *reader) between(ctx context.Context, from, to uint64, was, now listed) error {
	found := differences(was.objects, now.objects)
	switch {
	case len(found) == 0:
		return nil
	case to == from:
		return fmt.Errorf("two lists of %s at version %d differ", r.stream.what, to)
	case to-from == 1:
		r.missed = append(r.missed, found...)
		return nil
	case r.left == 0:
		return fmt.Errorf("more than %d lists would be needed", readBackLists)
	}
	r.left--
	mid := from + (to-from)/2
	half, err := r.stream.fetch(ctx, metav1.ListOptions{
		ResourceVersion: strconv.FormatUint(mid, 10), ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	})
	if err != nil {
		return fmt.Errorf("list %s at version %d: %w", r.stream.what, mid, err)
	}
	return errors.Join(r.between(ctx, from, mid, was, half), r.between(ctx, mid, to, half, now))
}

// differences are the changes that lead from one state to the other, deletions first.
func differences(was, now map[types.UID]object) (found []missedChange) {
	for uid, o := range was {
		if _, still := now[uid]; !still {
			found = append(found, missedChange{o, history.Deleted})
		}
	}
	for uid, o := range now {
		before, known := was[uid]
		switch {
		case !known:
			found = append(found, missedChange{o, history.Added})
		case before.GetResourceVersion() != o.GetResourceVersion():
			found = append(found, missedChange{o, history.Modified})
		}
	}
	return found
}
