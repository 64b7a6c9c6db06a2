package upgrade

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

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
)

// kubeadm's names for kube-proxy's DaemonSet and ConfigMap, and for the configuration in it.
const (
	kubeSystem  = "kube-system"
	kubeProxy   = "kube-proxy"
	proxyConfig = "config.conf"
)

const (
	lateName = "late-kube-proxy"
	// planted is the annotation of what a regression has changed: kube-proxy's ConfigMap, where its value is the original
	// configuration, and the pod template of its DaemonSet.
	planted = "holdfast.dev/planted"
	// rolloutLimit bounds the restart of kube-proxy, which goes node by node. On two cores a node takes about five seconds.
	rolloutLimit = 5 * time.Minute
)

// proxyPause is the minSyncPeriod that kube-proxy gets, instead of one second: the pause after each change of its rules. It delays
// the withdrawal of endpoints as follows, by proxy/runner/bounded_frequency_runner.go in k8s.io/kubernetes (the same in v1.36 and
// v1.37, and for nftables, iptables and ipvs):
//
//   - syncProxyRules runs when a Service or an EndpointSlice has changed, and then not again until minSyncPeriod has passed since
//     it ended. Changes wait meanwhile. The first change after a quiet time is not delayed, and no setting delays it (syncPeriod
//     bounds retries after errors, configSyncPeriod makes informers repeat what they know).
//   - So a single change, such as the one pod of a drained node, is withdrawn in time. In a rolling update no pod is: a new pod
//     that becomes ready makes kube-proxy write its rules. The old pod that it replaces is deleted some tenths of a second later,
//     and its withdrawal waits for nearly the whole pause.
//
// 9 s are long enough for the old pod to refuse connections for 6 s after a preStop sleep of 3 s, and short enough to attribute
// each failure: a withdrawal explains failures of the 10 s after it (proxyLagAtMost in framework/judge/invariant).
const proxyPause = 9 * time.Second

// defaultSyncPeriod is kube-proxy's default. kube-proxy rejects a minSyncPeriod that is longer than syncPeriod.
const defaultSyncPeriod = 30 * time.Second

// lateKubeProxy makes kube-proxy keep the endpoints of deleted pods for too long.
//
// Source: https://kubernetes.io/docs/reference/config-api/kube-proxy-config.v1alpha1/
var lateKubeProxy = Regression{
	Name:  lateName,
	Does:  fmt.Sprintf("kube-proxy waits %s between two changes of its rules, and so removes endpoints late", proxyPause),
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
		revert: func(ctx context.Context, client kubernetes.Interface) error {
			was, err := configBefore(ctx, client)
			if err != nil || was == "" {
				return err
			}
			if err := restartProxies(ctx, client, was, nil); err != nil {
				return err
			}
			return markConfig(ctx, client, nil) // last, because the mark holds the original configuration
		},
	},
}

// delayProxies sets the delay. It first stores the original configuration in the ConfigMap, so that any process can revert the change.
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

// delay puts the pause into a configuration, for all modes.
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

// configBefore returns kube-proxy's original configuration; empty: it is not delayed, or kubeadm did not set it up.
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

// restartProxies changes kube-proxy's configuration, and returns when every node's kube-proxy runs with it. kube-proxy reads it
// at its start only, and the changed mark on the DaemonSet's pod template replaces the pods.
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

// restarted reports whether every node's pod has the current template and is available.
func restarted(set *appsv1.DaemonSet) (done bool, saw string) {
	s := set.Status
	saw = fmt.Sprintf("%d of %d restarted, %d available", s.UpdatedNumberScheduled, s.DesiredNumberScheduled, s.NumberAvailable)
	if s.ObservedGeneration < set.Generation {
		return false, "the change is not observed yet"
	}
	return s.DesiredNumberScheduled > 0 && s.UpdatedNumberScheduled == s.DesiredNumberScheduled && s.NumberAvailable == s.DesiredNumberScheduled, saw
}

// markConfig stores the original configuration as the mark; nil removes the mark.
func markConfig(ctx context.Context, client kubernetes.Interface, was *string) error {
	if was != nil && *was == "" {
		return errors.New("store kube-proxy's configuration: it is empty")
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
