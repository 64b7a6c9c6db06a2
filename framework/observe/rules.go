package observe

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// rules are the scheduling constraints of a pod whose effect depends on other pods and on nodes. Soft spread constraints
// are kept for readers of the record; other preferences are left out.
type rules struct {
	NodeSelector              map[string]string                 `json:"nodeSelector,omitempty"`
	Affinity                  *corev1.Affinity                  `json:"affinity,omitempty"`
	Tolerations               []corev1.Toleration               `json:"tolerations,omitempty"`
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
}

// rulesJSON is a pod's rules in Kubernetes' JSON; {} if it has none. Marshalling plain API types never fails.
func rulesJSON(spec corev1.PodSpec) json.RawMessage {
	raw, err := json.Marshal(rules{
		NodeSelector: spec.NodeSelector, Affinity: required(spec.Affinity),
		Tolerations: spec.Tolerations, TopologySpreadConstraints: spec.TopologySpreadConstraints,
	})
	if err != nil {
		return nil
	}
	return raw
}

// required is an affinity without its preferences; nil if nothing remains.
func required(all *corev1.Affinity) *corev1.Affinity {
	if all == nil {
		return nil
	}
	var hard corev1.Affinity
	if a := all.NodeAffinity; a != nil && a.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		hard.NodeAffinity = &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: a.RequiredDuringSchedulingIgnoredDuringExecution,
		}
	}
	if a := all.PodAffinity; a != nil && len(a.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		hard.PodAffinity = &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: a.RequiredDuringSchedulingIgnoredDuringExecution,
		}
	}
	if a := all.PodAntiAffinity; a != nil && len(a.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		hard.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: a.RequiredDuringSchedulingIgnoredDuringExecution,
		}
	}
	if hard == (corev1.Affinity{}) {
		return nil
	}
	return &hard
}

// lifecycle is how a pod starts and terminates, according to its spec.
func lifecycle(spec corev1.PodSpec) *history.Lifecycle {
	l := &history.Lifecycle{Readiness: len(spec.Containers) > 0}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		l.Readiness = l.Readiness && c.ReadinessProbe != nil
		l.PreStop = max(l.PreStop, preStop(c))
		l.Containers = append(l.Containers, ending(c, false))
	}
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; isSidecar(c) {
			l.Containers = append(l.Containers, ending(c, true))
		}
	}
	if len(l.Containers) < 2 {
		l.Containers = nil // Lifecycle says it all
	}
	if spec.TerminationGracePeriodSeconds != nil {
		l.Grace = time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second
	}
	return l
}

// isSidecar reports whether an init container runs as long as the pod.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// sidecars are the statuses of the pod's sidecars. Those of other init containers tell how the pod starts.
func sidecars(p *corev1.Pod) []corev1.ContainerStatus {
	return slices.DeleteFunc(slices.Clone(p.Status.InitContainerStatuses), func(s corev1.ContainerStatus) bool {
		return !slices.ContainsFunc(p.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == s.Name && isSidecar(&c) })
	})
}

func ending(c *corev1.Container, sidecar bool) history.Container {
	out := history.Container{Name: c.Name, Sidecar: sidecar, PreStop: preStop(c)}
	for _, p := range c.Ports {
		if p.Protocol == "" || p.Protocol == corev1.ProtocolTCP {
			out.Ports = append(out.Ports, p.ContainerPort)
		}
	}
	return out
}

// preStop is how long a container's preStop hook sleeps.
func preStop(c *corev1.Container) time.Duration {
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil || c.Lifecycle.PreStop.Sleep == nil {
		return 0
	}
	return time.Duration(c.Lifecycle.PreStop.Sleep.Seconds) * time.Second
}

// killReasons are the reasons with which a kubelet gives exit code 137 to a container that was not killed at the end of its grace period: it ran
// out of memory, or its end is not known.
var killReasons = []string{"OOMKilled", "ContainerStatusUnknown"}

// killed reports whether a container ended by SIGKILL.
func killed(c corev1.ContainerStatus) bool {
	const bySIGKILL = 128 + 9
	end := c.State.Terminated
	return end != nil && end.ExitCode == bySIGKILL && !slices.Contains(killReasons, end.Reason)
}

// spreadJSON is the constraints in Kubernetes' JSON; nil if there are none. Marshalling plain API types never fails.
func spreadJSON(constraints []corev1.TopologySpreadConstraint) json.RawMessage {
	if len(constraints) == 0 {
		return nil
	}
	raw, err := json.Marshal(constraints)
	if err != nil {
		return nil
	}
	return raw
}

// templateHash is a text that changes whenever a pod template does. Marshalling plain API types never fails.
func templateHash(template corev1.PodTemplateSpec) string {
	raw, err := json.Marshal(template)
	if err != nil {
		return ""
	}
	sum := fnv.New64a()
	_, _ = sum.Write(raw) // never returns an error
	return fmt.Sprintf("%016x", sum.Sum64())
}
