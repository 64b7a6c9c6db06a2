package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ConfigChange changes a ConfigMap or Secret of the workload by a key that no program asks for. Where running pods do not see that, or their
// template has a checksum of the configuration, a rolling update follows, as `kubectl rollout restart` or the checksum makes it. The undo takes the
// key out, and rolls back.
//
// Source: https://kubernetes.io/docs/concepts/configuration/configmap/#mounted-configmaps-are-updated-automatically
type ConfigChange struct {
	Config workloads.Config
}

func (c ConfigChange) String() string { return "change " + c.Config.String() }

const (
	// configKey is a hidden file where it is mounted, so that a program that reads all files of a folder passes it over.
	configKey = ".holdfast.dev-change"
	// configLimit bounds how long kubelets may take to bring a change to running pods: each looks at a pod every 60 to 90 s.
	configLimit = 3 * time.Minute
	// configLook is how often the nodes are asked. Each answer takes a process on each of them.
	configLook = 2 * time.Second
)

// findFiles prints those of some files that are there.
const findFiles = `for file in "$@"; do if [ -e "$file" ]; then echo "$file"; fi; done`

// Plan implements Fault. A change is active when it is in each of the workload's pods, by the files on their nodes, or when its rolling update was seen.
func (c ConfigChange) Plan(ctx context.Context, t Target) (Disruption, error) {
	if c.Config.Name == "" {
		return nil, fmt.Errorf("change the configuration of %s: none is named", t.Workload)
	}
	switch is, err := c.isSet(ctx, t); {
	case err != nil:
		return nil, err
	case is:
		return nil, fmt.Errorf("%s: it has the key %s already: remove it first", c, configKey)
	case c.Config.Rolls():
		return c.rolled(ctx, t)
	}
	files := configFiles{Target: t, config: c.Config}
	if _, err := files.look(ctx); err != nil {
		return nil, err
	}
	return &Effect{
		Do: func(ctx context.Context) error { return c.set(ctx, t, true) },
		See: func(ctx context.Context) (bool, Observation, error) {
			if is, err := c.isSet(ctx, t); !is || err != nil {
				return false, Observation{Witness: c.Config.String() + " is as it was"}, err
			}
			saw, err := files.look(ctx)
			return len(files.with) == files.all && files.all > 0, Observation{Pods: files.with, Hit: len(files.with), Witness: saw}, err
		},
		Undo: func(ctx context.Context) error {
			files.next = time.Time{}
			return c.set(ctx, t, false)
		},
		Restore: func(ctx context.Context) (witness string, err error) {
			err = poll.Until(ctx, "the pods of "+t.Workload+" to have "+c.Config.String()+" as it was", configLimit, func(ctx context.Context) (bool, string, error) {
				witness, err = files.look(ctx)
				return len(files.with) == 0, witness, err
			})
			return witness, err
		},
		Until: "the pods of " + t.Workload + " to have the change of " + c.Config.String(), Limit: configLimit,
	}, nil
}

// rolled is a change with the rolling update that follows it.
func (c ConfigChange) rolled(ctx context.Context, t Target) (Disruption, error) {
	planned, err := TryRollout{}.Plan(ctx, t)
	if err != nil {
		return nil, err
	}
	e := planned.(*Effect) // of Settling
	do, ask, undo := e.Do, e.Ask, e.Undo
	e.Do = func(ctx context.Context) error {
		if err := c.set(ctx, t, true); err != nil {
			return err
		}
		return do(ctx)
	}
	e.Ask = func(ctx context.Context) (bool, string, error) {
		if is, err := c.isSet(ctx, t); !is || err != nil {
			return false, c.Config.String() + " is as it was", err
		}
		return ask(ctx)
	}
	e.Undo = func(ctx context.Context) error { return errors.Join(c.set(ctx, t, false), undo(ctx)) }
	return e, nil
}

// isSet reports whether the object has the key.
func (c ConfigChange) isSet(ctx context.Context, t Target) (has bool, err error) {
	if c.Config.Kind == "Secret" {
		var s *corev1.Secret
		if s, err = t.Client.CoreV1().Secrets(t.Namespace).Get(ctx, c.Config.Name, metav1.GetOptions{}); err == nil {
			_, has = s.Data[configKey]
		}
	} else {
		var m *corev1.ConfigMap
		if m, err = t.Client.CoreV1().ConfigMaps(t.Namespace).Get(ctx, c.Config.Name, metav1.GetOptions{}); err == nil {
			_, has = m.Data[configKey]
		}
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", c.Config, err)
	}
	return has, nil
}

// set adds the key to the object, or takes it out: null is no value of a merge patch.
func (c ConfigChange) set(ctx context.Context, t Target, has bool) error {
	var value any
	switch {
	case has && c.Config.Kind == "Secret":
		value = []byte("changed") // in base64
	case has:
		value = "changed"
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]any{configKey: value}})
	if err == nil && c.Config.Kind == "Secret" {
		_, err = t.Client.CoreV1().Secrets(t.Namespace).Patch(ctx, c.Config.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	} else if err == nil {
		_, err = t.Client.CoreV1().ConfigMaps(t.Namespace).Patch(ctx, c.Config.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		return fmt.Errorf("change %s: %w", c.Config, err)
	}
	return nil
}

// configFiles are the files of a ConfigMap or Secret on the nodes of the workload's pods.
type configFiles struct {
	Target
	config workloads.Config

	next time.Time // of a look
	with []string  // the pods that have the change
	all  int
}

// look finds out which pods have the change, unless it has just been done.
func (f *configFiles) look(ctx context.Context) (saw string, err error) {
	if time.Now().Before(f.next) {
		return f.saw(), nil
	}
	pods, err := f.staying(ctx)
	if err != nil {
		return "", err
	}
	names, on := map[string]string{}, map[clusters.Node][]string{} // by file; files by node
	for name, p := range pods {
		machine, err := f.machineOf(p)
		if err != nil {
			return "", err
		}
		file := path.Join(kubeletFolder, "pods", string(p.UID), f.config.Folder, configKey)
		names[file], on[machine] = name, append(on[machine], file)
	}
	var with []string
	for machine, files := range on {
		out, err := machine.Exec(ctx, append([]string{"sh", "-c", findFiles, "find-files"}, files...)...)
		if err != nil {
			return "", fmt.Errorf("look for the change of %s on %s: %w", f.config, machine.Name(), err)
		}
		for file := range strings.FieldsSeq(string(out)) {
			with = append(with, names[file])
		}
	}
	slices.Sort(with)
	f.with, f.all, f.next = with, len(pods), time.Now().Add(configLook)
	return f.saw(), nil
}

func (f *configFiles) saw() string {
	return fmt.Sprintf("by the files on their nodes, %d of %s have the change of %s", len(f.with), plural(f.all, "pod"), f.config)
}
