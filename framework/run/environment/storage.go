package environment

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

const (
	// noProvisioner is the provisioner of classes whose volumes somebody makes by hand, as in a node image that was built.
	noProvisioner = "kubernetes.io/no-provisioner"
	// provisionedBy is the annotation of a PersistentVolume with the provisioner that made it.
	provisionedBy = "pv.kubernetes.io/provisioned-by"
)

// provideStorage adds a provisioner to the add-ons if the application asks for volumes and no provisioner of their class runs. The error
// names each claim that cannot be served here.
func (env *Environment) provideStorage(ctx context.Context) error {
	claims := slices.DeleteFunc(env.Spec.App.Claims(), func(c app.Claim) bool { return !c.Provisioned() })
	if len(claims) == 0 {
		return nil
	}
	list, err := env.client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the StorageClasses: %w", err)
	}
	needed := map[string]storagev1.StorageClass{} // whose provisioner does not run
	var errs []error
	for _, c := range claims {
		class, err := env.classOf(c, list.Items)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if class.Provisioner != noProvisioner && class.Labels[workloads.LabelPartOf] != workloads.PartOf {
			continue
		}
		if err := localOnly(c, class.Name); err != nil {
			errs = append(errs, err)
		}
		needed[class.Name] = class
	}
	if err := errors.Join(errs...); err != nil || len(needed) == 0 {
		return err
	}
	for _, class := range needed {
		if err := env.serveClass(ctx, class); err != nil {
			return err
		}
	}
	env.Spec.Addons = append(slices.Clone(env.Spec.Addons), workloads.LocalPath{Helper: env.image})
	env.volumes = true
	return nil
}

// classOf is the StorageClass of a claim, from the cluster or from the application.
func (env *Environment) classOf(c app.Claim, there []storagev1.StorageClass) (storagev1.StorageClass, error) {
	name, byDefault := c.Class()
	var names []string
	for _, class := range there {
		if byDefault && class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" || !byDefault && class.Name == name {
			return class, nil
		}
		names = append(names, class.Name)
	}
	if byDefault {
		return storagev1.StorageClass{}, fmt.Errorf("%s asks for a volume, and the cluster has no default StorageClass: name one of its classes: %s", c, named(names))
	}
	if own, brought := env.Spec.App.StorageClass(name); brought {
		if own.Provisioner == noProvisioner || env.Spec.App.Brings("CSIDriver", own.Provisioner) { // its volumes or their driver may be brought, too
			own.Provisioner, own.Labels = "", nil
			return own, nil
		}
		return own, fmt.Errorf("%s asks for a volume of StorageClass %s, whose provisioner %s does not run here: "+
			"leave the class out of the manifests of the test, and name none in the claim", c, name, own.Provisioner)
	}
	return storagev1.StorageClass{}, fmt.Errorf("%s asks for a volume of StorageClass %s, which the cluster does not have: "+
		"name no class in the manifests of the test, or one of: %s", c, name, named(names))
}

func named(names []string) string {
	if len(names) == 0 {
		return "(there is none)"
	}
	return strings.Join(names, ", ")
}

// localOnly returns an error if a folder of one node cannot be what a claim asks for.
func localOnly(c app.Claim, class string) error {
	for _, mode := range c.Spec.AccessModes {
		if mode == corev1.ReadWriteMany || mode == corev1.ReadOnlyMany {
			return fmt.Errorf("%s asks for a volume with access mode %s, and the volumes of StorageClass %s belong to one node each: "+
				"ask for ReadWriteOnce in the manifests of the test", c, mode, class)
		}
	}
	if mode := c.Spec.VolumeMode; mode != nil && *mode == corev1.PersistentVolumeBlock {
		return fmt.Errorf("%s asks for a block device, and the volumes of StorageClass %s are folders: ask for a file system in the manifests of the test", c, class)
	}
	return nil
}

// serveClass makes a StorageClass one whose volumes the add-on makes. Its provisioner cannot be changed, so that it is replaced, and stays
// so: without the add-on it has as few volumes as before.
func (env *Environment) serveClass(ctx context.Context, was storagev1.StorageClass) error {
	if was.Labels[workloads.LabelPartOf] == workloads.PartOf {
		return nil // of an earlier scenario
	}
	late, reclaim := storagev1.VolumeBindingWaitForFirstConsumer, corev1.PersistentVolumeReclaimDelete
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: was.Name, Labels: map[string]string{workloads.LabelPartOf: workloads.PartOf, workloads.LabelComponent: workloads.ComponentAddon}, Annotations: was.Annotations,
		},
		Provisioner: workloads.LocalPathProvisioner, VolumeBindingMode: &late, ReclaimPolicy: &reclaim,
	}
	classes := env.client.StorageV1().StorageClasses()
	if err := classes.Delete(ctx, was.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("replace StorageClass %s: %w", was.Name, err)
	}
	if _, err := classes.Create(ctx, class, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("replace StorageClass %s: %w", was.Name, err)
	}
	return nil
}

// removeVolumes removes the volumes of the application, whose provisioner went with the namespace.
func (env *Environment) removeVolumes(ctx context.Context) error {
	if !env.volumes {
		return nil
	}
	list, err := env.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the volumes of namespace %s: %w", env.namespace, err)
	}
	var errs []error
	for _, v := range list.Items {
		if v.Spec.ClaimRef == nil || !env.owns(v.Spec.ClaimRef.Namespace) || v.Annotations[provisionedBy] != workloads.LocalPathProvisioner {
			continue
		}
		if err := env.client.CoreV1().PersistentVolumes().Delete(ctx, v.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("delete PersistentVolume %s: %w", v.Name, err))
		}
		errs = append(errs, env.removeFolder(ctx, v))
	}
	return errors.Join(errs...)
}

// owns reports whether a namespace is the scenario's, or another one of its application.
func (env *Environment) owns(namespace string) bool {
	return namespace == env.namespace || slices.Contains(env.further, namespace)
}

// removeFolder removes the data of a volume from its node. Processes that are still ending may write to it meanwhile.
func (env *Environment) removeFolder(ctx context.Context, v corev1.PersistentVolume) error {
	folder, node := localFolder(v)
	at := slices.IndexFunc(env.Cluster.Nodes(), func(n clusters.Node) bool { return n.Name() == node })
	if folder == "" || at < 0 {
		return nil // it is not one of ours
	}
	return poll.Until(ctx, "the data of PersistentVolume "+v.Name+" to be gone from "+node, clearLimit, func(ctx context.Context) (bool, string, error) {
		_, err := env.Cluster.Nodes()[at].Exec(ctx, "rm", "-rf", folder)
		return err == nil, "", err
	})
}

// localFolder is the folder of a volume, and its node; empty: the volume is no folder that the add-on makes.
func localFolder(v corev1.PersistentVolume) (folder, node string) {
	if v.Spec.HostPath == nil || v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil {
		return "", ""
	}
	folder = path.Clean(v.Spec.HostPath.Path)
	if path.Dir(folder) != workloads.LocalPathFolder {
		return "", ""
	}
	for _, term := range v.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			if e.Key == workloads.Host && e.Operator == corev1.NodeSelectorOpIn && len(e.Values) == 1 {
				return folder, e.Values[0]
			}
		}
	}
	return "", ""
}
