package environment

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

const (
	classesPath = "/apis/storage.k8s.io/v1/storageclasses"
	volumesPath = "/api/v1/persistentvolumes"
)

const database = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "db:1"}]}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]
`

// appEnvironment is the environment of an application on a cluster in memory.
func appEnvironment(t *testing.T, text string) (*Environment, *clustertest.Cluster) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "app.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	manifests, err := app.Read(app.Sources{Files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(manifests, "shop")
	if err != nil {
		t.Fatal(err)
	}
	s := quiet()
	s.App, s.Tested = &a, a.Workloads[0].Name
	env, fake, _ := newEnvironment(t, s)
	return env, fake
}

func class(name, provisioner string, byDefault bool) *storagev1.StorageClass {
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner}
	if byDefault {
		c.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	}
	return c
}

// A provisioner is deployed only where volumes are asked for and none runs, and what it cannot make is said before anything is deployed.
func TestStorageIsProvided(t *testing.T) {
	changed := func(old, with string) string { return strings.Replace(database, old, with, 1) }
	const mode = "accessModes: [ReadWriteOnce]"
	for name, test := range map[string]struct {
		text    string
		classes []*storagev1.StorageClass
		addon   bool
		err     string
	}{
		"none runs":                {database, []*storagev1.StorageClass{class("standard", noProvisioner, true)}, true, ""},
		"one runs, as in kind":     {database, []*storagev1.StorageClass{class("standard", "rancher.io/local-path", true)}, false, ""},
		"no claim":                 {strings.Split(database, "  volumeClaimTemplates")[0], []*storagev1.StorageClass{class("standard", noProvisioner, true)}, false, ""},
		"a volume made by hand":    {changed(mode, mode+`, storageClassName: ""`), nil, false, ""},
		"the class by its name":    {changed(mode, mode+", storageClassName: slow"), []*storagev1.StorageClass{class("slow", noProvisioner, false)}, true, ""},
		"a class of a cloud":       {changed(mode, mode+", storageClassName: gp3"), []*storagev1.StorageClass{class("standard", noProvisioner, true)}, false, "of StorageClass gp3, which the cluster does not have: name no class in the manifests of the test, or one of: standard"},
		"no default class":         {database, []*storagev1.StorageClass{class("slow", noProvisioner, false)}, false, "the cluster has no default StorageClass: name one of its classes: slow"},
		"of several nodes at once": {changed("ReadWriteOnce", "ReadWriteMany"), []*storagev1.StorageClass{class("standard", noProvisioner, true)}, false, "access mode ReadWriteMany"},
		"a block device":           {changed(mode, mode+", volumeMode: Block"), []*storagev1.StorageClass{class("standard", noProvisioner, true)}, false, "asks for a block device"},
		"a class that is brought": {
			changed(mode, mode+", storageClassName: own") + "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: own}\nprovisioner: ebs.csi.aws.com\n",
			nil, false, "whose provisioner ebs.csi.aws.com does not run here",
		},
		"a class that is brought with its driver": {
			changed(mode, mode+", storageClassName: own") + "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: own}\nprovisioner: disks.org\n" +
				"---\napiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: disks.org}\n",
			nil, false, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			env, fake := appEnvironment(t, test.text)
			for _, c := range test.classes {
				fake.Put(classesPath, c)
			}
			err := env.provideStorage(t.Context())
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Fatalf("error %v, want one with %q", err, test.err)
			}
			if has := slices.Contains(env.Spec.Addons, workloads.Addon(workloads.LocalPath{Helper: "i"})); has != test.addon {
				t.Errorf("add-ons %v, want the provisioner: %t", env.Spec.Addons, test.addon)
			}
		})
	}
}

// The class has the name and the annotations of the one that it replaces, and is used again by the next scenario.
func TestTheClassIsReplacedOnce(t *testing.T) {
	env, fake := appEnvironment(t, database)
	fake.Put(classesPath, class("standard", noProvisioner, true))
	for range 2 {
		errtest.Check(t, env.provideStorage(t.Context()), "")
		got := fake.Get(classesPath + "/standard").(*storagev1.StorageClass)
		want := class("standard", workloads.LocalPathProvisioner, true).Annotations
		if diff := cmp.Diff(want, got.Annotations); diff != "" || got.Provisioner != workloads.LocalPathProvisioner ||
			*got.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer {
			t.Errorf("%+v: annotations (-want +got):\n%s", got, diff)
		}
		env.Spec.Addons = nil
	}
}

// volume is one of the add-on's.
func volume(name, folder, node, namespace, by string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedBy: by}},
		Spec: corev1.PersistentVolumeSpec{
			ClaimRef:               &corev1.ObjectReference{Namespace: namespace},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: workloads.Host, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
			}}}},
		},
	}
}

// Volumes of others stay, and no folder is removed but one of the provisioner's own.
func TestVolumesAreRemoved(t *testing.T) {
	env, fake := appEnvironment(t, database)
	ours := workloads.LocalPathProvisioner
	for _, v := range []*corev1.PersistentVolume{
		volume("ours", workloads.LocalPathFolder+"/pvc-1", "nobody", "shop", ours),
		volume("of-another-namespace", workloads.LocalPathFolder+"/pvc-2", "nobody", "other", ours),
		volume("of-another-provisioner", workloads.LocalPathFolder+"/pvc-3", "nobody", "shop", "disks.org"),
	} {
		fake.Put(volumesPath, v)
	}
	left := func() (names []string) {
		for _, o := range fake.List(volumesPath) {
			names = append(names, o.GetName())
		}
		slices.Sort(names)
		return names
	}
	errtest.Check(t, env.removeVolumes(t.Context()), "")
	if len(left()) != 3 {
		t.Errorf("without the add-on, %v are left", left())
	}
	env.volumes = true
	errtest.Check(t, env.removeVolumes(t.Context()), "")
	if diff := cmp.Diff([]string{"of-another-namespace", "of-another-provisioner"}, left()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	for folder, want := range map[string]string{
		workloads.LocalPathFolder + "/pvc-1": workloads.LocalPathFolder + "/pvc-1", workloads.LocalPathFolder: "", workloads.LocalPathFolder + "/": "",
		workloads.LocalPathFolder + "/..": "", workloads.LocalPathFolder + "/a/../..": "", "/etc": "", workloads.LocalPathFolder + "/a/b": "",
	} {
		if got, _ := localFolder(*volume("v", folder, "n", "shop", ours)); got != want {
			t.Errorf("%s: would remove %q, want %q", folder, got, want)
		}
	}
}
