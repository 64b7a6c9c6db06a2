package environment

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/deploy"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
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
