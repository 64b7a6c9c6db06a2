package recording

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
)

// hours is how long the recording of TestADay lasts, by the cluster's clock. A day of churn takes two minutes.
var hours = flag.Float64("hours", 0.25, "record so many hours of a simulated cluster")

// What a recording of a day may take, with 100 nodes and 3,000 pods.
const (
	dayBytes  = 200 << 20
	dayMemory = 300 << 20
)

// churn is a large cluster in which something always changes, as its watches tell it.
type churn struct {
	objects map[string][]runtime.Object
	watches map[string]*watch.FakeWatcher
	version int
	random  *rand.Rand
	told    int // changes
}

// The churn of 150 nodes with 3,000 pods of 600 workloads: each workload is rolled out twice a day, twenty CronJobs run every five minutes, a node is
// drained every hour, and each kubelet reports every five minutes. Five warnings come each minute.
const (
	podsOfChurn  = 3000
	rolloutsADay = 1200
	cronJobs     = 4 // in a minute
	notesAMinute = 5
)

var watchedOfChurn = []string{"nodes", "pods", "deployments", "statefulsets", "endpointslices", "poddisruptionbudgets", "events"}

func newChurn() *churn {
	c := &churn{objects: newLargeCluster(podsOfChurn).objects, watches: map[string]*watch.FakeWatcher{}, version: 1000, random: rand.New(rand.NewPCG(1, 2))}
	for _, resource := range watchedOfChurn {
		for i, o := range c.objects[resource] {
			object, _ := meta.Accessor(o)
			object.SetUID(types.UID(fmt.Sprintf("%08d-%s-2222-3333-444444444444", i, resource[:4])))
			object.SetResourceVersion(strconv.Itoa(i + 1))
		}
	}
	for _, o := range c.objects["deployments"] {
		d := o.(*appsv1.Deployment)
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 5, UpdatedReplicas: 5, ReadyReplicas: 5, AvailableReplicas: 5}
	}
	for _, o := range c.objects["statefulsets"] {
		s := o.(*appsv1.StatefulSet)
		s.Status = appsv1.StatefulSetStatus{ObservedGeneration: 3, Replicas: 5, UpdatedReplicas: 5, ReadyReplicas: 5, AvailableReplicas: 5}
	}
	return c
}

// client answers lists and watches, of the bubble in which it is made.
func (c *churn) client() kubernetes.Interface {
	for _, resource := range watchedOfChurn {
		c.watches[resource] = watch.NewFake()
	}
	client := fake.NewClientset()
	client.PrependReactor("list", "*", func(a k8stesting.Action) (bool, runtime.Object, error) {
		about := metav1.ListMeta{ResourceVersion: strconv.Itoa(c.version)}
		var list runtime.Object
		switch a.GetResource().Resource {
		case "nodes":
			list = &corev1.NodeList{ListMeta: about}
		case "pods":
			list = &corev1.PodList{ListMeta: about}
		case "deployments":
			list = &appsv1.DeploymentList{ListMeta: about}
		case "statefulsets":
			list = &appsv1.StatefulSetList{ListMeta: about}
		case "endpointslices":
			list = &discoveryv1.EndpointSliceList{ListMeta: about}
		case "poddisruptionbudgets":
			list = &policyv1.PodDisruptionBudgetList{ListMeta: about}
		default:
			list = &corev1.EventList{ListMeta: about}
		}
		var all []runtime.Object
		for _, o := range c.objects[a.GetResource().Resource] {
			all = append(all, o.DeepCopyObject()) // as it is decoded
		}
		return true, list, meta.SetList(list, all)
	})
	client.PrependWatchReactor("*", func(a k8stesting.Action) (bool, watch.Interface, error) {
		return true, c.watches[a.GetResource().Resource], nil
	})
	return client
}

// tell reports a change to the watch of a resource, some time after the one before.
func (c *churn) tell(change watch.EventType, resource string, o runtime.Object) {
	time.Sleep(20 * time.Millisecond)
	c.version++
	c.told++
	object, _ := meta.Accessor(o)
	object.SetResourceVersion(strconv.Itoa(c.version))
	c.watches[resource].Action(change, o.DeepCopyObject())
}

