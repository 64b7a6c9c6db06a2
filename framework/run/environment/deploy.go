package environment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/klient/k8s"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/gateway"
	"github.com/holdfast-ha/holdfast/workloads/image"
)

// loadImage loads this executable as an image into every node that does not have it.
func (env *Environment) loadImage(ctx context.Context) error {
	built, err := env.Image()
	if err != nil {
		return err
	}
	env.image = built.Ref
	if err := env.Cluster.LoadImage(ctx, built); err != nil {
		return fmt.Errorf("load %s: %w", built.Ref, err)
	}
	return nil
}

// createWorkload creates the backend, the gateway, the add-ons and the load workers, and returns when all are ready.
func (env *Environment) createWorkload(ctx context.Context) error {
	objects, err := env.wanted(ctx)
	if err != nil {
		return err
	}
	if err := env.create(ctx, objects...); err != nil {
		return err
	}
	if err := env.deployAddons(ctx); err != nil { // before an application, whose pods wait for their volumes
		return err
	}
	if env.Spec.App != nil {
		if err := env.deployApp(ctx); err != nil {
			return err
		}
		if err := env.fixApp(ctx); err != nil {
			return err
		}
		if err := env.loadWithSecrets(ctx); err != nil {
			return err
		}
	}
	target, err := env.target(env.config)
	if err != nil {
		return err
	}
	if err := env.fill(ctx); err != nil {
		return err
	}
	for _, c := range env.Spec.Controllers() {
		one := TargetFor(target, c)
		one.Services = env.Spec.Services(c.Name)
		if _, err := one.Settle(ctx); err != nil {
			return err
		}
	}
	if env.Spec.App != nil {
		if err := env.auditApp(ctx); err != nil {
			return err
		}
	}
	if len(env.Spec.Load) > 0 {
		if err := env.loadReady(ctx); err != nil {
			return err
		}
	}
	if env.Spec.Gateway == nil {
		return nil
	}
	target.Workload, target.SchedulableReplicas, target.Kind = env.Spec.Gateway.WithDefaults().Name, 0, ""
	target.Services = nil
	_, err = target.Settle(ctx)
	return err
}

