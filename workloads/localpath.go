package workloads

import (
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// LocalPath makes the volumes that PersistentVolumeClaims ask for: folders of the node on which the first pod with the claim is bound.
// From then on the pod runs on that node only, and waits for it if it is lost.
//
// Source: https://github.com/rancher/local-path-provisioner
type LocalPath struct {
	// Helper is the image of the pods that make and remove the folders, on every node. It needs no shell: see helperPod.
	Helper    string    `json:"helper"`
	Resources Resources `json:"resources"`
}

// Facts of the provisioner that others rely on.
const (
	// LocalPathProvisioner is the provisioner of StorageClasses whose volumes LocalPath makes.
	LocalPathProvisioner = "rancher.io/local-path"
	// LocalPathFolder is the folder of a node in which the volumes are. In a node that is a container, /var is on the disk of the machine.
	LocalPathFolder = "/var/local-path-provisioner"
)

// WithDefaults sets empty fields to their defaults.
func (l LocalPath) WithDefaults() LocalPath {
	l.Resources = l.Resources.withDefaults("20m", "64Mi", "256Mi")
	return l
}

// Validate implements Addon.
func (l LocalPath) Validate() error {
	if l.Helper == "" {
		return errors.New("local-path-provisioner: no image of its helper pods")
	}
	if err := l.WithDefaults().Resources.validate(); err != nil {
		return fmt.Errorf("local-path-provisioner: %w", err)
	}
	return nil
}

// Program implements Addon.
func (LocalPath) Program() Program {
	const path, version = "github.com/rancher/local-path-provisioner", "v0.0.30"
	return Program{Name: "local-path-provisioner", Module: path, Version: version, Package: path, LDFlags: "-X main.VERSION=" + version}
}

// Objects implements Addon. The permissions are those of the provisioner's own manifest. It serves nothing, so its pod has no port and is
// ready once it runs.
//
// Source: https://github.com/rancher/local-path-provisioner/blob/master/deploy/local-path-storage.yaml
func (l LocalPath) Objects(at Place) ([]Object, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	l = l.WithDefaults()
	const configDir, configFile, helperFile = "/etc/config", "config.json", "helperPod.yaml"
	name := l.Program().Name
	a := addon{
		name: name, resources: l.Resources,
		args: []string{
			"start", "--config=" + configDir + "/" + configFile, "--helper-pod-file=" + configDir + "/" + helperFile, "--configmap-name=" + name,
			"--namespace=" + at.Namespace, "--service-account-name=" + name, "--helper-image=" + l.Helper,
			"--provisioner-name=" + LocalPathProvisioner,
		},
	}
	watch := []string{"get", "list", "watch"}
	objects := []Object{a.account(at)}
	objects = append(objects, a.everywhere(at,
		may("", []string{"nodes", "persistentvolumeclaims"}, watch...),
		may("", []string{"persistentvolumes"}, "get", "list", "watch", "create", "patch", "update", "delete"),
		may("storage.k8s.io", []string{"storageclasses"}, watch...),
		may("", []string{"events"}, "create", "patch"), // of the claims, and of volumes, which have no namespace
	)...)
	objects = append(objects, a.here(at,
		may("", []string{"pods"}, "get", "list", "watch", "create", "delete"), may("", []string{"pods/log"}, "get"),
	)...)
	config, err := json.Marshal(map[string]any{
		"nodePathMap": []map[string]any{{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": []string{LocalPathFolder}}},
	})
	if err != nil {
		return nil, err
	}
	helper, err := yaml.Marshal(l.helperPod())
	if err != nil {
		return nil, err
	}
	settings := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: a.meta(at),
		Data: map[string]string{
			configFile: string(config), helperFile: string(helper),
			// A claim's user is whom the image says, which is seldom root.
			"setup":    "set -eu\nmkdir -m 0777 -p \"$VOL_DIR\"\n",
			"teardown": "set -eu\nrm -rf \"$VOL_DIR\"\n",
		},
	}
	deployment := a.deployment(at)
	c := &deployment.Spec.Template.Spec.Containers[0]
	c.Ports, c.ReadinessProbe = nil, nil
	mount(deployment, configDir, corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
	})
	return append(objects, settings, deployment), nil
}

// helperPod is the pod that makes or removes the folder of a volume, to which the provisioner adds the node, the command (/bin/sh with a
// script) and the folder. The image that every node has is holdfast's own, which has no shell: the pod uses that of its node, read-only.
func (l LocalPath) helperPod() *corev1.Pod {
	root, no, yes := int64(0), false, true
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "helper-pod", Labels: labels("helper-pod", ComponentAddon)},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: &no, EnableServiceLinks: &no, TerminationGracePeriodSeconds: new(int64),
			Containers: []corev1.Container{{
				Name:  "helper-pod", // whose logs the provisioner reads
				Image: l.Helper, ImagePullPolicy: corev1.PullNever,
				SecurityContext: &corev1.SecurityContext{RunAsUser: &root, RunAsGroup: &root, AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes},
			}},
		},
	}
	for i, folder := range []string{"/bin", "/lib", "/lib64", "/usr"} { // a node of arm64 has no /lib64: an empty one is made
		name := fmt.Sprintf("node-%d", i)
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}}})
		c := &p.Spec.Containers[0]
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: folder, ReadOnly: true})
	}
	return p
}