// minute is what happens in a minute.
func (c *churn) minute(n int) {
	for _, o := range c.objects["nodes"][n%5*len(c.objects["nodes"])/5 : (n%5+1)*len(c.objects["nodes"])/5] {
		node := o.(*corev1.Node)
		for i := range node.Status.Conditions {
			node.Status.Conditions[i].LastHeartbeatTime = metav1.Now()
		}
		c.tell(watch.Modified, "nodes", node)
	}
	rollouts := rolloutsADay * (n + 1) / 1440
	for range rollouts - rolloutsADay*n/1440 {
		c.rollout(c.random.IntN(len(c.objects["deployments"])))
	}
	for i := range cronJobs {
		c.job(n, i)
	}
	for i := range notesAMinute {
		c.tell(watch.Added, "events", &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-1", Name: fmt.Sprintf("note-%d-%d", n, i), UID: types.UID(fmt.Sprintf("%08d-%d", n, i))},
			Type:       corev1.EventTypeWarning, Reason: "Unhealthy", Message: "Readiness probe failed: Get \"http://10.244.1.2:8080/ready\": context deadline exceeded",
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "team-1", Name: "service-1-6d4cf56db4-0"}, LastTimestamp: metav1.Now(), Count: 3,
		})
	}
	if n%60 == 30 {
		c.drain(c.objects["nodes"][c.random.IntN(len(c.objects["nodes"]))].(*corev1.Node))
	}
}

// podsOf are the pods of a workload, as indices.
func (c *churn) podsOf(name string) (all []int) {
	for i, o := range c.objects["pods"] {
		if o.(*corev1.Pod).Labels["app.kubernetes.io/name"] == name {
			all = append(all, i)
		}
	}
	return all
}

// rollout replaces each pod of a Deployment, as its controllers do.
func (c *churn) rollout(which int) {
	d := c.objects["deployments"][which].(*appsv1.Deployment)
	d.Generation++
	d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": metav1.Now().String()}
	c.tell(watch.Modified, "deployments", d)
	d.Status.ObservedGeneration, d.Status.UpdatedReplicas = d.Generation, 0
	c.tell(watch.Modified, "deployments", d)
	for _, i := range c.podsOf(d.Name) {
		d.Status.Replicas, d.Status.UpdatedReplicas = 6, d.Status.UpdatedReplicas+1
		c.tell(watch.Modified, "deployments", d)
		c.replace(i, d.Name)
		d.Status.Replicas = 5
		c.tell(watch.Modified, "deployments", d)
	}
}

// replace replaces a pod by another one, which becomes ready before the old one ends.
func (c *churn) replace(i int, workload string) {
	old := c.objects["pods"][i].(*corev1.Pod)
	made := old.DeepCopy()
	made.UID = types.UID(fmt.Sprintf("%08d-made-2222-3333-444444444444", c.version))
	made.Name = fmt.Sprintf("%s-%06d", workload, c.version)
	ready := made.Status
	made.Spec.NodeName, made.Status = "", corev1.PodStatus{Phase: corev1.PodPending}
	c.tell(watch.Added, "pods", made)
	made.Spec.NodeName = old.Spec.NodeName
	made.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	c.tell(watch.Modified, "pods", made)
	c.tell(watch.Modified, "pods", made) // its containers are being created
	made.Status = *ready.DeepCopy()
	for j := range made.Status.Conditions {
		made.Status.Conditions[j].LastTransitionTime = metav1.Now()
	}
	time.Sleep(2 * time.Second)
	c.tell(watch.Modified, "pods", made)
	c.surrounded(workload)
	now := metav1.Now()
	old.DeletionTimestamp = &now
	c.tell(watch.Modified, "pods", old)
	c.surrounded(workload)
	time.Sleep(2 * time.Second)
	for j := range old.Status.Conditions {
		if old.Status.Conditions[j].Type == corev1.PodReady {
			old.Status.Conditions[j].Status = corev1.ConditionFalse
		}
	}
	c.tell(watch.Modified, "pods", old)
	c.tell(watch.Modified, "pods", old)
	c.tell(watch.Deleted, "pods", old)
	c.objects["pods"][i] = made
}

// surrounded reports the EndpointSlice and the budget of a workload.
func (c *churn) surrounded(workload string) {
	for _, o := range c.objects["endpointslices"] {
		if s := o.(*discoveryv1.EndpointSlice); strings.HasPrefix(s.Name, workload+"-abcde") {
			c.tell(watch.Modified, "endpointslices", s)
		}
	}
	for _, o := range c.objects["poddisruptionbudgets"] {
		if b := o.(*policyv1.PodDisruptionBudget); b.Name == workload {
			c.tell(watch.Modified, "poddisruptionbudgets", b)
		}
	}
}

