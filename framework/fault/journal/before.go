package journal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-ha/holdfast/framework/fault/journal/fingerprint"
)

// snapshot is the fingerprint of one object, or, if Of has no name, of all objects of a resource. Unread is why there is none.
type snapshot struct {
	Of     Object            `json:"of"`
	Salt   string            `json:"salt,omitempty"` // of the values that are hidden; see fingerprint.Of
	Print  fingerprint.Print `json:"print"`
	Unread string            `json:"unread,omitempty"`
}

// The collections that a fingerprint contains: every node, the budgets of each namespace with an object that is changed, and the claims of each
// namespace with a StatefulSet that is changed: its controller makes and deletes them.
var allNodes = Object{Version: "v1", Resource: "nodes"}

func budgetsOf(namespace string) Object {
	return Object{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets", Namespace: namespace}
}

func claimsOf(namespace string) Object {
	return Object{Version: "v1", Resource: "persistentvolumeclaims", Namespace: namespace}
}

// snapshotKey is a key of the ConfigMap's binary data.
func snapshotKey(n int) string { return fmt.Sprintf("before-%06d", n) }

// pageSize bounds one answer of a list.
const pageSize = 500

func (j *Journal) at(o Object) dynamic.ResourceInterface {
	if o.Namespace == "" {
		return j.o.Dynamic.Resource(o.gvr())
	}
	return j.o.Dynamic.Resource(o.gvr()).Namespace(o.Namespace)
}

// get reads an object, or its subresource. API servers leave the managed fields out of the subresource scale: they are those of the whole object.
func (j *Journal) get(ctx context.Context, o Object) (*unstructured.Unstructured, error) {
	read, err := j.getOne(ctx, o)
	if err != nil || o.Subresource == "" || len(read.GetManagedFields()) > 0 {
		return read, err
	}
	whole, err := j.getOne(ctx, o.whole())
	if err == nil && whole.GetResourceVersion() == read.GetResourceVersion() { // otherwise it is not known who has set which field
		read.SetManagedFields(whole.GetManagedFields())
	}
	return read, nil
}

func (j *Journal) getOne(ctx context.Context, o Object) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var sub []string
	if o.Subresource != "" {
		sub = []string{o.Subresource}
	}
	read, err := j.at(o).Get(ctx, o.Name, metav1.GetOptions{}, sub...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", o, err)
	}
	return read, nil
}

// take is the fingerprint of an object, or of a collection. An object that is not there has none.
func (j *Journal) take(ctx context.Context, of Object, salt string) (snapshot, []unstructured.Unstructured, error) {
	s := snapshot{Of: of, Salt: salt, Print: fingerprint.Print{}}
	objects, err := j.list(ctx, of)
	for _, o := range objects {
		s.Print[o.GetName()] = fingerprint.Of(&o, salt)
	}
	return s, objects, err
}

func (j *Journal) list(ctx context.Context, of Object) (objects []unstructured.Unstructured, err error) {
	if of.Name != "" {
		o, err := j.get(ctx, of.whole())
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return []unstructured.Unstructured{*o}, nil
	}
	o := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := j.page(ctx, of, o)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", strings.TrimSuffix(of.String(), "/"), err)
		}
		objects = append(objects, page.Items...)
		if o.Continue = page.GetContinue(); o.Continue == "" {
			return objects, nil
		}
	}
}

func (j *Journal) page(ctx context.Context, of Object, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return j.at(of).List(ctx, o)
}

// fresh are fingerprints that are about to be written down.
type fresh struct {
	all    []snapshot
	packed map[string][]byte // by the keys of the ConfigMap
}

// before takes the fingerprints that have to be written down before objects are changed: those that the journal does not have yet. What
// this user may not read is noted. The caller holds the lock.
func (j *Journal) before(ctx context.Context, of ...Object) (f fresh, err error) {
	f.packed = map[string][]byte{}
	for _, o := range of {
		if slices.ContainsFunc(slices.Concat(j.prints, f.all), func(s snapshot) bool { return s.Of == o }) {
			continue
		}
		s, _, err := j.take(ctx, o, rand.Text())
		if apierrors.IsForbidden(err) {
			s.Unread = strings.TrimSuffix(o.String(), "/") + ": no permission to read it"
		} else if err != nil {
			return f, err
		}
		if f.packed[snapshotKey(len(j.prints)+len(f.all))], err = fingerprint.Pack(s); err != nil {
			return f, err
		}
		f.all = append(f.all, s)
	}
	return f, nil
}

// touched are the objects and collections whose fingerprints an entry needs. A pod that is evicted or deleted has none: it is never the same
// again. Neither has an object that the entry creates.
func touched(o Object, a Action) (all []Object) {
	if a != Set {
		return nil
	}
	if o.whole() != node(o.Name) {
		all = append(all, o.whole())
	}
	if o.Namespace != "" {
		all = append(all, budgetsOf(o.Namespace))
	}
	if o.Group == "apps" && o.Resource == "statefulsets" {
		all = append(all, claimsOf(o.Namespace))
	}
	return all
}

// fingerprints are those from before the first change, in the order in which they were taken, and the entries. Those of a journal that was read are
// unpacked here, and not before: a healer, which does not compare, has no room for them.
func (j *Journal) fingerprints() (all []snapshot, entries []Entry, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(j.packed)) {
		var s snapshot
		if err := errors.Join(fingerprint.Unpack(j.packed[key], &s), s.genuine(j.entries)); err != nil {
			return nil, nil, fmt.Errorf("read the journal of run %s: its key %s: %w", j.o.Run, key, err)
		}
		all = append(all, s)
	}
	if j.packed != nil {
		j.prints, j.packed = all, nil
	}
	return slices.Clone(j.prints), slices.Clone(j.entries), nil
}
