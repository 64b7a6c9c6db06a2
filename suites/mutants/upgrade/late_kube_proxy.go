package upgrade

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/journal"
	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/workloads"
)

// kubeadm's names for kube-proxy's DaemonSet and ConfigMap, and for the configuration in it.
const (
	kubeSystem  = "kube-system"
	kubeProxy   = "kube-proxy"
	proxyConfig = "config.conf"
)

const (
	// lateName is the name of the regression, and of the ConfigMap with the delayed configuration.
	lateName = "late-kube-proxy"
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
// each failure: a withdrawal explains failures of the 10 s after it (proxyLagAtMost in framework/invariant).
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
		plan: delayProxies,
		see: func(ctx context.Context, client kubernetes.Interface, _ bool) error {
			return poll.Until(ctx, "kube-proxy to be restarted on every node", rolloutLimit, func(ctx context.Context) (bool, string, error) {
				set, err := client.AppsV1().DaemonSets(kubeSystem).Get(ctx, kubeProxy, metav1.GetOptions{})
				if err != nil {
					return false, "", err
				}
				done, saw := restarted(set)
				return done, saw, nil
			})
		},
	},
}

// delayProxies gives kube-proxy another ConfigMap, with the delay: the changed pod template restarts it on every node. The original ConfigMap is not
// changed, so that the template alone decides which configuration a pod starts with.
func delayProxies(ctx context.Context, client kubernetes.Interface) ([]journal.Change, error) {
	config, err := client.CoreV1().ConfigMaps(kubeSystem).Get(ctx, kubeProxy, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read kube-proxy's configuration: %w", err)
	}
	set, err := client.AppsV1().DaemonSets(kubeSystem).Get(ctx, kubeProxy, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read kube-proxy's DaemonSet: %w", err)
	}
	volume := slices.IndexFunc(set.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.ConfigMap != nil && v.ConfigMap.Name == kubeProxy })
	if volume < 0 {
		return nil, fmt.Errorf("read kube-proxy's DaemonSet: it mounts no ConfigMap %s, or is delayed already", kubeProxy)
	}
	late := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: kubeSystem, Name: lateName, Labels: map[string]string{
			workloads.LabelName: lateName, workloads.LabelPartOf: workloads.PartOf, workloads.LabelComponent: "plant",
		}},
		Data: maps.Clone(config.Data),
	}
	delayed, err := delay(config.Data[proxyConfig])
	if err != nil {
		return nil, err
	}
	late.Data[proxyConfig] = delayed
	create, err := journal.CreateObject("configmaps", late)
	if err != nil {
		return nil, err
	}
	return []journal.Change{create, {
		What: "give kube-proxy another configuration", Action: journal.Set, Object: journal.Workload("daemonsets", kubeSystem, kubeProxy), UID: set.UID,
		Field: journal.Pointer("spec", "template", "spec", "volumes", strconv.Itoa(volume), "configMap", "name"), Value: lateName, Expect: kubeProxy,
	}}, nil
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

// restarted reports whether every node's pod has the current template and is available.
func restarted(set *appsv1.DaemonSet) (done bool, saw string) {
	s := set.Status
	saw = fmt.Sprintf("%d of %d restarted, %d available", s.UpdatedNumberScheduled, s.DesiredNumberScheduled, s.NumberAvailable)
	if s.ObservedGeneration < set.Generation {
		return false, "the change is not observed yet"
	}
	return s.DesiredNumberScheduled > 0 && s.UpdatedNumberScheduled == s.DesiredNumberScheduled && s.NumberAvailable == s.DesiredNumberScheduled, saw
}
