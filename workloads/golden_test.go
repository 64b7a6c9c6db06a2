package workloads

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/workloads/backend"
	"github.com/holdfast-ha/holdfast/workloads/gateway"
	"github.com/holdfast-ha/holdfast/workloads/serve"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var place = Place{
	Namespace: "hf-test", Image: "holdfast.local/holdfast:0123456789ab", Zones: map[string]string{"w2": "b", "w1": "a"},
}

// bare is a backend without any good practice.
var bare = Backend{
	Spread: NoSpread, Budget: NoBudget, Readiness: NoReadiness, PreStop: NoPreStop, AtTerm: Drop,
	Strategy: Strategy{MaxSurge: "0", MaxUnavailable: "100%"},
}

// everything is a backend with every option set to a value that is not the default.
var everything = Backend{
	Name: "shop", Replicas: 20, Revision: "2",
	Spread: []Spread{{
		Key: Zone, MaxSkew: 2, MinDomains: 3, NodeAffinityPolicy: corev1.NodeInclusionPolicyIgnore,
		NodeTaintsPolicy: corev1.NodeInclusionPolicyIgnore, MatchLabelKeys: []string{}, Selector: map[string]string{"tier": "front"},
	}},
	Affinity: []Affinity{
		{Key: Host, Away: true}, {Key: Zone, Away: true, Weight: 50},
		{Key: Zone, Selector: map[string]string{LabelName: "cache"}}, {Key: Host, Weight: 1},
	},
	NodeSelector: map[string]string{"disk": "fast"}, OnNode: "w1", AnyNode: true, Simulated: true, PastScheduler: true,
	Budget:    Budget{MinAvailable: "50%", UnhealthyPodEvictionPolicy: policyv1.IfHealthyBudget},
	Strategy:  Strategy{MaxSurge: "3", MaxUnavailable: "10%"},
	Readiness: Readiness{Period: 2 * time.Second, FailureThreshold: 1},
	Resources: Resources{CPU: "10m", Memory: "24Mi", MemoryLimit: "64Mi"},
	PreStop:   1500 * time.Millisecond, AtTerm: Hold, GracePeriod: 12 * time.Second,
	StartDelay: 5 * time.Second, ServiceTime: 20 * time.Millisecond, EndingTime: time.Second, Work: 3 * time.Millisecond, ResizeRestarts: true, CloseAfter: 100, NodePort: 30080, NodePortLocal: true,
}

var goldens = map[string]interface{ Objects(Place) ([]Object, error) }{
	"backend-default":    Backend{},
	"backend-bare":       bare,
	"backend-everything": everything,
	"backend-stateful":   Backend{StatefulSet: true},
	"gateway-default":    Gateway{},
	"gateway-node-ports": Gateway{Upstreams: []string{"10.0.0.1:30080", "10.0.0.2:30080"}, Health: NoHealth, Ejection: NoEjection, MaxTries: 1},
	"gateway-everything": Gateway{
		Name: "edge", Replicas: 2, Backend: "shop", OnWorkers: true, NoKeepAlive: true, PerTry: time.Second, MaxTries: 2,
		Health:    Health{Every: time.Second, Timeout: time.Second, UnhealthyAfter: 1, HealthyAfter: 3},
		Ejection:  Ejection{After: 5, For: 30 * time.Second},
		Resources: Resources{CPU: "100m", Memory: "48Mi", MemoryLimit: "96Mi"},
	},
	"healer-default": Healer{Run: "20260101-000000", Account: "holdfast-healer"},
	"healer-everything": Healer{
		Run: "20260101-000000", Account: "holdfast-healer", Avoid: []string{"w2", "w1"},
		Resources: Resources{CPU: "50m", Memory: "64Mi", MemoryLimit: "256Mi"},
	},
	"load-default":    Load{},
	"load-secrets":    Load{Flows: true, Secrets: map[string][]string{"token": {"header"}, "probe.example": {"a", "b"}}},
	"load-everything": Load{AlsoOn: []string{"w1"}, Workers: 4, Resources: Resources{CPU: "1", Memory: "1Gi", MemoryLimit: "2Gi"}},
	"load-anywhere":   Load{Anywhere: true, Workers: 200, NotOn: []string{"w1", "w2"}, Deadline: 90 * time.Second, Spill: "4Gi"},
}

func objectsOf(t *testing.T, name string) []Object {
	t.Helper()
	objects, err := goldens[name].Objects(place)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestGolden(t *testing.T) {
	for name := range goldens {
		t.Run(name, func(t *testing.T) { golden(t, name, objectsOf(t, name)) })
	}
	t.Run("namespace", func(t *testing.T) { golden(t, "namespace", []Object{Namespace("hf-test")}) })
}

// golden compares objects with testdata/<name>.yaml.
func golden(t *testing.T, name string, objects []Object) {
	t.Helper()
	var got bytes.Buffer
	for i, o := range objects {
		if i > 0 {
			got.WriteString("---\n")
		}
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(text)
	}
	path := filepath.Join("testdata", name+".yaml")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got), `go test ./workloads -update` accepts it:\n%s", path, diff)
	}
}

