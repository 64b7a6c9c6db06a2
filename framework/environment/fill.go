package environment

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/workloads"
)

// fillPerPod is the time that each pod of a fill adds to deployLimit: on two cores that did nothing else, 40 a second became ready.
const fillPerPod = 100 * time.Millisecond

// filled waits until the pods that fill the simulated nodes are ready.
func (env *Environment) filled(ctx context.Context) error {
	if env.Spec.Simulated == nil {
		return nil
	}
	fill := env.Spec.Simulated.Fill()
	what := fmt.Sprintf("%d pods on simulated nodes to be ready", fill.Pods)
	return poll.Until(ctx, what, deployLimit+time.Duration(fill.Pods)*fillPerPod, func(ctx context.Context) (bool, string, error) {
		ready := 0
		list, err := env.client.AppsV1().Deployments(env.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		ours := map[string]bool{}
		for i := range fill.Deployments() {
			ours[workloads.FillName(i)] = true
		}
		for _, d := range list.Items {
			if ours[d.Name] {
				ready += int(d.Status.AvailableReplicas)
			}
		}
		return ready == fill.Pods, fmt.Sprintf("%d of %d are ready", ready, fill.Pods), nil
	})
}
