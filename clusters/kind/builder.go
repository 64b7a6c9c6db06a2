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

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"
	kindexec "sigs.k8s.io/kind/pkg/exec"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// creating serializes kind's Create, which reads the network's name from the environment of this process.
var creating sync.Mutex

// builder creates the containers of one cluster and starts Kubernetes in them.
type builder struct {
	e      runner
	log    *slog.Logger
	name   string
	record clusterRecord
	config *v1alpha4.Cluster
}

// claim reserves the cluster's name by creating its network, so that cleaning up after a failure never removes parts of another
// cluster. It removes the files of an earlier cluster of that name, whose containers may have vanished without us: the marks among
// them would let the new cluster outlive its maker.
func (b builder) claim(ctx context.Context) error {
	err := reserve(ctx, b.e, b.name, b.record)
	if errors.Is(err, errTaken) {
		return err
	}
	if err == nil {
		if err = forget(b.name); err == nil {
			return nil
		}
		err = fmt.Errorf("%w; they are of an earlier cluster of this name: remove them, or choose another name", err)
	}
	// The network may also have been created just before an interruption. An engine refuses to remove a network that is in use.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), actWithin)
	defer cancel()
	_, _ = b.e.Output(ctx, "network", "rm", prefix+b.name) // a failed reservation usually left no network, and the engine then returns an error
	return err
}

// make runs kind's Create, and starts Kubernetes where kind does not. kind does not accept a context: when ctx ends, its containers are
// removed until kind gives up.
func (b builder) make(ctx context.Context) error {
	kubeconfig, err := kubeconfigPath(b.name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(kubeconfig), 0o755); err != nil {
		return err
	}
	if b.record.Spec.Plain {
		if err := writeAuditPolicy(b.name); err != nil {
			return err
		}
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
	if err := b.runKind(ctx, kubeconfig); err != nil || !b.startsItself() {
		return err
	}
	planned := members(b.name, b.record.Spec)
	cluster := bootstrap{Engine: b.e, Log: b.log, Name: prefix + b.name, First: planned[0].name, Beside: b.beside}
	for _, m := range planned[1:] {
		cluster.Others = append(cluster.Others, m.name)
	}
	return cluster.Start(ctx, kubeconfig)
}

// beside is what happens while nodes join.
func (b builder) beside(ctx context.Context, client kubernetes.Interface) error {
	config, err := restConfig(b.e, b.name)
	if err != nil {
		return err
	}
	both, ctx := errgroup.WithContext(ctx)
	if !b.record.Spec.Plain {
		both.Go(func() error { return firstWitness(ctx, client) })
	}
	both.Go(func() error { return clusters.Answering(ctx, config) })
	return both.Wait()
}

// startsItself reports whether Kubernetes is started by a bootstrap and not by kind.
func (b builder) startsItself() bool {
	return b.config.Networking.DisableDefaultCNI && b.record.Spec.ControlPlanes == 1
}

func (b builder) runKind(ctx context.Context, kubeconfig string) error {
	creating.Lock()
	defer creating.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	variable := "KIND_EXPERIMENTAL_" + strings.ToUpper(b.e.Name()) + "_NETWORK"
	if err := os.Setenv(variable, prefix+b.name); err != nil {
		return err
	}
	provider := kindcluster.NewProvider(kindcluster.ProviderWithLogger(logger{b.log}), kindOption(b.e))
	return provider.Create(prefix+b.name,
		kindcluster.CreateWithV1Alpha4Config(b.config),
		kindcluster.CreateWithKubeconfigPath(kubeconfig),
		kindcluster.CreateWithRetain(true), // discard removes the remains, and checks that they are gone
		kindcluster.CreateWithStopBeforeSettingUpKubernetes(b.startsItself()),
	)
}

// interrupt removes the containers while kind is running, so that kind's next command fails. It keeps the network: kind would
// recreate it without our labels.
func (b builder) interrupt(ctx context.Context, done <-chan error) error {
	return poll.Until(context.WithoutCancel(ctx), "kind to give up", deleteWithin, func(ctx context.Context) (bool, string, error) {
		err := deleteContainers(ctx, b.e, b.name) // after an error the next attempt or discard will remove them
		select {
		case err := <-done:
			b.log.Debug("kind gave up after its containers were removed", "error", err)
			return true, "", nil
		default:
			return false, "it is still running", err
		}
	})
}

// quietLooks is how many times in a row nothing of a cluster must be found before the cluster counts as gone: kind continues to
// create containers for a moment after it has returned an error.
const quietLooks = 3

// discard removes everything that was created, even if ctx has ended.
func (b builder) discard(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteWithin)
	defer cancel()
	var quiet int
	err := settle(ctx, "its parts to be gone", deleteWithin, func(ctx context.Context) []string {
		running := children(b.name)
		removed, err := Delete(ctx, b.e, b.name)
		if err != nil {
			quiet = 0
			return []string{err.Error()}
		}
		if running > 0 || !removed.Nothing() {
			quiet = 0
			return []string{fmt.Sprintf("%d commands of kind are still running", running)}
		}
		if quiet++; quiet < quietLooks {
			return []string{"kind may still create containers"}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: remove cluster %s: %w; try 'holdfast down %s'", clusters.ErrLeft, b.name, err, b.name)
	}
	return nil
}

// explain adds the output of a command inside a node to an error of kind.
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

// explainLines is how many lines of a command's output an error shows: kubeadm prints its reason within the last few lines.
const explainLines = 6
