// Package inside makes the load workers of a recording in the recorded cluster: a Job of restricted pods in a namespace of its own, which is
// all that a recording ever writes. Everything is removed with the namespace. Where holdfast disturbs the cluster, an administrator has given it a
// namespace, in which the Job is made and removed.
//
// It uses no other namespace, and deletes only what still has the UID of what it has made.
package inside

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/load/workers"
	"github.com/holdfast-ha/holdfast/framework/run/recording"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Options say which workers are made.
type Options struct {
	// Image is the reference of an image of this version of holdfast, from which the nodes pull.
	Image string
	// Workers is how many there are; 0: 1.
	Workers int
	// For is how long the load may last. The cluster ends the workers then, and marks the namespace with the time, so that whoever finds it knows
	// that nobody needs it any more.
	For time.Duration
	// Home is holdfast's own namespace, which is there and stays. Empty: one is made, and removed.
	Home string
	// Avoid are the nodes that get no worker, because they are to be disturbed.
	Avoid []string
}

const (
	// slack is how much longer workers last than the load, to be collected.
	slack = 15 * time.Minute
	// readyLimit is how long the image may take to be pulled, and the workers to be ready.
	readyLimit = 5 * time.Minute
	// removeLimit is how long the namespace may take to be gone.
	removeLimit = 2 * time.Minute
)

// Needs are the permissions without which no worker can be made, reached and removed, in a namespace that is made for them. What they need in Home,
// the plan of who disturbs the cluster has asked for.
func Needs() (all []existing.Permission) {
	for _, p := range []struct{ verbs, group, resource, sub string }{
		{"create get delete", "", "namespaces", ""}, {"create", "batch", "jobs", ""}, {"get list", "", "pods", ""}, {"get create update", "", "pods", "proxy"},
	} {
		for verb := range strings.FieldsSeq(p.verbs) {
			all = append(all, existing.Permission{Verb: verb, Group: p.group, Resource: p.resource, Subresource: p.sub})
		}
	}
	return all
}

// Workers makes load workers for recordings. The configuration is that of a user who may write; see Needs.
func Workers(config *rest.Config, o Options) recording.Inside {
	o.Workers = cmp.Or(o.Workers, 1)
	return func(ctx context.Context) ([]collect.Worker, *http.Client, func(context.Context) error, error) {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, nil, nil, err
		}
		m := &maker{options: o, client: client, config: config}
		return m.make(ctx)
	}
}

// maker makes the workers of one recording.
type maker struct {
	options   Options
	client    kubernetes.Interface
	config    *rest.Config
	namespace *corev1.Namespace
}

func (m *maker) make(ctx context.Context) ([]collect.Worker, *http.Client, func(context.Context) error, error) {
	if m.options.Home != "" {
		return m.atHome(ctx)
	}
	missing, err := existing.Missing(ctx, m.client, Needs()...)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case len(missing) > 0:
		return nil, nil, nil, fmt.Errorf("this user must not %s: have the load sent from where holdfast runs (--load outside), or ask for the permission", missing[0])
	}
	if err := m.makeNamespace(ctx); err != nil {
		return nil, nil, nil, err
	}
	done := interrupt.Of(ctx).Add(interrupt.Pending{
		Undo: "remove namespace " + m.namespace.Name, Done: "namespace " + m.namespace.Name + " is removed",
		Left: "namespace " + m.namespace.Name + " is left, with load workers that send no more requests: kubectl delete namespace " + m.namespace.Name,
	})
	remove := func(ctx context.Context) error {
		err := m.remove(ctx)
		if err == nil {
			done()
		}
		return err
	}
	all, client, err := m.work(ctx)
	return all, client, remove, err
}

// atHome makes the workers in the namespace that is there.
func (m *maker) atHome(ctx context.Context) ([]collect.Worker, *http.Client, func(context.Context) error, error) {
	m.namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.options.Home}}
	all, client, err := m.work(ctx)
	return all, client, func(ctx context.Context) error { return workers.Remove(ctx, m.client, m.options.Home) }, err
}

// makeNamespace makes a namespace with a name that nothing else has.
func (m *maker) makeNamespace(ctx context.Context) (err error) {
	n := workloads.Namespace("")
	n.GenerateName = hold.LoadPrefix
	n.Annotations = hold.Expiring(time.Now().Add(m.options.For + slack))
	m.namespace, err = m.client.CoreV1().Namespaces().Create(ctx, n, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("make a namespace for the load workers: %w", err)
	}
	return nil
}

// work creates the Job, and waits until its workers are ready.
func (m *maker) work(ctx context.Context) ([]collect.Worker, *http.Client, error) {
	token := collect.NewToken()
	w := workloads.Load{
		Workers: m.options.Workers, Anywhere: true, NotOn: m.options.Avoid, Deadline: m.options.For + slack, TokenSum: collect.TokenSum(token),
	}
	objects, err := w.Objects(workloads.Place{Namespace: m.namespace.Name, Image: m.options.Image, Pull: corev1.PullIfNotPresent})
	if err != nil {
		return nil, nil, err
	}
	for _, o := range objects {
		job, is := o.(*batchv1.Job)
		if !is {
			return nil, nil, fmt.Errorf("make the load workers: unexpected %T", o)
		}
		if _, err := m.client.BatchV1().Jobs(m.namespace.Name).Create(ctx, job, metav1.CreateOptions{}); err != nil {
			return nil, nil, fmt.Errorf("make the load workers: %w", err)
		}
	}
	pods := workers.Pods{Client: m.client, Config: m.config, Namespace: m.namespace.Name, Token: token}
	all, err := pods.Ready(ctx, m.options.Workers, readyLimit)
	if err != nil {
		return nil, nil, err
	}
	client, err := rest.HTTPClientFor(m.config)
	if err != nil {
		return nil, nil, err
	}
	return all, client, err
}

// remove deletes the namespace that was made, and no other of its name. It waits until the namespace is gone.
func (m *maker) remove(ctx context.Context) error {
	uid := m.namespace.UID
	return poll.Until(ctx, "namespace "+m.namespace.Name+" to be gone", removeLimit, func(ctx context.Context) (bool, string, error) {
		there, err := m.client.CoreV1().Namespaces().Get(ctx, m.namespace.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && there.UID != uid:
			return true, "", nil
		case err != nil:
			return false, "", err
		case there.DeletionTimestamp != nil:
			return false, string(there.Status.Phase), nil
		}
		err = m.client.CoreV1().Namespaces().Delete(ctx, m.namespace.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, "being deleted", err
	})
}

// ErrNoImage means that there is no image for the workers.
var ErrNoImage = errors.New("load from inside of the cluster needs an image of this holdfast that the nodes can pull: name it with --image")