// job is the life of a CronJob's pod.
func (c *churn) job(minute, n int) {
	p := c.objects["pods"][n].(*corev1.Pod).DeepCopy()
	p.Name, p.UID, p.OwnerReferences[0].Kind = fmt.Sprintf("backup-%d-%d", minute, n), types.UID(fmt.Sprintf("%08d-%d-jobs", minute, n)), "Job"
	p.Labels = map[string]string{"batch.kubernetes.io/job-name": p.Name}
	for _, phase := range []corev1.PodPhase{corev1.PodPending, corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded} {
		p.Status.Phase = phase
		change := watch.Modified
		if p.ResourceVersion == "" || phase == corev1.PodPending && p.Spec.NodeName != "" {
			change, p.Spec.NodeName = watch.Added, ""
		} else {
			p.Spec.NodeName = "node-7.internal.example"
		}
		c.tell(change, "pods", p)
	}
	c.tell(watch.Deleted, "pods", p)
}

// drain replaces each pod of a node.
func (c *churn) drain(node *corev1.Node) {
	node.Spec.Unschedulable = true
	c.tell(watch.Modified, "nodes", node)
	for i, o := range c.objects["pods"] {
		if p := o.(*corev1.Pod); p.Spec.NodeName == node.Name {
			c.replace(i, p.Labels["app.kubernetes.io/name"])
		}
	}
	node.Spec.Unschedulable = false
	c.tell(watch.Modified, "nodes", node)
}

// peak is the most memory that this process has had since the last call, in bytes.
func peak(t *testing.T) (bytes int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("the memory of a process is read from /proc")
	}
	for line := range strings.Lines(string(text)) {
		if rest, is := strings.CutPrefix(line, "VmHWM:"); is {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			bytes = kib << 10
		}
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	return bytes
}

// A recording of a day of a large cluster stays small, on the disk and in memory: go test ./framework/run/recording -run TestADay -v -args -hours 24.
func TestADay(t *testing.T) {
	c := newChurn()
	var o Options
	world := peak(t)
	KeepSmall()
	t.Cleanup(func() { debug.SetGCPercent(100) })
	synctest.Test(t, func(t *testing.T) {
		staging := newStaging(t)
		o, _ = staging.options(t)
		o.Namespaces, o.Run.Dir = nil, filepath.Join(os.TempDir(), fmt.Sprintf("holdfast-day-%d", os.Getpid()))
		survey, err := Look(t.Context(), o.Access, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.fill(); err != nil {
			t.Fatal(err)
		}
		s, err := open(t.Context(), o, survey)
		if err != nil {
			t.Fatal(err)
		}
		s.client = c.client()
		err = s.record(t.Context(), func(context.Context, *Session) error {
			began := time.Now()
			for n := range int(*hours * 60) {
				c.minute(n)
				time.Sleep(max(0, time.Until(began.Add(time.Duration(n+1)*time.Minute))))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	t.Cleanup(func() { _ = os.RemoveAll(o.Run.Dir) })
	recording := peak(t)
	*c = churn{told: c.told} // from here on the process is as a recorder's is
	debug.FreeOSMemory()
	peak(t)
	run, err := history.Open(filepath.Join(o.Run.Dir, o.Run.Scenario))
	if err != nil || run.Incomplete != "" {
		t.Fatalf("%v, %s", err, run.Incomplete)
	}
	opened := peak(t)
	var result runfolder.ScenarioResult
	began := time.Now()
	judge.Record(run, &result)
	judged := peak(t)
	size := int64(0)
	err = filepath.WalkDir(o.Run.Dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		size += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const mb = 1 << 20
	t.Logf("%g hours: %d changes, %d events in the record, %d MB on the disk; memory of the process: %d MB before (the cluster itself), %d MB while it is recorded, %d MB when it is read, "+
		"%d MB when it is judged, in %s: %s", *hours, c.told, len(run.Events), size/mb, world/mb, recording/mb, opened/mb, judged/mb, time.Since(began).Round(time.Second), result.Outcome)
	if most := int64(dayBytes * max(*hours, 1) / 24); size > most { // it begins with a list of all objects
		t.Errorf("%g hours take %d bytes of disk, and may take %d", *hours, size, most)
	}
	if *hours < 24 {
		return // the race detector needs several times the memory
	}
	for when, bytes := range map[string]int64{"recorded": recording - world, "read": opened, "judged": judged} {
		if bytes > dayMemory {
			t.Errorf("%d MB of memory when it is %s, and it may take %d", bytes/mb, when, dayMemory/mb)
		}
	}
}
