package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/klient/k8s"
	"sigs.k8s.io/e2e-framework/klient/wait/conditions"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/gateway"
	"github.com/holdfast-ha/holdfast/workloads/image"
)

// loadImage brings this executable into every node that does not hold it yet.
func (st *stage) loadImage(ctx context.Context) error {
	built, err := st.run.image()
	if err != nil {
		return err
	}
	st.image = built.Ref
	if err := st.cluster.LoadImage(ctx, built); err != nil {
		return fmt.Errorf("load %s: %w", built.Ref, err)
	}
	return nil
}

// image is this executable as an image: built once, and the same for every scenario of the run, also when somebody builds
// the executable anew meanwhile.
func (r *run) image() (clusters.Image, error) {
	if r.built.Ref != "" {
		return r.built, nil
	}
	ref, archive, err := image.Build(r.settings.Executable, filepath.Join(r.settings.CacheDir, "images"))
	if err == nil {
		r.built = clusters.Image{Ref: ref, Path: archive}
	}
	return r.built, err
}

// deploy creates the backend, the gateway and the load worker, and returns when all are as they should be.
func (st *stage) deploy(ctx context.Context) error {
	objects, err := st.wanted(ctx)
	if err != nil {
		return err
	}
	if err := st.create(ctx, objects...); err != nil {
		return err
	}
	if err := st.deployAddons(ctx); err != nil {
		return err
	}
	target, err := st.target(st.config)
	if err != nil {
		return err
	}
	for _, b := range st.spec.backends() {
		if _, err := of(target, b).Settle(ctx); err != nil {
			return err
		}
	}
	if len(st.spec.Load) > 0 {
		if err := st.loadReady(ctx); err != nil {
			return err
		}
	}
	if st.spec.Gateway == nil {
		return nil
	}
	target.Workload, target.SchedulableReplicas, target.StatefulSet = st.spec.Gateway.WithDefaults().Name, 0, false
	_, err = target.Settle(ctx)
	return err
}

// wanted are all objects of the scenario, in the order in which to create them.
func (st *stage) wanted(ctx context.Context) ([]workloads.Object, error) {
	at := st.place(st.image)
	var objects []workloads.Object
	for _, backend := range st.spec.backends() {
		if st.spec.PinTo > 0 {
			node, err := st.worker(st.spec.PinTo)
			if err != nil {
				return nil, err
			}
			backend.OnNode = node.Name()
		}
		more, err := backend.Objects(at)
		if err != nil {
			return nil, err
		}
		objects = append(objects, more...)
	}
	if len(st.spec.Load) > 0 {
		more, err := st.loadWorkers().Objects(at)
		if err != nil {
			return nil, err
		}
		objects = append(objects, more...)
	}
	if st.spec.Gateway == nil {
		return objects, nil
	}
	front := *st.spec.Gateway
	if st.spec.NodePorts > 0 {
		var err error
		if front.Upstreams, err = st.nodePorts(ctx, st.spec.Backend.NodePort); err != nil {
			return nil, err
		}
	}
	more, err := front.Objects(at)
	return append(objects, more...), err
}

// place is where the scenario's objects go.
func (st *stage) place(image string) workloads.Place {
	at := workloads.Place{Namespace: st.namespace, Image: image, Zones: map[string]string{}}
	for _, n := range st.cluster.Nodes() {
		if n.Zone() != "" {
			at.Zones[n.Name()] = n.Zone()
		}
	}
	return at
}

// worker is the n-th worker by name, from 1.
func (st *stage) worker(n int) (clusters.Node, error) {
	for _, node := range st.cluster.Nodes() {
		if node.Role() == clusters.Worker {
			if n--; n == 0 {
				return node, nil
			}
		}
	}
	return nil, fmt.Errorf("pick a worker of %s: it has %d fewer than asked for", st.cluster.Name(), n)
}

// nodePorts are the addresses of the first workers, with the port.
func (st *stage) nodePorts(ctx context.Context, port int32) ([]string, error) {
	var addresses []string
	for n := range st.spec.NodePorts {
		worker, err := st.worker(n + 1)
		if err != nil {
			return nil, err
		}
		node, err := st.client.CoreV1().Nodes().Get(ctx, worker.Name(), metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("read the address of %s: %w", worker.Name(), err)
		}
		i := slices.IndexFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool {
			return a.Type == corev1.NodeInternalIP && !strings.Contains(a.Address, ":")
		})
		if i < 0 { // a gateway without upstreams would use EndpointSlices
			return nil, fmt.Errorf("read the address of %s: it has no IPv4 address", worker.Name())
		}
		addresses = append(addresses, fmt.Sprintf("%s:%d", node.Status.Addresses[i].Address, port))
	}
	return addresses, nil
}

