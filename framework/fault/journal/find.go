package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/fault/hold"
)

// Where is where journals are looked for.
type Where struct {
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	// Namespace is that of the ConfigMaps. Default: that of the Lease.
	Namespace string
	// Commands allows undoing commands; see Options.
	Commands func(run string, argv []string)
}

// Find reads the journals of a cluster, also those in which nothing is left to undo. One that cannot be read is in the error, and the others
// are returned. A journal of another cluster, which a backup may have brought here, is an error.
func Find(ctx context.Context, w Where) (all []*Journal, err error) {
	w.Namespace = cmp.Or(w.Namespace, hold.Namespace)
	list, err := list(ctx, w.Client, w.Namespace)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	cluster, err := clusterOf(ctx, w.Client)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, c := range list {
		j, err := load(c, w)
		if err == nil && j.header.Cluster != cluster {
			err = fmt.Errorf("ConfigMap %s/%s is the journal of another cluster, whose namespace kube-system has the UID %s, and not %s: delete it if a backup has brought it here",
				c.Namespace, c.Name, j.header.Cluster, cluster)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, j)
	}
	return all, errors.Join(errs...)
}

// load is the journal in a ConfigMap.
func load(c corev1.ConfigMap, w Where) (*Journal, error) {
	h, entries, err := parse(&c)
	if err != nil {
		return nil, err
	}
	j := New(Options{Run: h.Run, Command: h.Command, Client: w.Client, Dynamic: w.Dynamic, Namespace: c.Namespace, Commands: w.Commands})
	j.loaded, j.begun, j.header, j.entries, j.packed, j.stopped = true, true, h, entries, c.BinaryData, c.Annotations[StopKey]
	j.store = store{client: w.Client, namespace: c.Namespace, name: c.Name, manager: managerOf(h.Run), taker: c.Annotations[takenKey]}
	j.store.saw(&c)
	return j, nil
}

// FromFile is a journal from its local copy, for when its ConfigMap is gone. It must be of this cluster.
func FromFile(ctx context.Context, path string, w Where) (*Journal, error) {
	h, entries, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := e.genuine(); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, e, err)
		}
	}
	cluster, err := clusterOf(ctx, w.Client)
	if err != nil {
		return nil, err
	}
	if h.Cluster != cluster {
		return nil, fmt.Errorf("%s is the journal of another cluster, whose namespace kube-system has the UID %s, and not %s", path, h.Cluster, cluster)
	}
	w.Namespace = cmp.Or(w.Namespace, hold.Namespace)
	j := New(Options{Run: h.Run, Command: h.Command, Client: w.Client, Dynamic: w.Dynamic, Namespace: w.Namespace, Commands: w.Commands})
	j.loaded, j.header, j.entries = true, h, entries
	return j, nil
}

// TakeOver makes this process the only one that writes the journal, under a name for messages. The run that has begun it gets a TakenError from its
// next change.
func (j *Journal) TakeOver(ctx context.Context, by string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.begun {
		return nil
	}
	return j.store.take(ctx, by)
}

// Stop is why somebody has asked for an immediate undo; see StopKey. Empty: nobody has.
func (j *Journal) Stop() string { return j.stopped }

// AskToStop asks healers to undo everything at once, for a reason.
func (j *Journal) AskToStop(ctx context.Context, reason string) error {
	reason = cmp.Or(reason, "no reason was given")
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.store.write(ctx, patch{annotations: map[string]*string{StopKey: &reason}}); err != nil {
		return fmt.Errorf("ask run %s to stop: %w", j.o.Run, err)
	}
	j.stopped = reason
	return nil
}
