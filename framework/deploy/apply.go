package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// FieldManager is the owner of the fields that holdfast applies.
const FieldManager = "holdfast"

// applyLimit is how long an object may take to be accepted, while webhooks start and kinds are being defined.
const applyLimit = 2 * time.Minute

// apply applies one object. A kind that the API server does not know may be defined by an object, or by an operator, that was just
// created.
func (d *Deployment) apply(ctx context.Context, m app.Manifest) error {
	var refused error
	err := poll.Until(ctx, "the API server to accept it", applyLimit, func(ctx context.Context) (bool, string, error) {
		client, own, err := d.client(m)
		if meta.IsNoMatchError(err) {
			if !d.mayDefine(m) {
				refused = err
				return true, "", nil
			}
			d.Mapper.Reset()
			return false, "", err
		}
		if err == nil {
			err = d.send(ctx, client, own, m)
		}
		if err != nil && !again(err) {
			refused = fmt.Errorf("%w%s", err, trusting(err.Error()))
			return true, "", nil
		}
		return err == nil, "", err
	})
	return errors.Join(err, refused)
}

// again reports whether the same request may succeed later: the API server was away or busy, or a webhook is still starting.
func again(err error) bool {
	if isMalformed(err) {
		return false
	}
	return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) ||
		apierrors.ReasonForError(err) == metav1.StatusReasonUnknown && !errors.Is(err, errForeign)
}

// isMalformed reports whether an object is not one of its kind, as the API server or its client says with an error that has no reason: a field
// that the kind does not have, or two elements of a list with the same key.
func isMalformed(err error) bool {
	return strings.Contains(err.Error(), "failed to create typed patch object") || strings.Contains(err.Error(), "managed fields already set")
}

// errForeign refuses an object that somebody else has created.
var errForeign = errors.New("it exists already, and holdfast did not create it: remove it, or leave it out of the manifests of the test")

// mayDefine reports whether the kind of an object may still be defined: by the application, or by what runs before it.
func (d *Deployment) mayDefine(m app.Manifest) bool {
	if d.App.Defines(m.Object.GroupVersionKind().GroupKind()) {
		return true
	}
	for _, before := range d.App.Before.Objects {
		if spec, _ := before.PodSpec(); spec != nil {
			return true
		}
	}
	return false
}

// client is where an object of a manifest is. own says that it is deleted with its namespace.
func (d *Deployment) client(m app.Manifest) (client dynamic.ResourceInterface, own bool, err error) {
	kind := m.Object.GroupVersionKind()
	mapping, err := d.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, false, err
	}
	resource := d.Dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return resource, false, nil
	}
	in := m.Object.GetNamespace()
	return resource.Namespace(in), in != metav1.NamespaceSystem, nil
}

// send applies an object. An object that is not deleted with its namespace is marked as ours, and never replaces somebody else's.
func (d *Deployment) send(ctx context.Context, client dynamic.ResourceInterface, own bool, m app.Manifest) error {
	o := m.Object.DeepCopy()
	options := metav1.ApplyOptions{FieldManager: FieldManager, Force: true, DryRun: d.dry}
	if own {
		_, err := client.Apply(ctx, o.GetName(), o, options)
		return err
	}
	if o.GetNamespace() != metav1.NamespaceSystem {
		o.SetNamespace("")
	}
	there, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
	switch {
	case err == nil && there.GetLabels()[workloads.LabelPartOf] != workloads.PartOf:
		return errForeign
	case err != nil && !apierrors.IsNotFound(err):
		return err
	}
	marks := o.GetLabels()
	if marks == nil {
		marks = map[string]string{}
	}
	marks[workloads.LabelPartOf] = workloads.PartOf
	o.SetLabels(marks)
	if _, err := client.Apply(ctx, o.GetName(), o, options); err != nil {
		return err
	}
	if d.dry == nil {
		d.Outside(o)
	}
	return nil
}
