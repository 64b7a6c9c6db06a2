package deploy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// RefusedError lists what an API server refuses for good of an application, a line for each object.
type RefusedError struct{ Lines []string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the API server refuses %s of the application: correct the manifests:\n  %s", prose.Count(len(e.Lines), "object"), strings.Join(e.Lines, "\n  "))
}

// Refused is the *RefusedError in an error; nil: the error has no such error.
func Refused(err error) error {
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		return refused
	}
	return nil
}

// Checker asks API servers whether they would accept applications. The same objects are asked about once.
type Checker struct {
	host     string
	accepted *app.App
}

// Of is the check of an application; nil: of none. Its error is a *RefusedError.
func (c *Checker) Of(a *app.App) clusters.Check {
	return func(ctx context.Context, config *rest.Config) error {
		if a == nil || c.accepted != nil && c.host == config.Host && reflect.DeepEqual(c.accepted.All(), a.All()) {
			return nil
		}
		config = rest.CopyConfig(config)
		config.WarningHandlerWithContext = rest.NoWarnings{} // they are recorded when the objects are created
		config.QPS = -1                                      // or else thirty objects take as long as a node that joins
		d, err := New(config, a)
		if err != nil {
			return err
		}
		whole, err := d.Check(ctx)
		if whole && err == nil {
			c.host, c.accepted = config.Host, a
		}
		return err
	}
}

// checkLimit bounds a check. What could not be asked by then is refused when it is created, if it is.
const checkLimit = 20 * time.Second

// Check asks the API server about all objects, and stores none. The error is a *RefusedError. whole says that all were asked.
//
// Only what stays refused, whatever the application does once it runs, counts. An object of a kind that the application defines is not asked
// about. What admission plugins, policies and webhooks say is not heard: they may answer otherwise in earnest, since nothing that the
// object needs exists yet, and objects are asked about in another namespace than their own.
func (d *Deployment) Check(ctx context.Context) (whole bool, err error) {
	d.dry = []string{metav1.DryRunAll}
	left, refused := d.questions(ctx), &RefusedError{}
	isAPI := func(m app.Manifest) bool { return m.Object.GetKind() == "APIService" }
	mayCome, looks := slices.ContainsFunc(d.App.All(), isAPI), 0 // an APIService may bring any kind
	err = poll.Until(ctx, "the API server to check the manifests", checkLimit, func(ctx context.Context) (bool, string, error) {
		var later []question
		var unanswered error
		d.Mapper.Reset()
		for _, q := range left {
			client, own, err := d.client(q.Manifest)
			if err == nil {
				err = d.send(ctx, client, own, q.Manifest)
			}
			switch noKind := meta.IsNoMatchError(err); {
			case err == nil || noKind && (mayCome || d.mayDefine(q.Manifest)):
			case noKind && looks == 0 || !noKind && again(err) || apierrors.IsNotFound(err):
				later, unanswered = append(later, q), err
			case noKind || forGood(err, q.mayChange):
				refused.Lines = append(refused.Lines, q.line(err))
			}
		}
		left = later
		looks++
		return len(left) == 0, prose.Count(len(left), "object") + " left", unanswered
	})
	switch {
	case len(refused.Lines) > 0:
		return err == nil, refused
	case err != nil && ctx.Err() == nil:
		slog.Warn("not all objects could be checked before they are created", "error", err)
		return false, nil
	}
	return err == nil, err
}

// question is an object that the API server is asked about.
type question struct {
	app.Manifest
	mayChange bool // by a webhook or a policy, before the API server validates it
}

// questions are the namespaces of the application, and all objects of kinds that it does not define. All that have a namespace are in one that
// every cluster has, and in which nothing is that they could be mistaken for: their own does not exist yet.
func (d *Deployment) questions(ctx context.Context) (all []question) {
	mutates := func(m app.Manifest) bool { return strings.HasPrefix(m.Object.GetKind(), "Mutating") }
	changed := d.changes(ctx)
	for _, m := range d.App.Taken {
		if name := m.Object.GetName(); m.Object.GetKind() == "Namespace" && name != metav1.NamespaceSystem && name != metav1.NamespaceDefault {
			all = append(all, question{m, changed})
		}
	}
	for _, s := range d.App.Stages() {
		changed = changed || slices.ContainsFunc(s.PreInstall, func(h app.Hook) bool { return runs(h.Manifest) })
		for i, m := range s.All() {
			if d.App.Defines(m.Object.GroupVersionKind().GroupKind()) {
				continue
			}
			q := question{m, changed || i >= len(s.Objects)} // a hook comes when others run
			q.Object = *m.Object.DeepCopy()
			if m.Object.GetNamespace() != metav1.NamespaceSystem {
				q.Object.SetNamespace(corev1.NamespaceNodeLease)
			}
			all = append(all, q)
			changed = changed || mutates(m)
		}
		changed = changed || slices.ContainsFunc(s.Objects, runs)
	}
	return all
}

// runs reports whether an object has pods, whose programs may create what changes objects that are created after it.
func runs(m app.Manifest) bool {
	_, path := m.PodSpec()
	return path != nil
}

// changes reports whether the cluster has, or may have, something that changes objects when they are created.
func (d *Deployment) changes(ctx context.Context) bool {
	one, of := metav1.ListOptions{Limit: 1}, d.Client.AdmissionregistrationV1()
	webhooks, err := of.MutatingWebhookConfigurations().List(ctx, one)
	if err != nil || len(webhooks.Items) > 0 {
		return true
	}
	policies, err := of.MutatingAdmissionPolicies().List(ctx, one) // which older versions do not know
	return err != nil && !apierrors.IsNotFound(err) || err == nil && len(policies.Items) > 0
}

// forGood reports whether an answer stays the same whatever is created before the object. What does not decode is refused before a webhook
// could change it. An address or a port may become free.
func forGood(err error, mayChange bool) bool {
	for _, other := range []string{"webhook", "ValidatingAdmissionPolicy", "already allocated"} {
		if strings.Contains(err.Error(), other) {
			return false
		}
	}
	return isMalformed(err) || errors.Is(err, errForeign) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsInvalid(err) && !mayChange
}

var (
	// malformedField is the field in the message of a malformed object: ".spec.minReadySecond: field not declared in schema".
	malformedField = regexp.MustCompile(`\s(\.\S+): `)
	fieldSteps     = regexp.MustCompile(`[^.\[\]]+|\[[^\]]*\]`)
)

// line is the object with the line of the first field that is wrong, or of what is around it, and the API server's words.
func (q question) line(err error) string {
	field := ""
	var status apierrors.APIStatus
	if found := malformedField.FindStringSubmatch(err.Error()); isMalformed(err) && found != nil {
		field = found[1]
	} else if errors.As(err, &status) && status.Status().Details != nil && len(status.Status().Details.Causes) > 0 {
		field = status.Status().Details.Causes[0].Field
	}
	var path []any
	for _, step := range fieldSteps.FindAllString(field, -1) {
		step = strings.Trim(step, "[]")
		if n, err := strconv.Atoi(step); err == nil {
			path = append(path, n)
		} else {
			path = append(path, step)
		}
	}
	for len(path) > 0 && q.Place(path...) == q.Source {
		path = path[:len(path)-1]
	}
	return fmt.Sprintf("%s %s (%s): %s", q.Object.GetKind(), q.Object.GetName(), q.Place(path...), strings.TrimSpace(err.Error()))
}
