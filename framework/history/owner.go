package history

import (
	"fmt"
	"strings"
)

// Owner is the controller of a pod, as the pod's ownerReferences name it: kind and name, such as "ReplicaSet/web-5d4f9". Labels do not say
// whose a pod is: a Job's pods, or those of another Deployment, may have the labels that a workload selects. Empty in older records.
type Owner string

// NoOwner is the Owner of a pod that no controller has made.
const NoOwner Owner = "none"

// OwnerOf is the Owner of a kind and a name.
func OwnerOf(kind, name string) Owner { return Owner(kind + "/" + name) }

// Top is the object that a user wrote: instead of a Deployment's ReplicaSet it is the Deployment. The controller of Deployments names a
// ReplicaSet after the Deployment and the hash of the template, so this is known also when the ReplicaSet no longer exists.
//
// Source: getNewReplicaSet in kubernetes pkg/controller/deployment/sync.go
func (o Owner) Top(labels map[string]string) Owner {
	name, isSet := strings.CutPrefix(string(o), "ReplicaSet/")
	hash := labels["pod-template-hash"] // which the controller of Deployments gives to the pods of each ReplicaSet that it makes
	if name, made := strings.CutSuffix(name, "-"+hash); isSet && made && hash != "" {
		return OwnerOf("Deployment", name)
	}
	return o
}

// Owns reports whether a pod is one of the workload's. In older records, which do not name owners, its labels decide.
func (w Workload) Owns(p *Pod) bool {
	if p.Owner == "" {
		return p.Namespace == w.Namespace && len(w.Selector) > 0 && Selects(w.Selector, p.Labels)
	}
	return p.Namespace == w.Namespace && p.Owner.Top(p.Labels) == OwnerOf(w.Kind(), w.Name)
}

// Choice is a choice of pods.
type Choice struct {
	key string // of equal choices only
	Has func(*Pod) bool
}

// Selected chooses the pods of a namespace that match a selector, as a budget does, of any owner.
func Selected(namespace string, selector map[string]string) Choice {
	return Choice{
		key: fmt.Sprintf("%s %q", namespace, selector), // a map is written in the order of its keys
		Has: func(p *Pod) bool { return p.Namespace == namespace && Selects(selector, p.Labels) },
	}
}

// Pods chooses the pods that the workload owns.
func (w Workload) Pods() Choice {
	return Choice{key: fmt.Sprintf("%s/%s/%s %q", w.Namespace, w.Kind(), w.Name, w.Selector), Has: w.Owns}
}

// Kind is the workload's kind, as the API spells it.
func (w Workload) Kind() string {
	switch {
	case w.StatefulSet:
		return "StatefulSet"
	case w.DaemonSet:
		return "DaemonSet"
	}
	return "Deployment"
}
