package observe

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// ListedPod is what a history has of a pod that existed before the watch began.
func ListedPod(p *corev1.Pod) history.Event { return podEvent(p, history.Listed) }

// ListedNode is the same of a node.
func ListedNode(n *corev1.Node) history.Event { return nodeEvent(n, history.Listed) }
