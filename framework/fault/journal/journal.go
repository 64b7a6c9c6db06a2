package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/fault/hold"
)

// format is that of the journals that this version writes and reads.
const format = 1

// Options configure a journal. Client, Dynamic, Run and File are required.
type Options struct {
	// Run names the run: the ConfigMap is holdfast-RUN. It must be usable in a name of Kubernetes.
	Run     string
	Command string // its command line, for messages
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	// Namespace is that of the ConfigMap. Default: that of the Lease. It is created if it does not exist; see hold.Home.
	Namespace string
	// File is the local copy. Its folder is created.
	File string
	// Hold is this process's hold on the cluster. A change is made only while it is not lost. nil: nobody else can reach the cluster.
	Hold *hold.Hold
	// Duration is how long the changes may last. Then the healer undoes them, whatever the run does. Zero: as long as the run lives.
	Duration time.Duration
	// Commands allows undoing the commands of a journal that another process has begun, and is called with each before it is run. They come from the
	// cluster: who may write ConfigMaps there decides what is run. nil: none is run.
	Commands func(run string, argv []string)
}

// Journal makes changes and undoes them. Its methods may be called at the same time. The methods of a nil Journal do nothing, but for Do,
// which is an error.
type Journal struct {
	o      Options
	loaded bool // it was begun by another process

	mu      sync.Mutex
	begun   bool
	header  Header
	entries []Entry
	prints  []snapshot        // taken before the first change
	packed  map[string][]byte // those of a journal that was read and are not unpacked yet
	looked  map[int]time.Time // when an intended change was first seen not to have been made, by its number
	stopped string            // why somebody has asked to stop
	store   store
	file    *file
}

// New is a journal that is begun by its first change: until then nothing is written anywhere.
func New(o Options) *Journal {
	o.Namespace = cmp.Or(o.Namespace, hold.Namespace)
	return &Journal{o: o, looked: map[int]time.Time{}}
}

// Open begins a journal: the local file, and the ConfigMap with the fingerprint of all nodes. It is an error if
// another run has left changes that are not undone.
func Open(ctx context.Context, o Options) (*Journal, error) {
	j := New(o)
	j.mu.Lock()
	defer j.mu.Unlock()
	return j, j.begin(ctx)
}

// begin writes the journal without an entry. The caller holds the lock.
func (j *Journal) begin(ctx context.Context) error {
	if j.begun {
		return nil
	}
	if j.o.Run == "" || j.o.File == "" || j.o.Client == nil || j.o.Dynamic == nil {
		return errors.New("begin a journal: its options are incomplete")
	}
	if err := j.nothingLeft(ctx); err != nil {
		return fmt.Errorf("begin a journal: %w", err)
	}
	cluster, err := clusterOf(ctx, j.o.Client)
	if err != nil {
		return fmt.Errorf("begin a journal: %w", err)
	}
	j.header = Header{Format: format, Run: j.o.Run, Command: j.o.Command, Token: j.o.Hold.Token(), Cluster: cluster, Began: time.Now(), Duration: j.o.Duration}
	j.entries, j.prints = nil, nil
	f, err := j.before(ctx, allNodes)
	if err != nil {
		return fmt.Errorf("begin a journal: %w", err)
	}
	if j.file == nil {
		if j.file, err = createFile(j.o.File); err != nil {
			return err
		}
	}
	if err := j.file.add(line{Header: &j.header}); err != nil {
		return err
	}
	header, err := json.Marshal(j.header)
	if err != nil {
		return fmt.Errorf("begin a journal: %w", err)
	}
	if err := hold.Home(ctx, j.o.Client, j.o.Namespace); err != nil {
		return fmt.Errorf("begin a journal: %w", err)
	}
	j.store = store{client: j.o.Client, namespace: j.o.Namespace, name: namePrefix + j.o.Run, manager: managerOf(j.o.Run)}
	if err := j.store.create(ctx, patch{data: map[string]string{headerKey: string(header)}, binary: f.packed}); err != nil {
		return err
	}
	j.begun, j.prints = true, f.all
	return nil
}

