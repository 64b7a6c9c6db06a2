package observe

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// readBackLists is how many lists of the past a gap is worth. One change among a thousand takes ten; an API server that was
// away for a minute had seven changes of pods to read back at most, and mostly none.
const readBackLists = 300

// missedChange is one that no watch told of.
type missedChange struct {
	object runtime.Object
	change history.Change
}

// readBack finds every change between the version up to which all was seen and a list. A restarted API server has forgotten
// the changes before its start, but its store has not: it lists the state as it was at any version of the last five minutes.
// So the time between is cut in half again and again where its two ends differ, until one version lies before the other: what
// differs then is one change.
//
// What was made and was gone again between two versions that are alike is not found. While the API server is away nothing
// is made, and it is asked for what was missed as soon as it answers.
//
// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list (Exact), and of the five
// minutes --etcd-compaction-interval of kube-apiserver
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
		return nil, fmt.Errorf("version %d is older than %d, which was seen: the store lost something", to, from)
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
	left   int // lists that it may still ask for
	missed []missedChange
}

func (r *reader) between(ctx context.Context, from, to uint64, was, now listed) error {
	found, err := differences(was.objects, now.objects)
	switch {
	case err != nil || len(found) == 0:
		return err
	case to == from:
		return fmt.Errorf("%s differ at one and the same version, %d", r.stream.what, to)
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

// differences are the changes that lead from one state to another, what went first.
func differences(was, now map[types.UID]runtime.Object) (found []missedChange, err error) {
	for uid, object := range was {
		if _, still := now[uid]; !still {
			found = append(found, missedChange{object, history.Deleted})
		}
	}
	for uid, object := range now {
		before, known := was[uid]
		if !known {
			found = append(found, missedChange{object, history.Added})
			continue
		}
		same, err := sameVersion(before, object)
		if err != nil {
			return nil, err
		}
		if !same {
			found = append(found, missedChange{object, history.Modified})
		}
	}
	return found, nil
}

func sameVersion(a, b runtime.Object) (bool, error) {
	one, err := meta.Accessor(a)
	if err != nil {
		return false, err
	}
	other, err := meta.Accessor(b)
	if err != nil {
		return false, err
	}
	return one.GetResourceVersion() == other.GetResourceVersion(), nil
}
