package workloads

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

var addonGoldens = map[string]Addon{
	"descheduler-default":    Descheduler{},
	"metrics-server-default": MetricsServer{},
	"recommender-default":    VerticalRecommender{},
	"local-path-default":     LocalPath{Helper: "holdfast.local/holdfast:0123456789ab"},
	"updater-default":        VerticalUpdater{},
	"descheduler-everything": Descheduler{Every: 5500 * time.Millisecond, Soft: true, Resources: Resources{CPU: "10m", Memory: "32Mi", MemoryLimit: "64Mi"}},
}

func addonObjects(t *testing.T, name string) []Object {
	t.Helper()
	at := place
	at.Image = "holdfast.local/addon/" + addonGoldens[name].Program().Name + ":0123456789ab"
	objects, err := addonGoldens[name].Objects(at)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestAddonGolden(t *testing.T) {
	for name := range addonGoldens {
		t.Run(name, func(t *testing.T) { golden(t, name, addonObjects(t, name)) })
	}
}

// TestAddonsAreRestricted: an add-on's pod complies with the restricted Pod Security level, runs on the load node, and its
// image is never pulled. The level allows more volume types than the two that are checked here.
// Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
func TestAddonsAreRestricted(t *testing.T) {
	for name := range addonGoldens {
		pods := 0
		for _, o := range addonObjects(t, name) {
			d, ok := o.(*appsv1.Deployment)
			if !ok {
				continue
			}
			pods++
			spec := d.Spec.Template.Spec
			c, all := spec.Containers[0], spec.SecurityContext
			checks := map[string]bool{
				"one container":      len(spec.Containers) == 1 && len(spec.InitContainers) == 0,
				"unprivileged user":  *all.RunAsNonRoot && *all.RunAsUser != 0,
				"seccomp":            all.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
				"no escalation":      !*c.SecurityContext.AllowPrivilegeEscalation,
				"no capabilities":    cmp.Equal(c.SecurityContext.Capabilities, &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}),
				"read-only root":     *c.SecurityContext.ReadOnlyRootFilesystem,
				"never pulled":       c.ImagePullPolicy == corev1.PullNever && strings.HasPrefix(c.Image, "holdfast.local/addon/"),
				"nothing of a host":  !spec.HostNetwork && !spec.HostPID && !spec.HostIPC && !slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 }),
				"on the load node":   cmp.Equal(spec.NodeSelector, map[string]string{labelRole: roleLoad}) && len(spec.Tolerations) == 2,
				"allowed volumes":    !slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.ConfigMap == nil && v.EmptyDir == nil }),
				"one mount each":     len(c.VolumeMounts) == len(spec.Volumes),
				"an account":         spec.ServiceAccountName == d.Name && *spec.AutomountServiceAccountToken,
				"ready when it says": len(c.Ports) == 0 || c.ReadinessProbe.HTTPGet.Scheme == corev1.URIScheme(strings.ToUpper(c.Ports[0].Name)),
				"starts its program": c.Args[0] != "workload",
			}
			for what, ok := range checks {
				if !ok {
					t.Errorf("%s: %s: not so", name, what)
				}
			}
		}
		if pods != 1 {
			t.Errorf("%s makes %d Deployments, want one", name, pods)
		}
	}
}

// TestAddonsAreOurs: every object of an add-on is labelled, and the name of an object outside of the scenario's namespace
// contains the namespace, so that two scenarios do not collide and the objects can be found and removed.
func TestAddonsAreOurs(t *testing.T) {
	for name := range addonGoldens {
		for _, o := range addonObjects(t, name) {
			kind := o.GetObjectKind().GroupVersionKind()
			labels := o.GetLabels()
			if kind.Kind == "" || kind.Version == "" || labels[LabelPartOf] != "holdfast" || labels[LabelComponent] != ComponentAddon || labels[LabelName] == "" {
				t.Errorf("%s: %s %s/%s labelled %v", name, kind, o.GetNamespace(), o.GetName(), labels)
			}
			// The name of an API is given by its group and its version or kind.
			api := kind.Kind == "APIService" || kind.Kind == "CustomResourceDefinition"
			if o.GetNamespace() != "hf-test" && !strings.HasPrefix(o.GetName(), "hf-test-") && !api {
				t.Errorf("%s: %s %s/%s is outside of the namespace, but its name does not contain it", name, kind.Kind, o.GetNamespace(), o.GetName())
			}
		}
	}
}

// TestRolesOfAddonsAreBound: every role is bound to the add-on's own service account, and to nothing else.
func TestRolesOfAddonsAreBound(t *testing.T) {
	for name := range addonGoldens {
		made, bound := map[string]bool{}, map[string]bool{}
		check := func(ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
			bound[ref.Kind+" "+ref.Name] = true
			want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: addonGoldens[name].Program().Name, Namespace: "hf-test"}}
			if diff := cmp.Diff(want, subjects); diff != "" {
				t.Errorf("%s: %s is bound to (-want +got):\n%s", name, ref.Name, diff)
			}
		}
		for _, o := range addonObjects(t, name) {
			switch o := o.(type) {
			case *rbacv1.Role:
				made["Role "+o.Name] = true
			case *rbacv1.ClusterRole:
				made["ClusterRole "+o.Name] = true
			case *rbacv1.RoleBinding:
				check(o.RoleRef, o.Subjects)
			case *rbacv1.ClusterRoleBinding:
				check(o.RoleRef, o.Subjects)
			}
		}
		for role := range made {
			if !bound[role] {
				t.Errorf("%s: %s is not bound", name, role)
			}
		}
		if len(made) == 0 {
			t.Errorf("%s may do nothing", name)
		}
	}
}

// TestDeschedulerEvictsHereOnly: whatever its policy says, it may not evict pods of another namespace.
func TestDeschedulerEvictsHereOnly(t *testing.T) {
	here := false
	for _, o := range addonObjects(t, "descheduler-default") {
		switch o := o.(type) {
		case *rbacv1.ClusterRole:
			for _, r := range o.Rules {
				if slices.ContainsFunc(r.Verbs, func(v string) bool { return v != "get" && v != "list" && v != "watch" }) {
					t.Errorf("everywhere it may %v %v", r.Verbs, r.Resources)
				}
			}
		case *rbacv1.Role:
			here = slices.ContainsFunc(o.Rules, func(r rbacv1.PolicyRule) bool {
				return slices.Contains(r.Resources, "pods/eviction") && slices.Contains(r.Verbs, "create")
			})
		}
	}
	if !here {
		t.Error("it may evict no pod of the scenario's namespace")
	}
}

func TestAddonsThatMakeNoSense(t *testing.T) {
	for want, a := range map[string]Addon{
		"descheduler: a round every 500ms: want at least 1s":  Descheduler{Every: 500 * time.Millisecond},
		"descheduler: resources: \"much\": ":                  Descheduler{Resources: Resources{CPU: "much"}},
		"metrics-server: a round every 9s: want at least 10s": MetricsServer{Every: 9 * time.Second},
		"metrics-server: resources: \"much\": ":               MetricsServer{Resources: Resources{Memory: "much"}},
		"recommender: a round every 1ms: want at least 1s":    VerticalRecommender{Every: time.Millisecond},
		"local-path-provisioner: no image of its helper pods": LocalPath{},
		"updater: resources: \"much\": ":                      VerticalUpdater{Resources: Resources{MemoryLimit: "much"}},
	} {
		if err := a.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if objects, err := a.Objects(place); err == nil || objects != nil {
			t.Errorf("%s: %d objects, %v", want, len(objects), err)
		}
	}
}