func (st *stage) create(ctx context.Context, objects ...workloads.Object) error {
	for _, o := range objects {
		if err := st.objects.Create(ctx, o.(k8s.Object)); err != nil {
			return fmt.Errorf("create %s %s: %w", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), err)
		}
	}
	return nil
}

// loadReady waits for the load workers' pods.
func (st *stage) loadReady(ctx context.Context) error {
	for _, name := range st.loadWorkers().PodNames() {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: st.namespace}}
		ready := conditions.New(st.objects).PodConditionMatch(pod, corev1.PodReady, corev1.ConditionTrue)
		err := poll.Until(ctx, "load worker "+name+" to be ready", deployLimit,
			func(ctx context.Context) (bool, string, error) {
				done, err := ready(ctx)
				return done, string(pod.Status.Phase), err
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// plan fills in where the lanes lead: the cluster IP of the gateway's Service, or of the backend's. By name it would be
// the cluster's DNS that is tested.
func (st *stage) plan(ctx context.Context) (load.Plan, error) {
	name := st.backend
	if st.spec.Gateway != nil {
		name = st.spec.Gateway.WithDefaults().Name
	}
	service, err := st.client.CoreV1().Services(st.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return load.Plan{}, fmt.Errorf("find the load's target: %w", err)
	}
	plan := load.Plan{ID: st.namespace, Lanes: append([]load.Lane(nil), st.spec.Load...)}
	for i := range plan.Lanes {
		if l := &plan.Lanes[i]; l.Target == "" && l.Lane != history.LaneControl {
			l.Target = fmt.Sprintf("http://%s:%d/", service.Spec.ClusterIP, workloads.ServicePort)
		}
	}
	return plan, nil
}

// serving waits until the load's target answers from every node with a load worker, and until a gateway there uses all its upstreams.
// That its endpoints are ready does not mean that kube-proxy on every node knows it, nor that the gateway has seen each
// upstream well: what is not yet there at the beginning is no failure of what is tested.
func (st *stage) serving(ctx context.Context, target string) error {
	err := st.ask(ctx, target, target+" to answer", anyAnswer)
	if err != nil || st.spec.Gateway == nil {
		return err
	}
	stats := strings.TrimSuffix(target, "/") + gateway.StatsPath
	return st.ask(ctx, stats, "the gateway to use all its upstreams", func(answer []byte) (bool, string, error) {
		var told gateway.Stats
		if err := json.Unmarshal(answer, &told); err != nil {
			return false, "", fmt.Errorf("read the gateway's statistics: %w", err)
		}
		var out []string
		for _, u := range told.Upstreams {
			if !u.Healthy || u.Ejected {
				out = append(out, u.Address)
			}
		}
		st.gatewayStats, st.gatewayBefore = stats, told
		saw := fmt.Sprintf("%d upstreams, of which it leaves out %q", len(told.Upstreams), out)
		return len(told.Upstreams) > 0 && len(out) == 0, saw, nil
	})
}

// ask reads a URL from every node with a load worker until the answer is as wanted.
func (st *stage) ask(ctx context.Context, url, what string, wanted func(answer []byte) (bool, string, error)) error {
	also := st.loadWorkers().AlsoOn
	for _, n := range st.cluster.Nodes() {
		if n.Role() != clusters.LoadNode && !slices.Contains(also, n.Name()) {
			continue
		}
		err := poll.Until(ctx, what+" from "+n.Name(), deployLimit, func(ctx context.Context) (bool, string, error) {
			out, err := n.Exec(ctx, "curl", "--silent", "--show-error", "--fail", "--max-time", "2", url)
			if err != nil {
				return false, string(out), err
			}
			return wanted(out)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// workerURL reaches a load worker through the API server's proxy: from wherever this process runs.
func (st *stage) workerURL(host, pod string) string {
	return fmt.Sprintf("%s/api/v1/namespaces/%s/pods/%s:%d/proxy", strings.TrimSuffix(host, "/"), st.namespace, pod, workloads.Port)
}

// loadWorkers are the load workers of the scenario: on the load node, and on the first workers.
func (st *stage) loadWorkers() workloads.Load {
	var also []string
	for _, n := range st.cluster.Nodes() {
		if n.Role() == clusters.Worker && len(also) < st.spec.LoadOnWorkers {
			also = append(also, n.Name())
		}
	}
	return st.spec.loadWorkers(also)
}

// loadWorkers are the load workers of a scenario, some of them on nodes that are named.
func (s Spec) loadWorkers(also []string) workloads.Load {
	return workloads.Load{AlsoOn: also, Resources: workloads.Resources{CPU: s.LoadCPU, CPULimit: s.LoadCPU}}
}
