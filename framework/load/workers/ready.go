package workers

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Pods are the pods of the load workers' Job in a namespace.
type Pods struct {
	Client    kubernetes.Interface
	Config    *rest.Config // of the API server, through which workers are reached
	Namespace string
	Token     string // of the run, as the workers were told its sum
}

// Ready waits until so many load workers are ready, and returns them in the order of their numbers. A pod that ends before is an error:
// it is not started again.
func (p Pods) Ready(ctx context.Context, n int, limit time.Duration) (all []collect.Worker, err error) {
	var ended error
	err = poll.Until(ctx, prose.Count(n, "load worker")+" to be ready", limit, func(ctx context.Context) (bool, string, error) {
		pods, err := p.list(ctx)
		if err != nil {
			return false, "", err
		}
		found, notYet := byNumber(pods, n)
		for _, pod := range found {
			if why := endOf(pod); why != "" {
				ended = fmt.Errorf("load worker %s has ended before the load: %s", pod.Name, why)
				return true, "", nil
			}
		}
		if len(pods) < n {
			notYet = append(notYet, p.notCreated(ctx)...)
		}
		if len(notYet) > 0 {
			return false, strings.Join(notYet, ", "), nil
		}
		all = nil
		for _, pod := range found {
			all = append(all, p.worker(pod))
		}
		return true, "", nil
	})
	if ended != nil {
		return nil, ended
	}
	return all, err
}

// list is the pods of the Job.
func (p Pods) list(ctx context.Context) ([]corev1.Pod, error) {
	list, err := p.Client.CoreV1().Pods(p.Namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + workloads.LoadName})
	if err != nil {
		return nil, fmt.Errorf("list the load workers: %w", err)
	}
	return list.Items, nil
}

// byNumber orders the pods of the Job by their completion indexes, and says of which number there is none, or none that is ready.
func byNumber(pods []corev1.Pod, n int) (found []corev1.Pod, notYet []string) {
	for i := range n {
		at := slices.IndexFunc(pods, func(p corev1.Pod) bool {
			return p.Annotations[batchv1.JobCompletionIndexAnnotation] == strconv.Itoa(i)
		})
		if at < 0 {
			notYet = append(notYet, fmt.Sprintf("%s-%d does not exist", workloads.LoadName, i))
			continue
		}
		found = append(found, pods[at])
		if why := unready(pods[at]); why != "" {
			notYet = append(notYet, why)
		}
	}
	const most = 5 // of 200 workers, all usually wait for the same
	return found, prose.First(notYet, most)
}

// unready is why a pod is not ready; empty: it is.
func unready(p corev1.Pod) string {
	words := []string{p.Name, string(p.Status.Phase)}
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue:
			return ""
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			words = append(words, "("+c.Message+")")
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && w.Reason != "ContainerCreating" {
			words = append(words, strings.TrimSpace("("+w.Reason+" "+w.Message)+")")
		}
	}
	return strings.Join(words, " ")
}

// notCreated is why the Job has fewer pods than it wants, as its controller tells: a quota, a policy, a webhook. Who may not read Events
// is not told.
func (p Pods) notCreated(ctx context.Context) (why []string) {
	list, err := p.Client.CoreV1().Events(p.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.kind=Job,involvedObject.name=" + workloads.LoadName,
	})
	if err != nil {
		return nil
	}
	for _, e := range list.Items {
		if e.Type == corev1.EventTypeWarning && e.InvolvedObject.Name == workloads.LoadName && !slices.Contains(why, e.Message) {
			why = append(why, e.Message)
		}
	}
	return why
}

// worker is a pod as package collect reaches it: through the API server's proxy, which works wherever this process runs.
func (p Pods) worker(pod corev1.Pod) collect.Worker {
	return collect.Worker{
		Token: p.Token,
		URL:   fmt.Sprintf("%s/api/v1/namespaces/%s/pods/%s:%d/proxy", strings.TrimSuffix(p.Config.Host, "/"), p.Namespace, pod.Name, workloads.Port),
		Gone: func(ctx context.Context) string {
			now, err := p.Client.CoreV1().Pods(p.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				return "pod " + pod.Name + " was deleted"
			case err != nil: // then nothing is known
				return ""
			case now.UID != pod.UID:
				return "pod " + pod.Name + " was deleted, and there is another of its name"
			}
			if why := endOf(*now); why != "" {
				return "pod " + pod.Name + " has ended: " + why
			}
			return ""
		},
	}
}

// endOf is how a pod has ended; empty: it has not.
func endOf(p corev1.Pod) string {
	if p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded {
		return ""
	}
	words := []string{string(p.Status.Phase)}
	if p.Status.Reason != "" {
		words = append(words, p.Status.Reason, p.Status.Message)
	}
	for _, c := range p.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			words = append(words, fmt.Sprintf("container %s: %s, exit code %d", c.Name, t.Reason, t.ExitCode))
		}
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", ")
}
