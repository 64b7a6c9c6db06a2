package scaling

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/observe"
	"github.com/holdfast-ha/holdfast/framework/run/restore"
	"github.com/holdfast-ha/holdfast/workloads"
)

var rounds = flag.Int("rounds", 5, "how often each constraint is measured")

// constraint is a way to constrain where pods go.
type constraint struct {
	name     string
	spread   []workloads.Spread
	affinity []workloads.Affinity
	// bare pods have no controller. The scheduler gives pods of a ReplicaSet that have no spread of their own a soft spread over nodes and zones,
	// and bare pods none.
	//
	// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#internal-default-constraints
	bare bool
}

// constraints are compared with the first, which is none at all.
var constraints = []constraint{
	{name: "none", spread: workloads.NoSpread, bare: true},
	{name: "scheduler's default", spread: workloads.NoSpread},
	{name: "soft spread", spread: []workloads.Spread{{Key: workloads.Zone, Unsatisfiable: workloads.ScheduleAnyway}, {Key: workloads.Host, Unsatisfiable: workloads.ScheduleAnyway}}},
	{name: "hard spread", spread: []workloads.Spread{{Key: workloads.Zone}}},
	{name: "layered spread", spread: []workloads.Spread{{Key: workloads.Zone}, {Key: workloads.Host}}},
	{name: "anti-affinity", spread: workloads.NoSpread, affinity: []workloads.Affinity{{Key: workloads.Host, Away: true}}, bare: true},
}

// The scheduler's metrics, in seconds: finding a node, a whole attempt, and from when a pod entered the queue until it was bound, in all its attempts.
// Processor time, unlike the others, does not grow when other programs take the processors.
//
// Source: https://kubernetes.io/docs/reference/instrumentation/metrics/
const (
	algorithm = "scheduler_scheduling_algorithm_duration_seconds"
	attempt   = "scheduler_scheduling_attempt_duration_seconds"
	queue     = "scheduler_pod_scheduling_sli_duration_seconds"
)

// scheduler is the sum of each of its metrics over all labels; of attempts only over those that have bound a pod.
type scheduler map[string]float64

func (s scheduler) mean(histogram string) float64 { return s[histogram+"_sum"] / s[histogram+"_count"] }

// since is what the scheduler did since an earlier look, when it had so many pods to bind. The counts of a scheduler that was started again meanwhile
// begin at zero, and their differences mean nothing.
func (s scheduler) since(b *testing.B, before scheduler, pods int) scheduler {
	b.Helper()
	for name, value := range before {
		s[name] -= value
	}
	if n := s[attempt+"_count"]; n < float64(pods) {
		b.Fatalf("the scheduler has counted %.0f of %d pods that it was to bind: it was started again meanwhile, or did not bind all of them; measure again", max(0, n), pods)
	}
	return s
}

// readMetrics reads the scheduler's metrics on its own node, with the administrator's credentials of that node.
const readMetrics = `set -e
umask 077
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
for kind in certificate key; do
  awk -v name="client-$kind-data:" '$1 == name {print $2}' /etc/kubernetes/admin.conf | base64 -d > "$dir/$kind"
done
curl --insecure --silent --show-error --fail --max-time 20 --cert "$dir/certificate" --key "$dir/key" https://127.0.0.1:10259/metrics`

func askScheduler(b *testing.B, c clusters.Cluster) scheduler {
	s := scheduler{}
	for line := range strings.Lines(string(must(c.Nodes()[0].Exec(b.Context(), "bash", "-c", readMetrics)))) {
		fields := strings.Fields(line)
		name, _, _ := strings.Cut(fields[0], "{")
		if !strings.HasPrefix(name, attempt) || strings.Contains(line, `result="scheduled"`) {
			value, _ := strconv.ParseFloat(fields[len(fields)-1], 64) // of a comment there is none
			s[name] += value
		}
	}
	return s
}

// compared are what it takes to bind pods, each in seconds.
var compared = []string{"processor time a pod", "finding a node", "an attempt", "queue to bound", "seen to bound"}

// bindLimit bounds the binding of the pods.
const bindLimit = 15 * time.Minute

// BenchmarkConstraints binds the same number of pods with each constraint, in several rounds, each in another order. It prints the medians of the
// rounds, with their ratio to no constraint.
func BenchmarkConstraints(b *testing.B) {
	c := opened(b)
	nodes := c.Spec().SimulatedNodes
	if *pods > nodes {
		b.Fatalf("%d pods, and cluster %s has %d simulated nodes: with anti-affinity the rest would stay pending", *pods, c.Name(), nodes)
	}
	found, gaps, unseen := make([][5][]float64, len(constraints)), 0, 0
	order := rand.New(rand.NewPCG(1, 0)) // each measurement has the same orders
	for round := range *rounds {
		for _, i := range order.Perm(len(constraints)) {
			took, missed, late := bind(b, c, constraints[i], fmt.Sprintf("%sscaling-%d-%d", workloads.NamespacePrefix, round, i))
			for figure, seconds := range took {
				found[i][figure] = append(found[i][figure], seconds)
			}
			gaps, unseen = gaps+missed, unseen+late
		}
	}
	_, _ = fmt.Printf("%d nodes, %d pods in %d rounds; the records have %s, and %s had a node when first seen, and are not counted as seen to bound:\n\n%s",
		nodes, *pods, *rounds, prose.Count(gaps, "gap"), prose.Count(unseen, "pod"), constraintTable(found))
}

