package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/base/output"
)

// The ConfigMaps of journals: `kubectl -n holdfast get configmaps -l holdfast.dev/component=journal` lists them.
const (
	labelPartOf    = "app.kubernetes.io/part-of"
	labelComponent = "holdfast.dev/component"
	partOf         = "holdfast"
	component      = "journal"
	namePrefix     = "holdfast-"

	headerKey = "journal"
	// StopKey is an annotation of a journal's ConfigMap that lets a healer undo everything at once. Its value is the reason:
	//
	//	kubectl -n holdfast annotate configmap holdfast-RUN holdfast.dev/stop="customers complain"
	StopKey = "holdfast.dev/stop"
	// takenKey is the annotation that names the process that undoes the journal in place of the run. The run cannot write it any more.
	takenKey = "holdfast.dev/taken-by"
)

// mostBytes bounds the data of a ConfigMap, of which the API server takes 1 MiB. What is left is for the states of entries.
const mostBytes = 900 << 10

// callLimit bounds one request.
const callLimit = 5 * time.Second

// TakenError means that another process undoes the changes of this run, or has undone them: the run must make no further change.
type TakenError struct{ By string }

func (e *TakenError) Error() string {
	return "the journal was taken over by " + output.Line(e.By) + ", which undoes the changes of this run"
}

// GoneError means that somebody has deleted the journal's ConfigMap.
type GoneError struct{ Name string }

func (e *GoneError) Error() string {
	return fmt.Sprintf("ConfigMap %s, which is the journal, is gone: another client has deleted it", e.Name)
}

// store is a journal's ConfigMap. Every write is about the version that was seen last. The caller serializes calls.
type store struct {
	client    kubernetes.Interface
	namespace string
	name      string
	manager   string
	taker     string // this process has taken the journal over under this name; empty: the journal is its own
	uid       types.UID
	version   string
	bytes     int
}

// patch is a merge patch of the ConfigMap. A null value removes a key, and so does an empty one.
type patch struct {
	annotations map[string]*string
	data        map[string]string
	binary      map[string][]byte
}

func (s *store) body(p patch) ([]byte, error) {
	meta := map[string]any{"uid": s.uid, "resourceVersion": s.version}
	if p.annotations != nil {
		meta["annotations"] = p.annotations
	}
	body := map[string]any{"metadata": meta}
	if p.data != nil {
		body["data"] = p.data
	}
	if p.binary != nil {
		body["binaryData"] = p.binary
	}
	return json.Marshal(body)
}

// create creates the ConfigMap.
func (s *store) create(ctx context.Context, p patch) error {
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name, Labels: map[string]string{labelPartOf: partOf, labelComponent: component}},
		Data:       p.data, BinaryData: p.binary,
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	made, err := s.client.CoreV1().ConfigMaps(s.namespace).Create(ctx, object, metav1.CreateOptions{FieldManager: s.manager})
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the journal: ConfigMap %s/%s exists already: a run of this name has left it; run 'holdfast heal' first", s.namespace, s.name)
	}
	if err != nil {
		return fmt.Errorf("create the journal: %w", err)
	}
	s.saw(made)
	return nil
}

func (s *store) saw(c *corev1.ConfigMap) {
	s.uid, s.version = c.UID, c.ResourceVersion
	s.bytes = sizeOf(c.Data, c.BinaryData)
}

func sizeOf(data map[string]string, binary map[string][]byte) (n int) {
	for key, value := range data {
		n += len(key) + len(value)
	}
	for key, value := range binary {
		n += len(key) + len(value)*4/3
	}
	return n
}

