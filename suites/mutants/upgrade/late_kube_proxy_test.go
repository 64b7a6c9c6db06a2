package upgrade

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/workloads"
)

func TestLateKubeProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, began := newCluster(), time.Now()
		before := state(t, client)
		client.ClearActions()
		revert, err := lateKubeProxy.Apply(t.Context(), client)
		must(t, err)
		if time.Since(began) == 0 {
			t.Error("it did not wait until the restart was complete")
		}
		planted := state(t, client)
		if planted.Template["holdfast.dev/planted"] != "late-kube-proxy" || planted.Notes["holdfast.dev/planted"] != kubeadmsConfig ||
			planted.Config["kubeconfig.conf"] != "kind: Config" {
			t.Errorf("planted: %+v", planted)
		}
		checkDelay(t, planted.Config[proxyConfig])
		// The original configuration is stored before anything else changes.
		want := []string{"patch configmaps kube-proxy", "patch configmaps kube-proxy", "patch daemonsets kube-proxy"}
		if diff := cmp.Diff(want, changes(client)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		must(t, revert(t.Context()))
		if diff := cmp.Diff(before, state(t, client)); diff != "" {
			t.Errorf("what was left (-before +after):\n%s", diff)
		}
	})
}

// checkDelay checks the delay for each mode, in a configuration that kube-proxy accepts, and that nothing else has changed.
func checkDelay(t *testing.T, text string) {
	t.Helper()
	var was, is map[string]any
	must(t, yaml.Unmarshal([]byte(kubeadmsConfig), &was))
	must(t, yaml.Unmarshal([]byte(text), &is))
	for _, mode := range []string{"nftables", "iptables", "ipvs"} {
		section, _ := is[mode].(map[string]any)
		if section["minSyncPeriod"] != "9s" || section["syncPeriod"] != "30s" {
			t.Errorf("%s: %v", mode, section)
		}
		delete(section, "minSyncPeriod")
		delete(section, "syncPeriod")
		if old, ok := was[mode].(map[string]any); ok {
			delete(old, "minSyncPeriod")
			delete(old, "syncPeriod")
		} else {
			was[mode] = map[string]any{}
		}
	}
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("(-was +is):\n%s", diff)
	}
}

// The pause must be several seconds longer than the workload's preStop sleep, or no request would fail, and shorter than the
// time for which a withdrawal explains a failure.
func TestThePauseIsSeenAndNamed(t *testing.T) {
	const explained = 10 * time.Second // proxyLagAtMost in framework/judge/invariant
	sleep := workloads.Backend{}.WithDefaults().PreStop
	if proxyPause-sleep < 5*time.Second || proxyPause >= explained || sleep < evidence.PropagationSlack {
		t.Errorf("pause %s, preStop sleep %s", proxyPause, sleep)
	}
}

func TestConfigurationsThatAreNotKubeProxys(t *testing.T) {
	for name, test := range map[string]struct {
		config *corev1.ConfigMap
		want   string
	}{
		"none": {nil, `regression late-kube-proxy: read kube-proxy's configuration: configmaps "kube-proxy" not found`},
		"another": {&corev1.ConfigMap{Data: map[string]string{proxyConfig: "kind: Config"}},
			`regression late-kube-proxy: read kube-proxy's configuration: config.conf of ConfigMap kube-proxy is of kind "Config"`},
		"empty":   {&corev1.ConfigMap{}, `config.conf of ConfigMap kube-proxy is of kind ""`},
		"no YAML": {&corev1.ConfigMap{Data: map[string]string{proxyConfig: "\t"}}, "regression late-kube-proxy: read kube-proxy's configuration: "},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			if test.config != nil {
				test.config.Namespace, test.config.Name = kubeSystem, kubeProxy
				client = fake.NewClientset(test.config)
			}
			revert, err := lateKubeProxy.Apply(t.Context(), client)
			wantError(t, err, test.want)
			must(t, revert(t.Context()))
			if did := changes(client); len(did) > 0 {
				t.Errorf("did %v", did)
			}
		})
	}
}

// A restart that does not complete is an error that says how far it got.
func TestARestartThatGetsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster()
		set, err := client.AppsV1().DaemonSets(kubeSystem).Get(t.Context(), kubeProxy, metav1.GetOptions{})
		must(t, err)
		set.Status.NumberAvailable, set.Status.UpdatedNumberScheduled = 2, 1
		stuck := fake.NewClientset(set, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: kubeSystem, Name: kubeProxy}, Data: map[string]string{proxyConfig: kubeadmsConfig},
		})
		_, err = lateKubeProxy.Apply(t.Context(), stuck)
		wantError(t, err, "waited 5m0s for kube-proxy to be restarted on every node: last seen 1 of 3 restarted, 2 available")
		if strings.Contains(err.Error(), "revert") {
			t.Errorf("the regression reverted its change itself: %v", err)
		}
	})
}