// bind creates pods on simulated nodes, waits until the scheduler has bound all of them, and removes them again. It returns how often a watch may
// have missed something, and how many pods had a node when the record first saw them.
func bind(b *testing.B, c clusters.Cluster, how constraint, name string) (took [5]float64, gaps, unseen int) {
	ctx, dir := b.Context(), b.TempDir()+"/record"
	client := must(kubernetes.NewForConfig(c.Config()))
	namespace := must(client.CoreV1().Namespaces().Create(ctx, workloads.Namespace(name), metav1.CreateOptions{}))
	writer := must(history.Create(dir, history.Header{RunID: "scaling", Scenario: "scaling/" + name, Base: time.Now(), Samples: history.SamplesOfItself}))
	watcher := must(observe.Start(ctx, client, observe.Scope{Namespaces: []string{name}}, writer))
	before := askScheduler(b, c)
	createPods(b, client, how, name)
	must(0, poll.Until(ctx, "every pod to be bound", bindLimit, func(ctx context.Context) (bool, string, error) {
		list, err := client.CoreV1().Pods(name).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName!=", ResourceVersion: "0"})
		if err != nil {
			return false, "", err
		}
		dying := func(p corev1.Pod) bool { return p.DeletionTimestamp != nil } // on a node that was lost, beside the pod in its place
		bound := len(slices.DeleteFunc(list.Items, dying))
		return bound == *pods, fmt.Sprintf("%d of %d are", bound, *pods), nil
	}))
	must(0, errors.Join(watcher.Stop(), writer.Close()))
	s := askScheduler(b, c).since(b, before, *pods)
	must(0, restore.EmptyNamespace(ctx, client, namespace))
	recorded, gaps, unseen := readBindings(b, dir)
	return [5]float64{s["process_cpu_seconds_total"] / s[attempt+"_count"], s.mean(algorithm), s.mean(attempt), s.mean(queue), recorded}, gaps, unseen
}

// createPods creates a Deployment without a Service or a budget, or its pods alone.
func createPods(b *testing.B, client kubernetes.Interface, how constraint, namespace string) {
	objects := must(workloads.Backend{
		Name: "scaling", Replicas: int32(*pods), Spread: how.spread, Affinity: how.affinity, Simulated: true,
		PreStop: workloads.NoPreStop, Readiness: workloads.NoReadiness, Budget: workloads.NoBudget,
	}.Objects(workloads.Place{Namespace: namespace, Image: "simulated:1"}))
	for _, o := range objects {
		d, is := o.(*appsv1.Deployment)
		if is && !how.bare {
			must(client.AppsV1().Deployments(namespace).Create(b.Context(), d, metav1.CreateOptions{}))
		}
		for i := 0; is && how.bare && i < *pods; i++ {
			p := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: d.Spec.Template.Spec}
			p.Name = fmt.Sprintf("scaling-%d", i)
			must(client.CoreV1().Pods(namespace).Create(b.Context(), p, metav1.CreateOptions{}))
		}
	}
}

// readBindings takes from the record the mean time from when a pod was seen to exist until it was seen to have a node, in seconds.
func readBindings(b *testing.B, dir string) (mean float64, gaps, unseen int) {
	run := must(history.Open(dir))
	added, bound, took := map[string]history.Offset{}, map[string]bool{}, 0.0
	for _, e := range run.Events {
		if e.Gap != nil {
			gaps++
		}
		p := e.Pod
		if p == nil || p.Change == history.Deleted {
			continue
		}
		since, known := added[p.UID]
		if !known {
			added[p.UID] = e.T
		}
		if p.Node == "" || bound[p.UID] {
			continue
		}
		bound[p.UID] = true
		if !known {
			unseen++
			continue
		}
		took += (e.T - since).Seconds()
	}
	if run.Incomplete != "" || len(bound) < *pods {
		b.Fatalf("the record has %d bindings, and %d pods were bound: %s", len(bound), *pods, run.Incomplete)
	}
	return took / max(1, float64(len(bound)-unseen)), gaps, unseen
}

// constraintTable has the medians of the rounds, each with its ratio to the first constraint, which is a dash where nothing was measured.
func constraintTable(found [][5][]float64) string {
	text := "| constraint | " + strings.Join(compared, " | ") + " |\n" + strings.Repeat("| --- ", 1+len(compared)) + "|\n"
	for i, c := range constraints {
		text += "| " + c.name + " |"
		for figure, values := range found[i] {
			now, none, ratio := stats.Median(values), stats.Median(found[0][figure]), "–"
			if none > 0 {
				ratio = fmt.Sprintf("%.2f x", now/none)
			}
			text += fmt.Sprintf(" %s (%s; %s to %s) |", ms(now), ratio, ms(slices.Min(values)), ms(slices.Max(values)))
		}
		text += "\n"
	}
	return text
}

// ms writes milliseconds with three digits, and seconds from one second on.
func ms(seconds float64) string {
	if seconds >= 1 {
		return fmt.Sprintf("%.2f s", seconds)
	}
	return fmt.Sprintf("%.3g ms", 1000*seconds)
}
