package run

import (
	"context"
	"fmt"
	"path/filepath"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/journal"
	"github.com/holdfast-ha/holdfast/framework/self"
)

// journalOf is the journal of a cluster for this run. Nothing is written before the first change that needs it.
func (p *pool) journalOf(c clusters.Cluster) (*journal.Journal, error) {
	if p.journal != nil {
		return p.journal, nil
	}
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return nil, fmt.Errorf("connect to cluster %s: %w", c.Name(), err)
	}
	untyped, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		return nil, fmt.Errorf("connect to cluster %s: %w", c.Name(), err)
	}
	p.journal = journal.New(journal.Options{
		Run: p.settings.RunID, Command: self.CommandLine(), Client: client, Dynamic: untyped, Hold: p.hold,
		File: filepath.Join(p.settings.Dir, "journal-"+c.Name()+".jsonl"),
	})
	return p.journal, nil
}

// undoRest undoes what the faults' own reverts have left in the journal, and removes it from the cluster.
func (p *play) undoRest(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revertLimit)
	defer cancel()
	j := p.target.Journal
	if err := j.Undo(ctx); err != nil {
		return err
	}
	return j.Clear(ctx)
}
