package fault

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Controller returns the controller of the workload under test, a StatefulSet or DaemonSet in the form of a Deployment.
func (t Target) Controller(ctx context.Context) (*appsv1.Deployment, error) { return t.deployment(ctx) }

// Pods returns the workload's pods that have not ended, by name.
func (t Target) Pods(ctx context.Context) (map[string]corev1.Pod, error) { return t.pods(ctx) }

// Owns reports whether the workload's controller has made a pod.
func (t Target) Owns(p *corev1.Pod) bool { return t.owns(p) }

// Gone returns the sorted names of the pods of before that no longer exist; a pod with another UID is another pod.
func Gone(before, after map[string]corev1.Pod) []string { return gone(before, after) }
