package environment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/base/self"
	"github.com/holdfast-ha/holdfast/framework/deploy"
	"github.com/holdfast-ha/holdfast/framework/deploy/images"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/scenario/manifests"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// deployApp creates the namespaces and the objects of the application in their order, and returns when all are ready.
func (env *Environment) deployApp(ctx context.Context) error {
	for _, n := range env.Spec.App.Namespaces {
		if err := env.makeFurther(ctx, n); err != nil {
			return err
		}
	}
	d, err := deploy.New(env.config, env.Spec.App)
	if err != nil {
		return err
	}
	d.Outside = func(o workloads.Object) { env.outside = append(env.outside, o) }
	d.Created, d.Ready = env.balance, env.appReady
	d.Say = func(doing string) { env.Now(history.Deploy, doing) }
	env.deployed = d
	return d.Deploy(ctx)
}

var _ workloads.Object = (*unstructured.Unstructured)(nil)

// appPlan replaces the URLs of the lanes by the addresses of their Services: a name would test the cluster's DNS as well, which is all that a
// headless Service has. The Host header stays that of the URL.
func (env *Environment) appPlan(ctx context.Context) (load.Plan, error) {
	plan := load.Plan{ID: env.namespace, Lanes: slices.Clone(env.Spec.Load)}
	if err := env.proxiesFollow(ctx); err != nil {
		return plan, err
	}
	for i := range plan.Lanes {
		l := &plan.Lanes[i]
		if l.Target == "" {
			continue
		}
		u, err := url.Parse(l.Target)
		if err != nil {
			return plan, err
		}
		var address string
		if l.Outside {
			address, l.Addresses, err = env.outsideAddress(ctx, u)
		} else {
			address, err = env.address(ctx, u)
		}
		if err != nil {
			return plan, fmt.Errorf("find what is behind %s: %w", l.Target, err)
		}
		if l.Request.Host == "" && u.Scheme != "tcp" {
			l.Request.Host = u.Host
		}
		u.Host = address
		l.Target = u.String()
		if err := env.answers(ctx, *l); err != nil {
			return plan, err
		}
	}
	return plan, nil
}

