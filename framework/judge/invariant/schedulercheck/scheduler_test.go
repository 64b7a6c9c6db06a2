package schedulercheck

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
)

// scheduler is kube-scheduler's filters for the rules that Placement knows, with the feature gates and the arguments that
// it has unless told otherwise.
type scheduler struct {
	features feature.Features
	informed informers.SharedInformerFactory
}

// plugins that make a scheduler, in no particular order.
var plugins = map[string]struct {
	make func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error)
	args runtime.Object
}{
	nodeunschedulable.Name: {make: nodeunschedulable.New},
	tainttoleration.Name:   {make: tainttoleration.New},
	nodeaffinity.Name:      {make: nodeaffinity.New, args: &config.NodeAffinityArgs{}},
	podtopologyspread.Name: {make: podtopologyspread.New, args: &config.PodTopologySpreadArgs{DefaultingType: config.SystemDefaulting}},
	interpodaffinity.Name:  {make: interpodaffinity.New, args: &config.InterPodAffinityArgs{HardPodAffinityWeight: 1}},
}

func newScheduler(t testing.TB) *scheduler {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://nobody.invalid"}) // never asked
	if err != nil {
		t.Fatal(err)
	}
	s := &scheduler{
		features: feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate),
		informed: informers.NewSharedInformerFactory(client, 0),
	}
	for _, name := range []string{home, elsewhere} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}}
		if err := s.informed.Core().V1().Namespaces().Informer().GetIndexer().Add(namespace); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// handle is as much of the scheduler as the plugins ask for; the rest is nil.
type handle struct {
	fwk.Handle
	snapshot fwk.SharedLister
	informed informers.SharedInformerFactory
}

func (h handle) SnapshotSharedLister() fwk.SharedLister                 { return h.snapshot }
func (h handle) SharedInformerFactory() informers.SharedInformerFactory { return h.informed }
func (h handle) Parallelizer() fwk.Parallelizer                         { return inTurn{} }

// inTurn does one thing after the other.
type inTurn struct{}

func (inTurn) Until(_ context.Context, pieces int, do workqueue.DoWorkPieceFunc, _ string) {
	for i := range pieces {
		do(i)
	}
}

// refusals names the plugins that refuse the cluster's pod on each node.
func (s *scheduler) refusals(ctx context.Context, c *cluster) (map[string][]string, error) {
	snapshot := cache.NewSnapshot(c.pods, c.nodes)
	nodes, err := snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	h := handle{snapshot: snapshot, informed: s.informed}
	refused := make(map[string][]string)
	for name, plugin := range plugins {
		p, err := plugin.make(ctx, plugin.args, h, s.features)
		if err != nil {
			return nil, fmt.Errorf("make %s: %w", name, err)
		}
		state := framework.NewCycleState()
		var only *fwk.PreFilterResult
		if before, ok := p.(fwk.PreFilterPlugin); ok {
			var status *fwk.Status
			only, status = before.PreFilter(ctx, state, c.incoming, nodes)
			switch {
			case status.IsSkip():
				continue
			case status.Code() == fwk.Error:
				return nil, fmt.Errorf("ask %s: %w", name, status.AsError())
			case !status.IsSuccess():
				only = &fwk.PreFilterResult{NodeNames: sets.New("")} // no node at all
			}
		}
		for _, n := range nodes {
			status := p.(fwk.FilterPlugin).Filter(ctx, state, c.incoming, n)
			if status.Code() == fwk.Error {
				return nil, fmt.Errorf("ask %s about %s: %w", name, n.Node().Name, status.AsError())
			}
			if !status.IsSuccess() || !only.AllNodes() && !only.NodeNames.Has(n.Node().Name) {
				refused[n.Node().Name] = append(refused[n.Node().Name], name)
			}
		}
	}
	return refused, nil
}