// podOf is the pod that an object creates; nil if it creates none.
func podOf(o Object) *corev1.PodSpec {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template.Spec
	case *appsv1.StatefulSet:
		return &o.Spec.Template.Spec
	case *batchv1.Job:
		return &o.Spec.Template.Spec
	}
	return nil
}

// TestPodsAreRestricted checks the requirements of Pod Security's restricted level, and holdfast's own.
// Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
func TestPodsAreRestricted(t *testing.T) {
	for name := range goldens {
		if load, is := goldens[name].(Load); is && load.Flows {
			continue // it has the privileges of the node's root, and says so
		}
		pods := 0
		for _, o := range objectsOf(t, name) {
			spec := podOf(o)
			if spec == nil {
				continue
			}
			pods++
			c, all := spec.Containers[0], spec.SecurityContext
			checks := map[string]bool{
				"one container":         len(spec.Containers) == 1 && len(spec.InitContainers) == 0,
				"unprivileged user":     *all.RunAsNonRoot && *all.RunAsUser != 0,
				"seccomp":               all.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
				"no escalation":         !*c.SecurityContext.AllowPrivilegeEscalation,
				"no capabilities":       cmp.Equal(c.SecurityContext.Capabilities, &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}),
				"read-only root":        *c.SecurityContext.ReadOnlyRootFilesystem,
				"nothing of the node":   !slices.ContainsFunc(spec.Volumes, foreign) && !spec.HostNetwork && !spec.HostPID && !spec.HostIPC,
				"no host ports":         c.Ports[0].HostPort == 0,
				"never pulled":          (c.ImagePullPolicy == corev1.PullNever || c.Name == ComponentHealer) && c.Image == place.Image,
				"no service links":      !*spec.EnableServiceLinks,
				"token only if need be": *spec.AutomountServiceAccountToken == (spec.ServiceAccountName != ""),
				"token only for some":   spec.ServiceAccountName == "" || c.Name == ComponentGateway || c.Name == ComponentHealer,
			}
			for what, ok := range checks {
				if !ok {
					t.Errorf("%s: %s %s: %s: not so", name, o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), what)
				}
			}
		}
		if pods == 0 {
			t.Errorf("%s makes no pods", name)
		}
	}
}

// foreign reports a volume that is more than scratch space.
func foreign(v corev1.Volume) bool { return v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil }

// TestServersUnderstandTheirArguments parses the command lines of all pods in the way the servers do.
func TestServersUnderstandTheirArguments(t *testing.T) {
	parsed := map[string]any{}
	for name := range goldens {
		for _, o := range objectsOf(t, name) {
			spec := podOf(o)
			if spec == nil || spec.Containers[0].Name == ComponentLoad {
				continue
			}
			c := spec.Containers[0]
			if c.Args[0] != "workload" || c.Args[1] != c.Name {
				t.Errorf("%s runs %q", name, c.Args)
			}
			var err error
			if c.Name == ComponentHealer { // whose server is above this room
				continue
			}
			if c.Name == ComponentBackend {
				parsed[name], err = backend.Parse(c.Args[2:], func(env string) string { return envOf(c, env) })
			} else {
				parsed[name], err = gateway.Parse(c.Args[2:])
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if got := parsed["backend-everything"].(backend.Options); got.Zone != "a" || got.StartDelay != 5*time.Second ||
		got.ServiceTime != 20*time.Millisecond || got.EndingTime != time.Second || got.Serve.AtTerm != serve.Hold || got.Serve.CloseAfter != 100 ||
		got.Serve.Limit != 8500*time.Millisecond { // grace period 12 s, minus the preStop sleep and two seconds
		t.Errorf("everything: %+v", got)
	}
	if got := parsed["gateway-node-ports"].(gateway.Options); !got.Health.Off || !got.Ejection.Off || got.MaxTries != 1 || len(got.Upstreams) != 2 {
		t.Errorf("node ports: %+v", got)
	}
	if got := parsed["gateway-everything"].(gateway.Options); got.Service != "shop" || got.Namespace != "hf-test" || !got.NoKeepAlive || got.PerTry != time.Second {
		t.Errorf("gateway: %+v", got)
	}
}

// envOf returns a variable of a container on node w1.
func envOf(c corev1.Container, name string) string {
	if name == backend.EnvNode {
		return "w1"
	}
	for _, e := range c.Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}