// address is the cluster IP and the port of the Service of a URL, of a headless one its name, or those of the controller of an Ingress or HTTPRoute.
func (env *Environment) address(ctx context.Context, u *url.URL) (string, error) {
	if front, is := env.Spec.App.FrontOf(u.String()); is {
		return env.frontAddress(ctx, front, u)
	}
	service, known := env.Spec.App.Service(u.Hostname())
	if !known {
		return "", fmt.Errorf("%s is no Service of the application, and no host of an Ingress or HTTPRoute", u.Hostname())
	}
	found, err := env.client.CoreV1().Services(env.namespace).Get(ctx, service.Name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	port := app.Port(u)
	if service.Headless { // its clients have nothing but the DNS; the dot keeps them from trying other names first
		return net.JoinHostPort(service.Name+"."+env.namespace+app.Domain+".", port), nil
	}
	if net.ParseIP(found.Spec.ClusterIP) == nil {
		return "", fmt.Errorf("its Service %s has no cluster IP", service.Name)
	}
	if !slices.ContainsFunc(found.Spec.Ports, func(p corev1.ServicePort) bool { return strconv.Itoa(int(p.Port)) == port }) {
		return "", fmt.Errorf("its Service %s has no port %s", service.Name, port)
	}
	return net.JoinHostPort(found.Spec.ClusterIP, port), nil
}

// answers waits until a lane's target accepts connections: ready endpoints do not prove that kube-proxy has its rules. Whether answers are
// good shows when the load flows. A name is left to the load workers, because nodes have another DNS.
func (env *Environment) answers(ctx context.Context, l load.Lane) error {
	node, err := env.loadNode()
	if err != nil {
		return err
	}
	u, err := url.Parse(l.Target)
	if err != nil {
		return err
	}
	to := l.Addresses
	if address, err := netip.ParseAddr(u.Hostname()); err == nil {
		to = []netip.Addr{address}
	}
	for _, address := range to {
		err := poll.Until(ctx, l.Target+" to accept connections from "+node.Name()+" at "+address.String(), deployLimit, func(ctx context.Context) (bool, string, error) {
			_, err := node.Exec(ctx, "timeout", "2", "bash", "-c", `exec 3<>"/dev/tcp/$0/$1"`, address.String(), u.Port())
			return err == nil, "", err
		})
		if err != nil && len(l.Addresses) > 0 {
			err = fmt.Errorf("%w: each worker must answer at a node port, which with externalTrafficPolicy Local takes a ready pod on each", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ErrUnhealthy means that the application did not serve before anything was disturbed.
var ErrUnhealthy = errors.New("mend the application, or say with the probe's expectation that this answer is good")

// Undisturbed returns an error that wraps ErrUnhealthy if requests failed before anything was disturbed: then the probe is wrong, or the
// application is broken, and what a fault does to it would show nothing. Only applications of users are asked. One without a practice may lose
// requests as soon as it starts: a server that is offered to clients before it listens does.
func (env *Environment) Undisturbed() error {
	if env.Spec.App == nil || env.Spec.Mutant != nil || env.load == nil { // a promise says so, or what is lost is what the practice is for
		return nil
	}
	failed := failedLanes(env.load.Statuses())
	if len(failed) == 0 {
		return nil
	}
	why := ""
	if r, known := env.load.FirstFailure(); known {
		why = ", the first " + describe(r)
	}
	return fmt.Errorf("before anything was disturbed, %s failed%s: %w", strings.Join(failed, " and "), why, ErrUnhealthy)
}

// failedLanes says how many requests failed on each lane with failures: "3 of 300 requests on fresh (1 %)".
func failedLanes(workers []collect.Status) (all []string) {
	sent, failed := map[history.Lane]uint64{}, map[history.Lane]uint64{}
	var lanes []history.Lane
	for _, one := range workers {
		for _, l := range one.Lanes {
			if _, known := sent[l.Lane]; !known && l.Lane != history.LaneControl {
				lanes = append(lanes, l.Lane)
			}
			sent[l.Lane], failed[l.Lane] = sent[l.Lane]+l.Sent, failed[l.Lane]+l.Failed
		}
	}
	for _, lane := range lanes {
		if n := failed[lane]; n > 0 {
			all = append(all, fmt.Sprintf("%d of %s on %s (%s)", n, prose.Count(sent[lane], "request"), lane, prose.Percent(float64(n)/float64(sent[lane]))))
		}
	}
	return all
}

// describe says how a request failed.
func describe(r history.Request) string {
	text := string(r.Outcome)
	if r.Pod != "" {
		text += " by pod " + r.Pod
	}
	if r.Err != "" && r.Err != string(r.Outcome) {
		text += " (" + r.Err + ")"
	}
	return text
}

// appLimit is how long an application may take to become ready.
const appLimit = 5 * time.Minute

// appReady waits until every pod of the application's workloads is ready. A workload that cannot become ready ends the wait, with what
// Kubernetes says of it.
func (env *Environment) appReady(ctx context.Context) error {
	var stuck error
	err := poll.Until(ctx, "the application to be ready", appLimit, func(ctx context.Context) (bool, string, error) {
		list, err := env.client.CoreV1().Pods(env.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		var waiting []string
		for _, w := range env.Spec.App.Workloads {
			of := TargetFor(fault.Target{Namespace: env.namespace, Client: env.client}, w.Controller)
			want, err := env.replicas(ctx, of, w)
			if err != nil {
				return false, "", err
			}
			if want == 0 && w.Kind == workloads.DaemonSet && w.Name == env.backend {
				stuck = fmt.Errorf("DaemonSet %s is scheduled to no node: give its pods a nodeSelector, an affinity and tolerations that a worker fulfils", w.Name)
				return true, "", nil
			}
			ready := 0
			for _, p := range list.Items {
				if of.Owns(&p) && isReady(p) {
					ready++
				}
			}
			said, hopeless, err := env.deployed.Look(ctx, w)
			saw := fmt.Sprintf("%s %s: %d of %d pods ready: %s", w.Kind, w.Name, ready, want, said)
			switch {
			case err != nil:
				return false, "", err
			case ready >= want:
			case hopeless:
				stuck = fmt.Errorf("the application does not become ready: %s", saw)
				return true, "", nil
			default:
				waiting = append(waiting, saw)
			}
		}
		return len(waiting) == 0, strings.Join(waiting, "; "), nil
	})
	return errors.Join(err, stuck)
}

// replicas is how many pods a workload should have. Of a DaemonSet its controller knows that, once it has looked.
func (env *Environment) replicas(ctx context.Context, of fault.Target, w app.Workload) (int, error) {
	if w.Kind != workloads.DaemonSet {
		return int(w.Replicas), nil
	}
	d, err := of.Controller(ctx)
	if err != nil {
		return 0, err
	}
	if d.Status.ObservedGeneration < d.Generation {
		return 0, fmt.Errorf("its controller has not looked at DaemonSet %s yet", w.Name)
	}
	return int(*d.Spec.Replicas), nil
}

func isReady(p corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// singleReplica is the audit's rule about workloads with one replica.
const singleReplica = "single-replica"

// fixApp applies the scenario's fix to the application. The workload settles with it before load flows.
func (env *Environment) fixApp(ctx context.Context) error {
	if len(env.Spec.Fix) == 0 {
		return nil
	}
	untyped, err := dynamic.NewForConfig(env.config)
	if err != nil {
		return err
	}
	for _, step := range env.Spec.Fix {
		if err := manifests.Send(ctx, untyped, step); err != nil {
			return fmt.Errorf("apply the fix %s: %w", step.Command, err)
		}
	}
	return nil
}

// proxiesFollow lets the time pass in which each kube-proxy must have followed the replacement of pods by a fix. Nothing that is seen of
// the cluster says which rules a proxy has, and a request to a pod that the fix has replaced would look like a failure of the application.
func (env *Environment) proxiesFollow(ctx context.Context) error {
	if len(env.Spec.Fix) == 0 {
		return nil
	}
	return poll.Pass(ctx, evidence.PropagationSlack)
}

// auditApp records what the audit finds in the workload under test, with the fixes: if a promise is broken, the report says which of
// them takes the cause away.
func (env *Environment) auditApp(ctx context.Context) error {
	cluster, err := audit.Read(ctx, env.client, audit.Scope{Namespaces: []string{env.namespace}})
	if err != nil {
		return fmt.Errorf("audit %s: %w", env.backend, err)
	}
	cluster.Only(env.backend)
	report := audit.Audit(cluster, audit.Options{})
	event := history.Audit{Namespace: env.namespace, Workload: env.backend, Findings: []history.Finding{}}
	for _, f := range report.Findings {
		found := history.Finding{Rule: f.Rule, Evidence: f.Evidence}
		if f.Rule == singleReplica && strings.Contains(f.Caution, audit.SecondDatabase) { // several of a server with state are not one server
			f.Fix = nil
		}
		for _, step := range f.Fix {
			found.Commands = append(found.Commands, step.Command)
		}
		if len(f.Fix) > 0 {
			if found.Fix, err = json.Marshal(f.Fix); err != nil {
				return fmt.Errorf("audit %s: %w", env.backend, err)
			}
		}
		event.Findings = append(event.Findings, found)
	}
	return env.Writer.Append(history.Event{T: env.Writer.Now(), Audit: &event})
}

// serveAppImages serves the images of an application to the nodes, and loads those of its pods.
func (env *Environment) serveAppImages(ctx context.Context) error {
	if env.Spec.App.Layout == "" {
		return errors.New("the images of the application were not gathered")
	}
	var ofPods []string
	for _, r := range env.Spec.App.References() {
		if r.Use != app.InPod {
			continue
		}
		name, err := images.ParseName(r.Image)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Where, err)
		}
		ofPods = append(ofPods, name.String())
	}
	slices.Sort(ofPods)
	executable, err := self.Path(ctx, env.CacheDir)
	if err != nil {
		return err
	}
	node, err := env.loadNode()
	if err != nil {
		return err
	}
	address, err := env.addressOf(ctx, node.Name())
	if err != nil {
		return err
	}
	return images.StartMirror(ctx, env.Cluster, address, env.Spec.App.Layout, executable, slices.Compact(ofPods))
}

// addressOf is the IPv4 address of a node in the cluster's network.
func (env *Environment) addressOf(ctx context.Context, node string) (string, error) {
	found, err := env.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the address of %s: %w", node, err)
	}
	for _, a := range found.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && !strings.Contains(a.Address, ":") {
			return a.Address, nil
		}
	}
	return "", fmt.Errorf("read the address of %s: it has no IPv4 address", node)
}

// secretLimit is how long a Secret may take to exist after the application is ready: some are made by controllers.
const secretLimit = 30 * time.Second

// loadWithSecrets creates the load workers whose requests carry values of the application's Secrets. They are created after the Secrets:
// the kubelet mounts what is there when a pod starts, and looks for changes once a minute.
func (env *Environment) loadWithSecrets(ctx context.Context) error {
	workers := env.loadWorkers()
	if len(workers.Secrets) == 0 {
		return nil
	}
	client, err := metadata.NewForConfig(env.config)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(workers.Secrets)) {
		if err := secretExists(ctx, client, env.namespace, name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(workers.Secrets)) {
		if err := env.lendSecret(ctx, name, workers.Secrets[name]); err != nil {
			return err
		}
	}
	objects, err := workers.Objects(env.loadPlace())
	if err != nil {
		return err
	}
	return env.create(ctx, objects...)
}

// lendSecret copies the keys of a Secret that requests carry, and no other, to where the load workers are: a pod mounts Secrets of its own namespace.
func (env *Environment) lendSecret(ctx context.Context, name string, keys []string) error {
	found, err := env.client.CoreV1().Secrets(env.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read Secret %s of namespace %s for the load workers: %w", name, env.namespace, err)
	}
	lent := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{}}
	for _, key := range keys {
		if value, is := found.Data[key]; is {
			lent.Data[key] = value
		}
	}
	if _, err := env.client.CoreV1().Secrets(env.Spec.LoadNamespace()).Create(ctx, lent, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create Secret %s for the load workers: %w", name, err)
	}
	return nil
}

// secretExists waits for a Secret. Only its metadata is read. Whether it has the key, the load worker says.
func secretExists(ctx context.Context, client metadata.Interface, namespace, name string) error {
	err := poll.Until(ctx, "Secret "+name+" to exist in namespace "+namespace, secretLimit, func(ctx context.Context) (bool, string, error) {
		_, err := client.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, "no such Secret", nil
		}
		return err == nil, "", err
	})
	if err != nil {
		return fmt.Errorf("a probe has a header from Secret %s: add it to the manifests, or correct fromSecret: %w", name, err)
	}
	return nil
}
