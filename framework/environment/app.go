package environment

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// fieldManager is the owner of the fields that holdfast applies.
const fieldManager = "holdfast"

// applier creates the objects of an application.
type applier struct {
	env     *Environment
	dynamic dynamic.Interface
	mapper  meta.ResettableRESTMapper
}

// deployApp creates the objects of the application in their order, all but the hooks that come after its pods run. It does not wait until
// they run.
func (env *Environment) deployApp(ctx context.Context) error {
	a, err := env.applier()
	if err != nil {
		return err
	}
	if err := a.create(ctx, app.First, app.BeforeInstall, app.Install); err != nil {
		return err
	}
	return env.balance(ctx)
}

func (env *Environment) applier() (applier, error) {
	untyped, err := dynamic.NewForConfig(env.config)
	if err != nil {
		return applier{}, err
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(env.config)
	if err != nil {
		return applier{}, err
	}
	return applier{env, untyped, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))}, nil
}

// apply applies one object. A kind that the API server does not know may belong to a CustomResourceDefinition that was just created.
func (a applier) apply(ctx context.Context, m app.Manifest) error {
	var refused error
	err := poll.Until(ctx, "the API server to know the kind", deployLimit, func(ctx context.Context) (bool, string, error) {
		client, namespaced, err := a.client(m)
		if meta.IsNoMatchError(err) && a.definesKinds() {
			a.mapper.Reset()
			return false, "", err
		}
		if err == nil {
			err = a.send(ctx, client, namespaced, m)
		}
		if err != nil && !again(err) {
			refused = err
			return true, "", nil
		}
		return err == nil, "", err
	})
	return errors.Join(err, refused)
}

// again reports whether the same request may succeed later: the API server was away or busy, or a webhook is still starting.
func again(err error) bool {
	return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.ReasonForError(err) == metav1.StatusReasonUnknown
}

// definesKinds reports whether the application brings kinds of its own.
func (a applier) definesKinds() bool {
	return slices.ContainsFunc(a.env.Spec.App.Manifests, func(m app.Manifest) bool { return m.Object.GetKind() == "CustomResourceDefinition" })
}

func (a applier) client(m app.Manifest) (client dynamic.ResourceInterface, namespaced bool, err error) {
	kind := m.Object.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, false, err
	}
	resource := a.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return resource, false, nil
	}
	return resource.Namespace(a.env.namespace), true, nil
}

// send applies an object. An object without a namespace is marked as ours, because it is not deleted with the namespace.
func (a applier) send(ctx context.Context, client dynamic.ResourceInterface, namespaced bool, m app.Manifest) error {
	o := m.Object.DeepCopy()
	if namespaced {
		_, err := client.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		return err
	}
	o.SetNamespace("")
	there, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
	switch {
	case err == nil && there.GetLabels()[workloads.LabelPartOf] != workloads.PartOf:
		return errors.New("it exists already, and holdfast did not create it")
	case err != nil && !apierrors.IsNotFound(err):
		return err
	}
	marks := o.GetLabels()
	if marks == nil {
		marks = map[string]string{}
	}
	marks[workloads.LabelPartOf] = workloads.PartOf
	o.SetLabels(marks)
	if _, err := client.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager, Force: true}); err != nil {
		return err
	}
	a.env.outside = append(a.env.outside, o)
	return nil
}

var _ workloads.Object = (*unstructured.Unstructured)(nil)

// appPlan replaces the URLs of the lanes by the addresses of their Services: a name would test the cluster's DNS as well. The Host header
// stays that of the URL.
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
		address, err := env.address(ctx, u)
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

// address is the cluster IP and the port of the Service of a URL, or those of the controller of an Ingress or HTTPRoute.
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
	if net.ParseIP(found.Spec.ClusterIP) == nil {
		return "", fmt.Errorf("its Service %s is headless, and so has no address", service.Name)
	}
	port := app.Port(u)
	if !slices.ContainsFunc(found.Spec.Ports, func(p corev1.ServicePort) bool { return strconv.Itoa(int(p.Port)) == port }) {
		return "", fmt.Errorf("its Service %s has no port %s", service.Name, port)
	}
	return net.JoinHostPort(found.Spec.ClusterIP, port), nil
}

// answers waits until a lane's target accepts connections: ready endpoints do not prove that kube-proxy has its rules. Whether answers are
// good shows when the load flows.
func (env *Environment) answers(ctx context.Context, l load.Lane) error {
	at := slices.IndexFunc(env.Cluster.Nodes(), func(n clusters.Node) bool { return n.Role() == clusters.LoadNode })
	if at < 0 {
		return fmt.Errorf("ask %s: cluster %s has no load node", l.Target, env.Cluster.Name())
	}
	node := env.Cluster.Nodes()[at]
	u, err := url.Parse(l.Target)
	if err != nil {
		return err
	}
	return poll.Until(ctx, l.Target+" to accept connections from "+node.Name(), deployLimit, func(ctx context.Context) (bool, string, error) {
		_, err := node.Exec(ctx, "timeout", "2", "bash", "-c", `exec 3<>"/dev/tcp/$0/$1"`, u.Hostname(), u.Port())
		return err == nil, "", err
	})
}

// ErrUnhealthy means that the application did not serve before anything was disturbed.
var ErrUnhealthy = errors.New("mend the application, or say with the probe's expectation that this answer is good")

// Undisturbed returns an error that wraps ErrUnhealthy if requests failed before anything was disturbed: then the probe is wrong, or the
// application is broken, and what a fault does to it would show nothing. Only applications of users are asked.
func (env *Environment) Undisturbed() error {
	if env.Spec.App == nil { // a promise says so
		return nil
	}
	failed := failedLanes(env.load)
	if len(failed) == 0 {
		return nil
	}
	why := ""
	for _, one := range env.load {
		if r, known := one.FirstFailure(); known && why == "" {
			why = ", the first " + describe(r)
		}
	}
	return fmt.Errorf("before anything was disturbed, %s failed%s: %w", strings.Join(failed, " and "), why, ErrUnhealthy)
}

// failedLanes says how many requests failed on each lane with failures: "3 of 300 requests on fresh (1 %)".
func failedLanes(sessions sessions) (all []string) {
	sent, failed := map[history.Lane]uint64{}, map[history.Lane]uint64{}
	var lanes []history.Lane
	for _, one := range sessions {
		for _, l := range one.Status().Lanes {
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