// wanted are the objects of the scenario, in the order of their creation, without those of a fill.
func (env *Environment) wanted(ctx context.Context) ([]workloads.Object, error) {
	at := env.place(env.image)
	var objects []workloads.Object
	for _, backend := range env.Spec.Backends() {
		if env.Spec.PinTo > 0 {
			node, err := env.worker(env.Spec.PinTo)
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
	if len(env.Spec.Load) > 0 && len(env.loadWorkers().Secrets) == 0 { // or else loadWithSecrets makes them
		more, err := env.loadWorkers().Objects(env.loadPlace())
		if err != nil {
			return nil, err
		}
		objects = append(objects, more...)
	}
	if env.Spec.Gateway == nil {
		return objects, nil
	}
	front := *env.Spec.Gateway
	if env.Spec.NodePorts > 0 {
		var err error
		if front.Upstreams, err = env.nodePorts(ctx, env.Spec.Backend.NodePort); err != nil {
			return nil, err
		}
	}
	more, err := front.Objects(at)
	return append(objects, more...), err
}

// place is where the scenario's objects go.
func (env *Environment) place(image string) workloads.Place {
	at := workloads.Place{Namespace: env.namespace, Image: image, Zones: map[string]string{}}
	for _, n := range env.Cluster.Nodes() {
		if n.Zone() != "" && n.Role() != clusters.Simulated { // nothing on a simulated node asks for its zone
			at.Zones[n.Name()] = n.Zone()
		}
	}
	return at
}

// loadPlace is where the load workers go.
func (env *Environment) loadPlace() workloads.Place {
	at := env.place(env.image)
	at.Namespace = env.Spec.LoadNamespace()
	return at
}

// worker is the n-th worker by name, from 1.
func (env *Environment) worker(n int) (clusters.Node, error) {
	for _, node := range env.Cluster.Nodes() {
		if node.Role() == clusters.Worker {
			if n--; n == 0 {
				return node, nil
			}
		}
	}
	return nil, fmt.Errorf("pick a worker of %s: it has %d fewer than asked for", env.Cluster.Name(), n)
}

// loadNode is the node that carries the load.
func (env *Environment) loadNode() (clusters.Node, error) {
	for _, n := range env.Cluster.Nodes() {
		if n.Role() == clusters.LoadNode {
			return n, nil
		}
	}
	return nil, fmt.Errorf("cluster %s has no load node", env.Cluster.Name())
}

// nodePorts are the addresses of the first workers, with the port.
func (env *Environment) nodePorts(ctx context.Context, port int32) ([]string, error) {
	var addresses []string
	for n := range env.Spec.NodePorts {
		worker, err := env.worker(n + 1)
		if err != nil {
			return nil, err
		}
		address, err := env.addressOf(ctx, worker.Name())
		if err != nil { // a gateway without upstreams would use EndpointSlices
			return nil, err
		}
		addresses = append(addresses, fmt.Sprintf("%s:%d", address, port))
	}
	return addresses, nil
}

func (env *Environment) create(ctx context.Context, objects ...workloads.Object) error {
	for _, o := range objects {
		if err := env.objects.Create(ctx, o.(k8s.Object)); err != nil {
			return fmt.Errorf("create %s %s: %w", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), err)
		}
	}
	return nil
}

// plan fills in the targets of the lanes: the cluster IP of the gateway's Service, or of the backend's. A name would test the
// cluster's DNS as well.
func (env *Environment) plan(ctx context.Context) (load.Plan, error) {
	if env.Spec.App != nil {
		return env.appPlan(ctx)
	}
	probe := env.Spec.Backend.Probes()[0]
	if env.Spec.Gateway != nil {
		probe.Service = env.Spec.Gateway.WithDefaults().Name
	}
	service, err := env.client.CoreV1().Services(env.namespace).Get(ctx, probe.Service, metav1.GetOptions{})
	if err != nil {
		return load.Plan{}, fmt.Errorf("find the load's target: %w", err)
	}
	target := fmt.Sprintf("http://%s:%d%s", service.Spec.ClusterIP, probe.Port, probe.Path)
	return load.Plan{ID: env.namespace, Lanes: env.Spec.Load}.To(target, probe.Expect), nil
}

// serving waits until the target answers requests from every node with a load worker, and until the gateway, if there is one, uses
// all its upstreams. Ready endpoints do not prove that kube-proxy on every node has its rules, or that the gateway's health checks
// have passed, and a request that fails for that reason would be attributed to a fault.
func (env *Environment) serving(ctx context.Context, target string) error {
	err := env.ask(ctx, target+" to answer", anyAnswer, target)
	if err != nil || env.Spec.Gateway == nil {
		return err
	}
	stats := strings.TrimSuffix(target, "/") + gateway.StatsPath
	return env.ask(ctx, "the gateway to use all its upstreams", func(answer []byte) (bool, string, error) {
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
		env.gatewayStats, env.gatewayBefore = stats, told
		saw := fmt.Sprintf("%d upstreams, of which it leaves out %q", len(told.Upstreams), out)
		return len(told.Upstreams) > 0 && len(out) == 0, saw, nil
	}, stats)
}

// ask requests URLs from every node with a load worker, one after the other, until all answer and wanted returns true of their answers. An error names
// the first that does not answer. The engine runs one command for all: each takes it a tenth of a second.
func (env *Environment) ask(ctx context.Context, what string, wanted func(answer []byte) (bool, string, error), urls ...string) error {
	also := env.loadWorkers().AlsoOn
	curl := append([]string{"curl", "--silent", "--show-error", "--fail", "--fail-early", "--max-time", "2"}, urls...)
	for _, n := range env.Cluster.Nodes() {
		if n.Role() != clusters.LoadNode && !slices.Contains(also, n.Name()) {
			continue
		}
		err := poll.Until(ctx, what+" from "+n.Name(), deployLimit, func(ctx context.Context) (bool, string, error) {
			out, err := n.Exec(ctx, curl...)
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

// TargetFor is the target with one of the workload's controllers.
func TargetFor(t fault.Target, c workloads.Controller) fault.Target {
	t.Workload, t.Kind, t.Services = c.Name, c.Kind, nil
	return t
}

// addonImage is an add-on whose image the load node holds.
type addonImage struct {
	workloads.Addon
	ref string
}

// loadAddons compiles the add-ons if necessary, and loads their images into the load node, where add-ons run.
func (env *Environment) loadAddons(ctx context.Context) error {
	for _, a := range env.Spec.Addons {
		p := a.Program()
		if env.Compile == nil {
			return fmt.Errorf("compile %s: this run has no compiler", p.Name)
		}
		env.Now(history.Provision, "add-on "+p.Name+" "+p.Version)
		executable, err := env.Compile(ctx, p)
		if err != nil {
			return err
		}
		ref, archive, err := image.BuildAddon(p.Name, executable, filepath.Join(env.CacheDir, "images"))
		if err != nil {
			return err
		}
		if err := env.Cluster.LoadImage(ctx, clusters.Image{Ref: ref, Path: archive, Role: clusters.LoadNode}); err != nil {
			return fmt.Errorf("load %s: %w", ref, err)
		}
		env.addons = append(env.addons, addonImage{a, ref})
	}
	return nil
}

// deployAddons creates the objects of the add-ons, and returns when the add-ons are ready.
func (env *Environment) deployAddons(ctx context.Context) error {
	for _, a := range env.addons {
		objects, err := a.Objects(env.place(a.ref))
		if err != nil {
			return err
		}
		for _, o := range objects {
			if err := env.createAnywhere(ctx, o); err != nil {
				return err
			}
		}
	}
	for _, a := range env.addons {
		if err := env.works(ctx, a.Program().Name); err != nil {
			return err
		}
	}
	return nil
}

// createAnywhere creates an object. An object outside of the namespace is removed by removeOutside. An object that a killed run
// has left is replaced, and an object that holdfast did not create is an error.
func (env *Environment) createAnywhere(ctx context.Context, o workloads.Object) error {
	if o.GetNamespace() == env.namespace {
		return env.create(ctx, o)
	}
	left := o.DeepCopyObject().(workloads.Object)
	err := env.create(ctx, o)
	if apierrors.IsAlreadyExists(err) {
		if err := env.objects.Get(ctx, o.GetName(), o.GetNamespace(), left.(k8s.Object)); err != nil {
			return fmt.Errorf("look at %s: %w", objectName(o), err)
		}
		if left.GetLabels()[workloads.LabelPartOf] != o.GetLabels()[workloads.LabelPartOf] {
			return fmt.Errorf("create %s: it exists already, and holdfast did not create it", objectName(o))
		}
		if err := env.remove(ctx, left); err != nil {
			return err
		}
		err = env.create(ctx, o)
	}
	if err == nil {
		env.outside = append(env.outside, o)
	}
	return err
}

// removeOutside removes the objects that were created outside of the namespace, in reverse order.
func (env *Environment) removeOutside(ctx context.Context) error {
	var errs []error
	for _, o := range slices.Backward(env.outside) {
		errs = append(errs, env.remove(ctx, o))
	}
	env.outside = nil
	return errors.Join(errs...)
}

// remove deletes an object, and returns when it is gone.
func (env *Environment) remove(ctx context.Context, o workloads.Object) error {
	return poll.Until(ctx, objectName(o)+" to be gone", clearLimit, func(ctx context.Context) (bool, string, error) {
		err := env.objects.Delete(ctx, o.(k8s.Object))
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, "still there", err
	})
}

func objectName(o workloads.Object) string {
	return o.GetObjectKind().GroupVersionKind().Kind + " " + o.GetName()
}

// works waits until an add-on is available.
func (env *Environment) works(ctx context.Context, name string) error {
	return poll.Until(ctx, "add-on "+name+" to be ready", deployLimit, func(ctx context.Context) (bool, string, error) {
		d, err := env.client.AppsV1().Deployments(env.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return d.Status.AvailableReplicas > 0, fmt.Sprintf("%d pods, %d available", d.Status.Replicas, d.Status.AvailableReplicas), nil
	})
}
