package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	oldBudget = "policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+; use policy/v1 PodDisruptionBudget"
	oldField  = `spec.securityContext: deprecated since v1.30; use the "appArmorProfile" field instead`
)

// warns responds to every request with its own body, and with warnings.
type warns struct {
	headers []string
	closed  atomic.Bool // used by several clients
}

func warningOf(text string) string { return fmt.Sprintf("299 - %q", text) }

func (w *warns) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent io.Reader = strings.NewReader(`{"kind":"List","apiVersion":"v1","items":[]}`)
	if r.Body != nil {
		sent = r.Body
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Body: closing{sent, w},
		Header: http.Header{"Content-Type": {"application/json"}, "Warning": w.headers},
	}, nil
}

type closing struct {
	io.Reader
	answer *warns
}

func (c closing) Close() error {
	c.answer.closed.Store(true)
	return nil
}

func (w *warns) config() *rest.Config {
	return &rest.Config{Host: "http://127.0.0.1:1", Transport: w, QPS: -1}
}

func warningsOf(n *notebook) (all []history.APIWarning) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.events {
		all = append(all, *e.Warning)
	}
	return all
}

func TestWarningsNameTheirObject(t *testing.T) {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: named("backend")}
	for name, test := range map[string]struct {
		do   func(context.Context, *rest.Config) error
		want string
	}{
		"created": {func(ctx context.Context, c *rest.Config) error {
			_, err := kubernetes.NewForConfigOrDie(c).PolicyV1().PodDisruptionBudgets("ns").Create(ctx, budget, metav1.CreateOptions{})
			return err
		}, "PodDisruptionBudget backend"},
		"created, and named by the server": {func(ctx context.Context, c *rest.Config) error {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "load-"}}
			_, err := kubernetes.NewForConfigOrDie(c).CoreV1().Pods("ns").Create(ctx, pod, metav1.CreateOptions{})
			return err
		}, "Pod load-"},
		"patched": {func(ctx context.Context, c *rest.Config) error {
			_, err := kubernetes.NewForConfigOrDie(c).AppsV1().Deployments("ns").Patch(ctx, "backend", types.StrategicMergePatchType,
				[]byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{})
			return err
		}, "/apis/apps/v1/namespaces/ns/deployments/backend"},
	} {
		t.Run(name, func(t *testing.T) {
			n, w := &notebook{}, &warns{headers: []string{warningOf(oldBudget)}}
			if err := test.do(t.Context(), RecordWarnings(w.config(), n)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]history.APIWarning{{Object: test.want, Text: oldBudget}}, warningsOf(n)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEachWarningIsRecordedOnce(t *testing.T) {
	n, w := &notebook{}, &warns{headers: []string{"no warning", warningOf(oldBudget), `299 - ""`, warningOf(oldField)}}
	config := RecordWarnings(w.config(), n)
	var all sync.WaitGroup
	for range 8 { // several clients, as in a run
		client := kubernetes.NewForConfigOrDie(config).PolicyV1().PodDisruptionBudgets("ns")
		all.Go(func() {
			if _, err := client.Create(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: named("backend")}, metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	texts := map[string]int{}
	for _, w := range warningsOf(n) {
		texts[w.Text]++
	}
	if diff := cmp.Diff(map[string]int{oldBudget: 1, oldField: 1}, texts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Warnings about the harness's reads are ignored, and a client of the original config records nothing.
func TestWarningsOfReadingAreNotRecorded(t *testing.T) {
	n, w := &notebook{}, &warns{headers: []string{warningOf("v1 Endpoints is deprecated in v1.33+")}}
	given := w.config()
	if _, err := kubernetes.NewForConfigOrDie(RecordWarnings(given, n)).CoreV1().Endpoints("ns").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	given.ContentType, given.WarningHandlerWithContext = "application/json", rest.NoWarnings{}
	if _, err := kubernetes.NewForConfigOrDie(given).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := warningsOf(n); len(got) > 0 {
		t.Errorf("recorded %+v", got)
	}
}

// If the record rejects the event, the request returns the error, and the response body is closed.
func TestAWarningThatCannotBeRecorded(t *testing.T) {
	n, w := &notebook{}, &warns{headers: []string{warningOf(oldField)}}
	n.fill(errors.New("disk full"))
	_, err := kubernetes.NewForConfigOrDie(RecordWarnings(w.config(), n)).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{}, metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "disk full") || !w.closed.Load() {
		t.Errorf("got %v; the answer was closed: %t", err, w.closed.Load())
	}
}
