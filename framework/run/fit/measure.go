package fit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

const (
	// measureLimit is within how long a machine must show that it carries the least: something beside it may end, and a new cluster comes to rest.
	measureLimit = 90 * time.Second
	carryLimit   = 30 * time.Second // of one look, which takes two seconds where nothing is short
)

//go:embed carry.sh
var carryScript string

// Measure measures on the load node, which no fault touches. Where a machine carries less than the least, it looks again for a while.
func Measure(ctx context.Context, c clusters.Cluster) (m runfolder.Fit, err error) {
	i := slices.IndexFunc(c.Nodes(), func(n clusters.Node) bool { return n.Role() == clusters.LoadNode })
	if i < 0 {
		return m, fmt.Errorf("measure what the machine carries: cluster %s has no load node", c.Name())
	}
	node := c.Nodes()[i]
	err = poll.Until(ctx, "a machine that carries the least", measureLimit, func(ctx context.Context) (bool, string, error) {
		now, err := measure(ctx, c, node)
		if err != nil {
			return false, "", err
		}
		m = now
		return Carries(m), fmt.Sprintf("%.2g processors", m.Processors), nil
	})
	if m.Cluster == "" && err != nil { // otherwise Choose refuses it
		return m, fmt.Errorf("measure what the machine carries: %w", err)
	}
	return m, ctx.Err()
}

func measure(ctx context.Context, c clusters.Cluster, node clusters.Node) (runfolder.Fit, error) {
	looked, cancel := context.WithTimeout(ctx, carryLimit)
	defer cancel()
	out, err := node.Exec(looked, "bash", "-c", carryScript)
	if err != nil {
		return runfolder.Fit{}, err
	}
	m, err := parse(string(out))
	if err != nil {
		return m, err
	}
	m.Cluster = c.Name()
	m.PodStart, err = podStart(ctx, c, node.Name())
	return m, err
}

// parse reads the output of carry.sh.
func parse(out string) (m runfolder.Fit, err error) {
	sums := make(map[string]float64)
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		for i := 1; i < len(fields); i++ {
			if n, err := strconv.ParseFloat(fields[i], 64); err == nil {
				sums[fields[0]] += n
			}
		}
	}
	if sums["loops"] <= 0 || sums["requests"] <= 0 {
		return m, errors.New("the answer was cut off")
	}
	const microseconds = 1e6
	m.Processors = sums["used"] * microseconds / sums["loops"]
	m.Requests = sums["answered"] * microseconds / sums["requests"]
	return m, nil
}

// podStart is how long a pod takes until it is ready: one of the pause image, which each node has.
func podStart(ctx context.Context, c clusters.Cluster, node string) (took time.Duration, err error) {
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return 0, err
	}
	pods := client.CoreV1().Pods(metav1.NamespaceSystem)
	image, err := pauseImage(ctx, client, node)
	if err != nil {
		return 0, err
	}
	none, no, began := int64(0), false, time.Now()
	pod, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "holdfast-fit-"},
		Spec: corev1.PodSpec{
			NodeName: node, TerminationGracePeriodSeconds: &none, AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:  []corev1.Container{{Name: "pause", Image: image, ImagePullPolicy: corev1.PullNever, Command: []string{"/pause"}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("start a pod: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), carryLimit)
		defer cancel()
		err = errors.Join(err, pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}))
	}()
	late := poll.Until(ctx, "pod "+pod.Name+" to be ready", slowestStart+time.Second, func(ctx context.Context) (bool, string, error) {
		now, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		ready := slices.ContainsFunc(now.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		return ready, string(now.Status.Phase), nil
	})
	if ctx.Err() != nil {
		return 0, late
	}
	return time.Since(began), nil // of one that is not ready yet: more than the slowest
}

func pauseImage(ctx context.Context, client kubernetes.Interface, node string) (string, error) {
	n, err := client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	for _, image := range n.Status.Images {
		for _, name := range image.Names {
			if strings.Contains(name, "/pause:") {
				return name, nil
			}
		}
	}
	return "", fmt.Errorf("node %s reports no pause image", node)
}
