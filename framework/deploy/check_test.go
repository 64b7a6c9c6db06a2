package deploy_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/deploy"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// asked makes the cluster answer dry runs as given for the objects' names, one answer after the other and the last one again, and returns what
// was asked about. Anything that would be stored fails the test.
func (c *cluster) asked(t *testing.T, answers map[string][]error) *[]string {
	var all []string
	c.PrependReactor("*", "*", func(action ktesting.Action) (bool, runtime.Object, error) {
		if action.GetVerb() == "get" {
			return false, nil, nil
		}
		patch, is := action.(ktesting.PatchActionImpl)
		if !is || !slices.Equal(patch.PatchOptions.DryRun, []string{metav1.DryRunAll}) {
			t.Errorf("%s %s is no dry run", action.GetVerb(), action.GetResource().Resource)
			return true, nil, errors.New("no dry run")
		}
		all = append(all, strings.TrimPrefix(patch.Namespace+"/"+patch.Name, "/"))
		list := answers[patch.Name]
		if len(list) > 1 {
			answers[patch.Name] = list[1:]
		}
		if len(list) > 0 && list[0] != nil {
			return true, nil, list[0]
		}
		return true, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}, nil
	})
	return &all
}

const notLease = "kube-node-lease/"

var (
	invalid = apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", field.ErrorList{
		field.Invalid(field.NewPath("spec", "template", "spec", "containers").Index(0).Child("ports"), 0, "must be between 1 and 65535, inclusive"),
	})
	// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/structuredmerge.go, and ErrorToAPIStatus in k8s.io/apiserver
	malformed = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Message: "failed to create typed patch object (kube-node-lease/web; apps/v1, Kind=Deployment): .spec.minReadySecond: field not declared in schema"}}
	// Source: k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go
	noDryRun = apierrors.NewBadRequest(`admission webhook "vet.shop.org" does not support dry run`)
	denied   = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 422, Reason: metav1.StatusReasonInvalid, Message: `admission webhook "vet.shop.org" denied the request: no team`}}
	policy   = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 422, Reason: metav1.StatusReasonInvalid, Message: `deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no team`}}
	quota    = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web", errors.New("exceeded quota"))
	noPlace  = apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "kube-node-lease")
	busy     = apierrors.NewServiceUnavailable("starting")
	taken    = apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "web", field.ErrorList{field.Invalid(field.NewPath("spec", "ports").Index(0).Child("nodePort"), 30080, "provided port is already allocated")})
	noLabel  = apierrors.NewInvalid(schema.GroupKind{Kind: "Namespace"}, "shop", field.ErrorList{field.Invalid(field.NewPath("metadata", "labels"), "a b", "a valid label must consist of alphanumeric characters")})
	hooks    = "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: hooks}\n---\n"
	unknown  = "apiVersion: other.org/v1\nkind: Thing\nmetadata: {name: thing}\n---\n"
)