// write changes the ConfigMap. If it is not the version that was seen last, it was annotated, or a write of ours was stored whose answer
// was lost: then it is read, and written once more. If another process has taken the journal over, the error is a TakenError.
func (s *store) write(ctx context.Context, p patch) error {
	if more := sizeOf(p.data, p.binary); s.bytes+more > mostBytes {
		return fmt.Errorf("write the journal: ConfigMap %s/%s holds %d KiB, and cannot take %d bytes more: end this run, and split it into smaller ones",
			s.namespace, s.name, s.bytes>>10, more)
	}
	var err error
	for range 3 {
		body, encodeErr := s.body(p)
		if encodeErr != nil {
			return fmt.Errorf("write the journal: %w", encodeErr)
		}
		var now *corev1.ConfigMap
		if now, err = s.send(ctx, body); err == nil {
			s.saw(now)
			return nil
		}
		if apierrors.IsNotFound(err) {
			return &GoneError{s.namespace + "/" + s.name}
		}
		if !apierrors.IsConflict(err) {
			return fmt.Errorf("write the journal: %w", err)
		}
		if err := s.refresh(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("write the journal: it was changed during each of 3 attempts: %w", err)
}

func (s *store) send(ctx context.Context, body []byte) (*corev1.ConfigMap, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return s.client.CoreV1().ConfigMaps(s.namespace).Patch(ctx, s.name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: s.manager})
}

// refresh reads the ConfigMap's version. It is an error if the journal belongs to another process now.
func (s *store) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	now, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return &GoneError{s.namespace + "/" + s.name}
	case err != nil:
		return fmt.Errorf("read the journal: %w", err)
	case now.UID != s.uid:
		return &GoneError{s.namespace + "/" + s.name}
	}
	s.saw(now)
	if by := now.Annotations[takenKey]; by != s.taker {
		return &TakenError{by}
	}
	return nil
}

// take makes this process the only one that may write the journal.
func (s *store) take(ctx context.Context, by string) error {
	for range 3 {
		body, err := s.body(patch{annotations: map[string]*string{takenKey: &by}})
		if err != nil {
			return fmt.Errorf("take the journal over: %w", err)
		}
		now, err := s.send(ctx, body)
		if err == nil {
			s.taker = by
			s.saw(now)
			return nil
		}
		if !apierrors.IsConflict(err) {
			return fmt.Errorf("take the journal over: %w", err)
		}
		var taken *TakenError
		if err := s.refresh(ctx); errors.As(err, &taken) {
			s.taker = taken.By // from another healer, which has ended
			continue
		} else if err != nil {
			return err
		}
	}
	return errors.New("take the journal over: it was changed during each of 3 attempts")
}

// remove deletes the ConfigMap, and no other of its name.
func (s *store) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	err := s.client.CoreV1().ConfigMaps(s.namespace).Delete(ctx, s.name, metav1.DeleteOptions{Preconditions: exactly(s.uid)})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove the journal, ConfigMap %s/%s: %w", s.namespace, s.name, err)
	}
	return nil
}

// parse reads a journal from its ConfigMap.
func parse(c *corev1.ConfigMap) (h Header, entries []Entry, err error) {
	where := "ConfigMap " + c.Namespace + "/" + c.Name
	if err := json.Unmarshal([]byte(c.Data[headerKey]), &h); err != nil {
		return h, nil, fmt.Errorf("read the journal in %s: its key %s: %w", where, headerKey, err)
	}
	if h.Format != format {
		return h, nil, fmt.Errorf("read the journal in %s: its format is %d, and this holdfast knows %d: use the version of holdfast that wrote it", where, h.Format, format)
	}
	if c.Name != namePrefix+h.Run {
		return h, nil, fmt.Errorf("read the journal in %s: it says that it is of run %q: %w", where, h.Run, errNoEntry)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Data)) {
		if key == headerKey {
			continue
		}
		var e Entry
		if err := json.Unmarshal([]byte(c.Data[key]), &e); err != nil || e.key() != key {
			return h, nil, fmt.Errorf("read the journal in %s: its key %s is no entry: %w", where, key, errors.Join(err, errNoEntry))
		}
		if err := e.genuine(); err != nil {
			return h, nil, fmt.Errorf("read the journal in %s: its key %s: %w", where, key, err)
		}
		entries = append(entries, e)
	}
	return h, entries, nil
}

var errNoEntry = errors.New("another client has changed it; undo its changes by hand, and delete it")
