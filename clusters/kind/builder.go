package kind

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"
	kindexec "sigs.k8s.io/kind/pkg/exec"

	"github.com/holdfast-ha/holdfast/clusters"
)

// creating is held while kind creates: it takes the network's name from this process's environment.
var creating sync.Mutex

// builder makes the containers of one cluster, with Kubernetes running in them.
type builder struct {
	e      runner
	log    *slog.Logger
	name   string
	record record
	config *v1alpha4.Cluster
}

// claim takes the cluster's name: nothing of another cluster may be removed when the rest goes wrong.
func (b builder) claim(ctx context.Context) error {
	err := makeNetwork(ctx, b.e, b.name, b.record)
	if err != nil && !errors.Is(err, errTaken) {
		// It may have been made in the moment of the interruption. An engine keeps a network that is in use.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), actWithin)
		defer cancel()
		_, _ = b.e.Output(ctx, "network", "rm", Prefix+b.name) // mostly there is none, which is an error
	}
	return err
}

// make returns when kind has. kind takes no context: when ctx ends, its containers are taken away until it gives up.
func (b builder) make(ctx context.Context) error {
	kubeconfig, err := kubeconfigPath(b.name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(kubeconfig), 0o755); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- b.create(ctx, kubeconfig) }()
	select {
	case err := <-done:
		return explain(err)
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), b.interrupt(ctx, done))
	}
}

func (b builder) create(ctx context.Context, kubeconfig string) error {
	creating.Lock()
	defer creating.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	variable := "KIND_EXPERIMENTAL_" + strings.ToUpper(b.e.Name()) + "_NETWORK"
	if err := os.Setenv(variable, Prefix+b.name); err != nil {
		return err
	}
	provider := kindcluster.NewProvider(kindcluster.ProviderWithLogger(logger{b.log}), kindOption(b.e))
	return provider.Create(Prefix+b.name,
		kindcluster.CreateWithV1Alpha4Config(b.config),
		kindcluster.CreateWithKubeconfigPath(kubeconfig),
		kindcluster.CreateWithRetain(true), // what is left is removed here, where it is also seen to be gone
	)
}

// interrupt takes the containers away from under kind, whose next command then fails. It leaves the network: kind would
// make it again, without our labels.
func (b builder) interrupt(ctx context.Context, done <-chan error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
	defer cancel()
	for {
		if err := removeMachines(ctx, b.e, b.name); err != nil {
			b.log.Debug("take the containers away from under kind", "error", err) // the next time, or discard, will
		}
		select {
		case err := <-done:
			b.log.Debug("kind gave up, as it was made to", "error", err)
			return nil
		case <-ctx.Done():
			return fmt.Errorf("stop kind: %w", ctx.Err())
		case <-time.After(lookEvery):
		}
	}
}

// quietLooks is how many times in a row nothing of a cluster may be found until it counts as gone: kind goes on making
// containers for a moment after it has returned an error.
const quietLooks = 3

// discard removes all that was made, also when ctx has ended.
func (b builder) discard(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
	defer cancel()
	var quiet int
	err := settle(ctx, removeWithin, func(ctx context.Context) []string {
		running := children(b.name)
		removed, err := remove(ctx, b.e, b.name)
		if err != nil {
			quiet = 0
			return []string{err.Error()}
		}
		if running > 0 || !removed.Nothing() {
			quiet = 0
			return []string{fmt.Sprintf("%d commands of kind's still run", running)}
		}
		if quiet++; quiet < quietLooks {
			return []string{"more may come"}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: remove what was made of cluster %s: %w; try 'holdfast down %s'", clusters.ErrLeft, b.name, err, b.name)
	}
	return nil
}

// explain turns an error of kind's into one that says what a command inside a node has said.
func explain(err error) error {
	if err == nil {
		return nil
	}
	run := kindexec.RunErrorForError(err)
	if run == nil {
		return err
	}
	return fmt.Errorf("%w: %s", err, tail(string(run.Output), explainLines))
}

// explainLines of a command's output are shown: kubeadm puts its reason within the last few.
const explainLines = 6