// What is refused for good is refused, whatever else is asked about. Nothing is refused that the application, or time, makes acceptable.
func TestOnlyWhatIsRefusedForGoodIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		before, text string
		answers      []error // about web
		want         []string
	}{
		"it is accepted":                            {"", "", nil, nil},
		"it is not valid":                           {"", "", []error{invalid}, []string{"Deployment web (app.yaml): " + invalid.Error()}},
		"a field that the kind does not have":       {"", "", []error{malformed}, []string{"Deployment web (app.yaml): " + malformed.Error()}},
		"it does not decode":                        {"", "", []error{apierrors.NewBadRequest("error decoding patch")}, []string{"Deployment web (app.yaml): error decoding patch"}},
		"a webhook with side effects":               {"", "", []error{noDryRun}, nil},
		"a webhook that denies":                     {"", "", []error{denied}, nil},
		"a policy that denies":                      {"", "", []error{policy}, nil},
		"an admission plugin":                       {"", "", []error{quota}, nil},
		"a port that may become free":               {"", "", []error{taken}, nil},
		"the namespace comes later":                 {"", "", []error{noPlace, noPlace, nil}, nil},
		"the server comes later":                    {"", "", []error{busy, nil}, nil},
		"the server comes later, and refuses":       {"", "", []error{busy, noPlace, invalid}, []string{"Deployment web (app.yaml): " + invalid.Error()}},
		"an operator may complete it":               {operator, "", []error{invalid}, nil},
		"a webhook of the application may":          {hooks, "", []error{invalid}, nil},
		"a hook may":                                {"", job("pre", "helm.sh/hook: pre-install"), []error{invalid}, nil},
		"a hook that comes after it cannot":         {"", job("post", "helm.sh/hook: post-install"), []error{invalid}, []string{"Deployment web (app.yaml): " + invalid.Error()}},
		"a webhook that comes after it cannot":      {"", hooks, []error{invalid}, []string{"Deployment web (app.yaml): " + invalid.Error()}},
		"no operator completes what has no form":    {operator, "", []error{malformed}, []string{"Deployment web (app.yaml): " + malformed.Error()}},
		"a kind that the application defines":       {"", definition + cart, nil, nil},
		"a kind that an operator may define":        {operator, unknown, nil, nil},
		"a kind that an API of the application has": {"", "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.other.org}\n---\n" + unknown, nil, nil},
		"a kind that nothing defines":               {"", unknown, nil, []string{`Thing thing (app.yaml): no matches for kind "Thing" in version "other.org/v1"`}},
		"a namespace that is not valid":             {"", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\n", nil, []string{"Namespace shop (app.yaml): " + noLabel.Error()}},
		"all in one list, in their order": {"", unknown + role, []error{invalid}, []string{
			"ClusterRole role (app.yaml): it exists already, and holdfast did not create it: remove it, or leave it out of the manifests of the test",
			"Deployment web (app.yaml): " + invalid.Error(), `Thing thing (app.yaml): no matches for kind "Thing" in version "other.org/v1"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(nil)
				for _, kind := range []string{"MutatingWebhookConfiguration.admissionregistration.k8s.io", "APIService.apiregistration.k8s.io"} {
					c.mapper.known[schema.ParseGroupKind(kind)] = c.mapper.known[schema.ParseGroupKind("ClusterRole.rbac.authorization.k8s.io")]
				}
				if strings.Contains(test.text, role) {
					theirs := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}}
					theirs.SetName("role")
					if err := c.Tracker().Add(theirs); err != nil {
						t.Fatal(err)
					}
				}
				c.asked(t, map[string][]error{"web": test.answers, "shop": {noLabel}})
				d, outside := c.deployment(t, test.before, test.text)
				whole, err := d.Check(t.Context())
				var got []string
				if refused := (*deploy.RefusedError)(nil); errors.As(err, &refused) {
					got = refused.Lines
				} else if err != nil {
					t.Fatal(err)
				}
				slices.Sort(got) // an object that is asked about twice comes last
				if diff := cmp.Diff(test.want, got); diff != "" || !whole {
					t.Errorf("all asked %t; refused (-want +got):\n%s", whole, diff)
				}
				if len(*outside) > 0 {
					t.Errorf("%q will be removed, and were not created", *outside)
				}
			})
		})
	}
}

// A cluster that was there may change objects, by webhooks or policies of others.
func TestAWebhookOfOthersMayCompleteAnObject(t *testing.T) {
	for name, there := range map[string]runtime.Object{
		"a webhook": &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}},
		"a policy":  &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(nil)
			if err := c.client.Tracker().Add(there); err != nil {
				t.Fatal(err)
			}
			c.asked(t, map[string][]error{"web": {invalid}})
			d, _ := c.deployment(t, "", "")
			if whole, err := d.Check(t.Context()); err != nil || !whole {
				t.Errorf("%s: %t, %v", name, whole, err)
			}
		})
	}
}

// Objects are asked about where their namespace is missing, in one in which nothing has their names. One without a name has one by then.
func TestWhereObjectsAreAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(nil)
		all := c.asked(t, nil)
		d, _ := c.deployment(t, operator, "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: reader, namespace: kube-system}\n---\n"+role+
			"apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n---\n"+
			"apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: seed-, namespace: other}\n---\n"+definition+cart)
		whole, err := d.Check(t.Context())
		want := []string{"other", notLease + "operator", "carts.shop.org", "role", "kube-system/reader", notLease + "web", notLease + "seed-00003"}
		if diff := cmp.Diff(want, *all); diff != "" || err != nil || !whole {
			t.Errorf("%t, %v; asked about (-want +got):\n%s", whole, err, diff)
		}
		for _, m := range d.App.All() {
			if in := m.Object.GetNamespace(); in == corev1.NamespaceNodeLease {
				t.Errorf("%s is deployed to namespace %s", m, in)
			}
		}
	})
}

// An API server that does not answer refuses nothing. What it has refused before it fell silent stays refused.
func TestASilentServerRefusesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, answers := range map[string]map[string][]error{"": {"web": {busy}}, "invalid": {"web": {invalid}, "role": {busy}}} {
			c, began := newCluster(nil), time.Now()
			c.asked(t, answers)
			d, _ := c.deployment(t, "", role)
			whole, err := d.Check(t.Context())
			errtest.Check(t, err, want)
			if took := time.Since(began); whole || took < 19*time.Second || took > 21*time.Second {
				t.Errorf("all asked %t, after %s", whole, took)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c := newCluster(nil)
		c.asked(t, map[string][]error{"web": {busy}})
		d, _ := c.deployment(t, "", "")
		if _, err := d.Check(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
	})
}

// The line is that of the field, or of the nearest thing around it that is written.
func TestTheLineOfWhatIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yaml")
	text := "apiVersion: v1\nkind: Service\nmetadata: {name: other}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n" +
		"  minReadySecond: 3\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - name: c\n        image: i\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, answer := range map[string]error{":10": malformed, ":16": invalid, ":9": apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "web", field.ErrorList{field.Required(field.NewPath("spec", "strategy", "type"), "")})} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(nil)
			c.asked(t, map[string][]error{"web": {answer}})
			d, _ := c.deployment(t, "", "")
			d.App.Manifests[0].Source = file
			_, err := d.Check(t.Context())
			errtest.Check(t, err, "Deployment web ("+file+want+"): ")
		})
	}
}

// accepting accepts each PATCH, or refuses it with an answer that is not kept for later.
type accepting struct {
	*clustertest.API
	patches int
	refuses bool
}

func (a *accepting) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPatch {
		return a.API.RoundTrip(r)
	}
	a.patches++
	status, body := http.StatusOK, `{"apiVersion":"apps/v1","kind":"Deployment"}`
	if a.refuses {
		status, body = http.StatusBadRequest, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400,"message":"error decoding patch"}`
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}, "Warning": {`299 - "it is old"`}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// The same objects are asked about once on each API server. What was refused is asked about again.
func TestEachApplicationIsCheckedOnce(t *testing.T) {
	server := &accepting{API: clustertest.NewAPI()}
	config := server.Config()
	config.Transport = server
	d, _ := newCluster(nil).deployment(t, "", "")
	another, _ := newCluster(nil).deployment(t, "", strings.Replace(tested, "name: web", "name: api", 1))
	elsewhere := *config
	elsewhere.Host = "http://other.test"
	var said bytes.Buffer
	klog.LogToStderr(false)
	klog.SetOutput(&said)
	var checker deploy.Checker
	for i, step := range []struct {
		app     *app.App
		other   bool
		refuses bool
		patches int
	}{{d.App, false, true, 1}, {d.App, false, false, 1}, {d.App, false, true, 0}, {another.App, false, false, 2}, {another.App, true, false, 2}, {nil, false, true, 0}} {
		server.patches, server.refuses = 0, step.refuses
		on := config
		if step.other {
			on = &elsewhere
		}
		err := checker.Of(step.app)(t.Context(), on)
		if refused := deploy.Refused(err) != nil; server.patches != step.patches || refused != (step.refuses && step.patches > 0) {
			t.Errorf("step %d: %d objects asked about, %v", i, server.patches, err)
		}
	}
	klog.Flush()
	klog.LogToStderr(true)
	if said.Len() > 0 {
		t.Errorf("the client printed %s", said.String())
	}
}
