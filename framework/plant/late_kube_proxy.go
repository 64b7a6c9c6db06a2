package plant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/poll"
)

// kubeadm's names for kube-proxy's DaemonSet and ConfigMap, and for the configuration in it.
const (
	kubeSystem  = "kube-system"
	kubeProxy   = "kube-proxy"
	proxyConfig = "config.conf"
)

const (
	lateName = "late-kube-proxy"
	// planted marks what a plant has changed: kube-proxy's ConfigMap, with the configuration as it was for its value, and its
	// DaemonSet's pods.
	planted = "holdfast.dev/planted"
	// rolloutLimit bounds the restart of kube-proxy, a node after the other. On two cores a node takes some five seconds.
	rolloutLimit = 5 * time.Minute
)

// proxyPause is what kube-proxy is told to let pass after each change of its rules before the next, in place of a second. How that
// delays a withdrawal, by proxy/runner/bounded_frequency_runner.go in k8s.io/kubernetes (the same in v1.36 and v1.37, and for
// nftables, iptables and ipvs):
//
//   - syncProxyRules runs when a Service or an EndpointSlice has changed, and then not again before minSyncPeriod has passed since
//     it ended. What changes meanwhile waits for that. The first change after a quiet time is not delayed at all: no setting
//     delays that one (syncPeriod bounds retries of what failed, configSyncPeriod has informers repeat what they know).
//   - So what is alone is withdrawn in time: one pod of a drained node. In a rolling update none is: a new pod that becomes ready
//     is such a change, and makes kube-proxy write its rules; the old pod that it replaces begins to end some tenths of a second
//     later, which has to wait for nearly all of the pause.
//
// 9 s are long enough for that old pod to have been refusing for 6 s, after a preStop sleep of 3 s; and short enough for each
// failure to be laid at its door: a withdrawal explains failures of the 10 s after it (proxyLagAtMost in framework/invariant).
const proxyPause = 9 * time.Second

// defaultSyncPeriod is kube-proxy's own. It refuses a minSyncPeriod that is longer than syncPeriod.
const defaultSyncPeriod = 30 * time.Second

// lateKubeProxy has kube-proxy keep endpoints of pods that have gone.
//
// Source: https://kubernetes.io/docs/reference/config-api/kube-proxy-config.v1alpha1/
var lateKubeProxy = Plant{
	Name:  lateName,
	Does:  fmt.Sprintf("kube-proxy lets %s pass between two changes of its rules, and so removes endpoints late", proxyPause),
	Cause: string(attribution.CauseLateWithdrawal),
	When:  AfterControlPlane,
	cluster: &change{
		make: delayProxies,
		left: func(ctx context.Context, client kubernetes.Interface) (string, error) {
			was, err := configBefore(ctx, client)
			if err != nil || was == "" {
				return "", err
			}
			return "the delay of kube-proxy", nil
		},
		undo: func(ctx context.Context, client kubernetes.Interface) error {
			was, err := configBefore(ctx, client)
			if err != nil || was == "" {
				return err
			}
			if err := restartProxies(ctx, client, was, nil); err != nil {
				return err
			}
			return markConfig(ctx, client, nil) // last: until then it is known what to undo
		},
	},
}

// delayProxies keeps the configuration as it was beside the new one, in one change: whoever finds it can undo it.
func delayProxies(ctx context.Context, client kubernetes.Interface) error {
	config, err := client.CoreV1().ConfigMaps(kubeSystem).Get(ctx, kubeProxy, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read kube-proxy's configuration: %w", err)
	}
	was := config.Data[proxyConfig]
	delayed, err := delay(was)
	if err != nil {
		return err
	}
	if err := markConfig(ctx, client, &was); err != nil {
		return err
	}
	return restartProxies(ctx, client, delayed, new(lateName))
}

// delay puts the pause into a configuration, for whatever mode it has.
func delay(config string) (string, error) {
	var all map[string]any
	if err := yaml.Unmarshal([]byte(config), &all); err != nil {
		return "", fmt.Errorf("read kube-proxy's configuration: %w", err)
	}
	if kind, _ := all["kind"].(string); kind != "KubeProxyConfiguration" {
		return "", fmt.Errorf("read kube-proxy's configuration: %s of ConfigMap %s is of kind %q", proxyConfig, kubeProxy, kind)
	}
	for _, mode := range []string{"nftables", "iptables", "ipvs"} {
		section, _ := all[mode].(map[string]any)
		if section == nil {
			section = map[string]any{}
			all[mode] = section
		}
		section["minSyncPeriod"] = proxyPause.String()
		section["syncPeriod"] = defaultSyncPeriod.String()
	}
	text, err := yaml.Marshal(all)
	return string(text), err
}

// configBefore is kube-proxy's configuration before it was delayed; empty: it is not delayed, or not kubeadm's.
func configBefore(ctx context.Context, client kubernetes.Interface) (string, error) {
	config, err := client.CoreV1().ConfigMaps(kubeSystem).Get(ctx, kubeProxy, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read kube-proxy's configuration: %w", err)
	}
	return config.Annotations[planted], nil
}

// restartProxies gives kube-proxy a configuration and sees every node's run with it: it is read at the start alone. The mark on
// the pods of the DaemonSet is what replaces them.
func restartProxies(ctx context.Context, client kubernetes.Interface, config string, mark *string) error {
	if err := patchConfig(ctx, client, map[string]any{"data": map[string]any{proxyConfig: config}}); err != nil {
		return err
	}
	template := map[string]any{"metadata": map[string]any{"annotations": map[string]any{planted: mark}}}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
	if err != nil {
		return err
	}
	_, err = client.AppsV1().DaemonSets(kubeSystem).Patch(ctx, kubeProxy, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("restart kube-proxy: %w", err)
	}
	return poll.Until(ctx, "kube-proxy to be restarted on every node", rolloutLimit, func(ctx context.Context) (bool, string, error) {
		set, err := client.AppsV1().DaemonSets(kubeSystem).Get(ctx, kubeProxy, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		done, saw := restarted(set)
		return done, saw, nil
	})
}

// restarted tells whether every node's pod is of the newest template and ready.
func restarted(set *appsv1.DaemonSet) (done bool, saw string) {
	s := set.Status
	saw = fmt.Sprintf("%d of %d restarted, %d available", s.UpdatedNumberScheduled, s.DesiredNumberScheduled, s.NumberAvailable)
	if s.ObservedGeneration < set.Generation {
		return false, "the change is not noticed yet"
	}
	return s.DesiredNumberScheduled > 0 && s.UpdatedNumberScheduled == s.DesiredNumberScheduled && s.NumberAvailable == s.DesiredNumberScheduled, saw
}

// markConfig keeps what the configuration was; nil removes the mark.
func markConfig(ctx context.Context, client kubernetes.Interface, was *string) error {
	if was != nil && *was == "" {
		return errors.New("keep kube-proxy's configuration: it is empty")
	}
	return patchConfig(ctx, client, map[string]any{"metadata": map[string]any{"annotations": map[string]any{planted: was}}})
}

func patchConfig(ctx context.Context, client kubernetes.Interface, change map[string]any) error {
	patch, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().ConfigMaps(kubeSystem).Patch(ctx, kubeProxy, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("change kube-proxy's configuration: %w", err)
	}
	return nil
}
