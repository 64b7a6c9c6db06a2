package recording

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Sizes of what belongs to a cluster of so many pods: five pods for each workload, and twenty for each node.
const (
	podsPerWorkload = 5
	podsPerNode     = 20
	nodeImages      = 50 // a kubelet reports as many by default
	namespaces      = 40
)

// largeCluster makes the objects of a large cluster, by their resource.
type largeCluster struct {
	objects map[string][]runtime.Object
	nodes   int
	pods    int
}

func newLargeCluster(pods int) *largeCluster {
	c := &largeCluster{objects: map[string][]runtime.Object{}, nodes: max(pods/podsPerNode, 3)}
	for i := range c.nodes {
		c.add("nodes", c.node(i))
	}
	for i := range pods / podsPerWorkload {
		c.workload(i)
	}
	return c
}

func (c *largeCluster) add(resource string, object runtime.Object) {
	c.objects[resource] = append(c.objects[resource], object)
}

var epoch = metav1.NewTime(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))

// metaOf is an object's metadata with the managed fields of two managers, which are a third of most objects.
func metaOf(namespace, name string, fields int) metav1.ObjectMeta {
	var owned strings.Builder
	owned.WriteString(`{"f:spec":{`)
	for i := range fields {
		fmt.Fprintf(&owned, `"f:field%d":{"f:value":{}},`, i)
	}
	owned.WriteString(`"f:last":{}}}`)
	field := metav1.FieldsV1{}
	field.SetRawString(owned.String())
	entry := func(manager string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &epoch, FieldsType: "FieldsV1", FieldsV1: &field}
	}
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("11111111-2222-3333-4444-" + name), ResourceVersion: "123456789", Generation: 3, CreationTimestamp: epoch,
		Labels:        map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/instance": "production", "app.kubernetes.io/managed-by": "Helm", "team": "platform"},
		Annotations:   map[string]string{"deployment.kubernetes.io/revision": "3", "checksum/config": strings.Repeat("0123456789abcdef", 4)},
		ManagedFields: []metav1.ManagedFieldsEntry{entry("kube-controller-manager"), entry("kubelet")},
	}
}

func (c *largeCluster) node(i int) *corev1.Node {
	name := fmt.Sprintf("node-%d.internal.example", i)
	n := &corev1.Node{ObjectMeta: metaOf("", name, 40)}
	n.Labels = map[string]string{
		corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3), corev1.LabelTopologyRegion: "region", corev1.LabelArchStable: "amd64",
		corev1.LabelOSStable: "linux", corev1.LabelInstanceTypeStable: "large",
	}
	for _, kind := range []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status", LastHeartbeatTime: epoch, LastTransitionTime: epoch,
		})
	}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.1.%d.%d", i/250, i%250)}, {Type: corev1.NodeHostName, Address: name}}
	for j := range nodeImages {
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{SizeBytes: 123456789, Names: []string{
			fmt.Sprintf("registry.example/team/service-%d@sha256:%s", j, strings.Repeat("0123456789abcdef", 4)), fmt.Sprintf("registry.example/team/service-%d:v1.2.3", j),
		}})
	}
	return n
}

// workload makes a Deployment, or for each tenth a StatefulSet, with its pods and what belongs to it.
func (c *largeCluster) workload(i int) {
	namespace, name := fmt.Sprintf("team-%d", i%namespaces), fmt.Sprintf("service-%d", i)
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/name": name}}, Spec: podSpec(name)}
	replicas, selector := int32(podsPerWorkload), &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": name}}
	for j := range template.Spec.TopologySpreadConstraints {
		template.Spec.TopologySpreadConstraints[j].LabelSelector = selector
	}
	if i%10 == 9 {
		s := &appsv1.StatefulSet{ObjectMeta: metaOf(namespace, name, 30), Spec: appsv1.StatefulSetSpec{Replicas: &replicas, Selector: selector, Template: template}}
		c.add("statefulsets", s)
		c.podsOf(s.ObjectMeta, "StatefulSet", template, i)
	} else {
		d := &appsv1.Deployment{ObjectMeta: metaOf(namespace, name, 30), Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector, Template: template}}
		c.add("deployments", d)
		c.podsOf(metaOf(namespace, name+"-6d4cf56db4", 30), "ReplicaSet", template, i)
	}
	c.surroundings(namespace, name, selector)
}

func (c *largeCluster) podsOf(owner metav1.ObjectMeta, kind string, template corev1.PodTemplateSpec, workload int) {
	yes := true
	for range podsPerWorkload {
		p := &corev1.Pod{ObjectMeta: metaOf(owner.Namespace, fmt.Sprintf("%s-%d", owner.Name, c.pods), 30), Spec: *template.Spec.DeepCopy()}
		p.Labels = map[string]string{"app.kubernetes.io/name": template.Labels["app.kubernetes.io/name"], "pod-template-hash": "6d4cf56db4"}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner.Name, UID: owner.UID, Controller: &yes, BlockOwnerDeletion: &yes}}
		at := c.pods
		if workload%20 == 0 { // each twentieth is crowded
			at = workload
		}
		p.Spec.NodeName = fmt.Sprintf("node-%d.internal.example", at%c.nodes)
		p.Status = podStatus(p.Spec)
		c.pods++
		c.add("pods", p)
	}
}

func podSpec(name string) corev1.PodSpec {
	no := false
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromString("http"), Scheme: "HTTP"}}, PeriodSeconds: 5, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3}
	c := corev1.Container{
		Name: "server", Image: "registry.example/team/" + name + ":v1.2.3", Args: []string{"--listen=:8080", "--log-level=info", "--upstream=http://other.team.svc:80"},
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}, ReadinessProbe: probe, LivenessProbe: probe,
		Resources:       corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")}},
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		VolumeMounts:    []corev1.VolumeMount{{Name: "config", MountPath: "/etc/config"}, {Name: "kube-api-access-abcde", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
	}
	for i := range 8 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: fmt.Sprintf("value-%d-of-%s", i, name)})
	}
	return corev1.PodSpec{
		Containers: []corev1.Container{c}, ServiceAccountName: name, RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst, SchedulerName: "default-scheduler",
		Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}},
		Tolerations: []corev1.Toleration{
			{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
			{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
		},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule},
			{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway},
		},
	}
}

func podStatus(spec corev1.PodSpec) corev1.PodStatus {
	status := corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.244.1.2", HostIP: "10.1.0.1", StartTime: &epoch, QOSClass: corev1.PodQOSBurstable}
	for _, kind := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: epoch})
	}
	for _, c := range spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Ready: true, Image: c.Image, ImageID: c.Image + "@sha256:" + strings.Repeat("0123456789abcdef", 4), ContainerID: "containerd://" + strings.Repeat("0123456789abcdef", 4),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: epoch}},
		})
	}
	return status
}

// surroundings makes a workload's EndpointSlice and budget.
func (c *largeCluster) surroundings(namespace, name string, selector *metav1.LabelSelector) {
	one, port, portName := intstr.FromInt32(1), int32(8080), "http"
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metaOf(namespace, name+"-abcde", 15), AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &portName, Port: &port}}}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: name, discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"}
	for i := range podsPerWorkload {
		node := fmt.Sprintf("node-%d.internal.example", i)
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.244.1.2"}, NodeName: &node, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: name}})
	}
	c.add("endpointslices", slice)
	c.add("poddisruptionbudgets", &policyv1.PodDisruptionBudget{ObjectMeta: metaOf(namespace, name, 15), Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: selector}})
}