// nothingLeft is an error if another journal has changes that are not undone.
func (j *Journal) nothingLeft(ctx context.Context) error {
	list, err := list(ctx, j.o.Client, j.o.Namespace)
	if err != nil {
		return err
	}
	for _, c := range list {
		h, entries, err := parse(&c)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(entries, func(e Entry) bool { return !e.Finished() }) {
			return fmt.Errorf("run %s has left changes in this cluster that are not undone: run 'holdfast heal' first", h.Run)
		}
	}
	return nil
}

// clusterOf identifies a cluster: by the UID of its namespace kube-system.
func clusterOf(ctx context.Context, client kubernetes.Interface) (types.UID, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	n, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("identify the cluster by its namespace %s: %w", metav1.NamespaceSystem, err)
	}
	return n.UID, nil
}

// list are the ConfigMaps of journals. A namespace that does not exist has none.
func list(ctx context.Context, client kubernetes.Interface, namespace string) ([]corev1.ConfigMap, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	all, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: labelComponent + "=" + component + "," + labelPartOf + "=" + partOf})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for journals in namespace %s: %w", namespace, err)
	}
	return all.Items, nil
}

// Header returns what is true of all entries.
func (j *Journal) Header() Header {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.header
}

// Entries are the entries, the oldest first.
func (j *Journal) Entries() []Entry {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries)
}

// Unfinished are the entries that still have to be undone, the oldest first.
func (j *Journal) Unfinished() []Entry {
	return slices.DeleteFunc(j.Entries(), Entry.Finished)
}

func (j *Journal) entry(seq int) Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return *j.numbered(seq)
}

// numbered is the entry of a number. A journal that was read may lack one: it was never written to the ConfigMap, and so its change was never made.
// The caller holds the lock.
func (j *Journal) numbered(seq int) *Entry {
	return &j.entries[slices.IndexFunc(j.entries, func(e Entry) bool { return e.Seq == seq })]
}

// intend writes down a change before it is made, with the fingerprint of its object: first in the local file, then in the cluster. If either
// fails, the change must not be made.
func (j *Journal) intend(ctx context.Context, e Entry, lasts time.Duration) (Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.begin(ctx); err != nil {
		return e, err
	}
	f, err := j.before(ctx, touched(e.Object, e.Action)...)
	if err != nil {
		return e, err
	}
	e.Seq = len(j.entries) + 1
	switch now := time.Now(); {
	case lasts > 0:
		e.Deadline = now.Add(lasts)
	case j.header.Duration > 0:
		e.Deadline = j.header.Began.Add(j.header.Duration)
	}
	if err := j.file.add(line{Entry: &e}); err != nil {
		return e, err
	}
	j.entries = append(j.entries, e) // from now on it may be in the cluster, whatever the answer is
	text, err := json.Marshal(e)
	if err != nil {
		return e, fmt.Errorf("write the journal: %w", err)
	}
	if err := j.store.write(ctx, patch{data: map[string]string{e.key(): string(text)}, binary: f.packed}); err != nil {
		return e, err
	}
	j.prints = append(j.prints, f.all...)
	return e, nil
}

// note changes an entry and writes it down: in memory in any case, and then in both places as far as possible.
func (j *Journal) note(ctx context.Context, seq int, change func(*Entry)) (Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.numbered(seq)
	change(e)
	var errs []error
	if j.file != nil {
		errs = append(errs, j.file.add(line{Entry: e}))
	}
	text, err := json.Marshal(e)
	if err == nil && j.begun {
		err = j.store.write(ctx, patch{data: map[string]string{e.key(): string(text)}})
	}
	return *e, errors.Join(append(errs, err)...)
}

// Seen writes down what a witness has seen of a change, in words.
func (j *Journal) Seen(ctx context.Context, seq int, witness string) error {
	_, err := j.note(ctx, seq, func(e *Entry) { e.State, e.Witness = Seen, witness })
	return err
}

// Clear removes the ConfigMap of a journal in which nothing is left to undo. The next change begins a new one. The local file stays.
func (j *Journal) Clear(ctx context.Context) error {
	if j == nil {
		return nil
	}
	if left := j.Unfinished(); len(left) > 0 {
		return fmt.Errorf("remove the journal of run %s: %s is not undone", j.o.Run, left[0])
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.begun {
		return nil
	}
	if err := j.store.remove(ctx); err != nil {
		return err
	}
	j.begun, j.entries, j.prints = false, nil, nil
	return nil
}
