//go:build e2e

package session_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/existing/plain"
	"github.com/holdfast-ha/holdfast/framework/disturb"
	"github.com/holdfast-ha/holdfast/framework/disturb/catalogue"
	"github.com/holdfast-ha/holdfast/framework/disturb/show"
	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/framework/self"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/image"
)

// stage is a cluster that holdfast did not make, with a careful application, and a user who has the Roles that `holdfast rbac` prints, and no other.
type stage struct {
	*plain.Cluster
	t        *testing.T
	admin    kubernetes.Interface
	holdfast string
	image    string
	eve      string // her kubeconfig
	// allowed are the writes of all plans so far.
	allowed []write
}

// faults are what can be undone without a command of the user's.
var faults = []string{catalogue.Rollout.Name, catalogue.DeletePod.Name, catalogue.Scale.Name, catalogue.Drain.Name}

func newStage(t *testing.T) *stage {
	t.Helper()
	ctx := t.Context()
	e, err := engine.Find(ctx, engine.Options{Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	c, err := plain.Create(ctx, e, plain.Options{Name: "disturbed", Dir: t.TempDir(), Zones: []string{"a", "b", "c"}, Audit: true, Kubernetes: os.Getenv("HOLDFAST_KUBERNETES")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	s := &stage{Cluster: c, t: t, admin: kubernetes.NewForConfigOrDie(c.Config())}
	cache, err := engine.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if s.holdfast, err = self.Path(ctx, cache); err != nil {
		t.Fatal(err)
	}
	var archive string
	if s.image, archive, err = image.Build(s.holdfast, filepath.Join(cache, "images")); err != nil {
		t.Fatal(err)
	}
	kubectl, err := c.Kubectl(ctx)
	if err := errors.Join(err, c.LoadImage(archive)); err != nil {
		t.Fatal(err)
	}
	if s.eve, err = c.User(ctx, "eve"); err != nil {
		t.Fatal(err)
	}
	// As people do who type commands: what the field manager "kubectl-create" owns, may be scaled.
	create := exec.CommandContext(ctx, kubectl, "--kubeconfig", c.Kubeconfig(), "create", "-f", "-")
	create.Stdin = strings.NewReader(plain.Careful(s.image))
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.whole("before anything")
	return s
}

// web is the Deployment under test.
func (s *stage) web(ctx context.Context) (*appsv1.Deployment, error) {
	return s.admin.AppsV1().Deployments("shop").Get(ctx, "web", metav1.GetOptions{})
}

// whole returns when the application is as its controller wants it.
func (s *stage) whole(when string) {
	s.t.Helper()
	err := poll.Until(s.t.Context(), "web to settle "+when, 3*time.Minute, func(ctx context.Context) (bool, string, error) {
		d, err := s.web(ctx)
		if err != nil {
			return false, "", err
		}
		n := *d.Spec.Replicas
		return d.Status.ObservedGeneration >= d.Generation && d.Status.Replicas == n && d.Status.UpdatedReplicas == n && d.Status.AvailableReplicas == n,
			fmt.Sprintf("%+v", d.Status), nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// command is holdfast as eve on a machine of its own: another home folder, and another path of the executable.
func (s *stage) command(args ...string) *exec.Cmd {
	s.t.Helper()
	home := s.t.TempDir()
	elsewhere := filepath.Join(home, "hf")
	if err := os.Link(s.holdfast, elsewhere); err != nil {
		elsewhere = s.holdfast // on another file system
	}
	cmd := exec.CommandContext(s.t.Context(), elsewhere, args...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	return cmd
}

// run runs holdfast as eve.
func (s *stage) run(args ...string) (out string, code int) {
	s.t.Helper()
	cmd := s.command(args...)
	var text, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &errs
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		s.t.Fatal(err)
	}
	s.t.Logf("holdfast %s: exit code %d\n%s%s", strings.Join(args, " "), cmd.ProcessState.ExitCode(), &text, &errs)
	return text.String() + errs.String(), cmd.ProcessState.ExitCode()
}

// as are the flags by which eve reaches the cluster.
func (s *stage) as(args ...string) []string {
	return append(args, "--kubeconfig", s.eve, "--context", "eve")
}

// file writes holdfast.yaml.
func (s *stage) file(fault string) string {
	s.t.Helper()
	system, err := s.admin.CoreV1().Namespaces().Get(s.t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	name := filepath.Join(s.t.TempDir(), "holdfast.yaml")
	text := fmt.Sprintf("apiVersion: holdfast.dev/v1alpha1\nkind: App\ncluster: {uid: %s}\napp: {namespace: shop}\nprobes: [{name: home, url: \"http://web/\"}]\nfaults: [%s]\n", system.UID, fault)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return name
}

// plan plans one fault until all of it goes: the kubelets list their images once in a while, and budgets follow their pods. What it prints may be
// written from now on.
func (s *stage) plan(fault string) (d show.Document) {
	s.t.Helper()
	err := poll.Until(s.t.Context(), "a plan of "+fault+" of which nothing is refused", 3*time.Minute, func(context.Context) (bool, string, error) {
		text, code := s.run(s.as("plan", s.file(fault), "-o", "json", "--seed", seed)...)
		if code != 0 && code != 5 {
			return false, "", fmt.Errorf("exit code %d: %s", code, text)
		}
		text = text[:strings.LastIndexByte(text, '}')+1] // behind it is the error, if it is refused
		d = show.Document{}
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			return false, "", err
		}
		return code == 0 && d.Goes, fmt.Sprint(d.Refusals, d.Steps), nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, step := range d.Steps {
		for _, t := range step.Touches {
			s.allowed = append(s.allowed, write{t.Verb, t.Group, t.Resource, t.Subresource, t.Object.Namespace, t.Object.Name})
		}
	}
	for _, o := range d.Own {
		s.allowed = append(s.allowed, write{o.Verb, o.Group, o.Resource, o.Subresource, o.Namespace, ""})
	}
	return d
}

// kills is how often the harness is killed at a random moment of each fault.
var kills = flag.Int("kills", 1, "kill the harness so often at a random moment of each fault")

// seed makes plan and test pick the same pods and nodes.
const seed = "7"

// write is a request that changes something; without a name it is about any object.
type write struct{ verb, group, resource, subresource, namespace, name string }

func of(r plain.Request) write {
	o := r.ObjectRef
	return write{r.Verb, o.APIGroup, o.Resource, o.Subresource, o.Namespace, o.Name}
}

// nothingElse fails if eve has asked for a write that no plan has printed, be it in vain, or has looked at a Secret.
func (s *stage) nothingElse() {
	s.t.Helper()
	all, err := s.Audited("eve")
	if err != nil {
		s.t.Fatal(err)
	}
	wrote := map[write]int{}
	for _, r := range all {
		if strings.Contains(r.RequestURI, "/secrets") {
			s.t.Errorf("eve sent %s", r)
		}
		if !r.Writes() {
			continue
		}
		w := of(r)
		wrote[w]++
		if !slices.ContainsFunc(s.allowed, func(a write) bool {
			return a == w || a.name == "" && a == (write{w.verb, w.group, w.resource, w.subresource, w.namespace, ""})
		}) {
			s.t.Errorf("no plan has printed this: %s", r)
		}
	}
	s.t.Logf("%d requests of eve, of which %d different ones wrote:", len(all), len(wrote))
	for w, n := range wrote {
		s.t.Logf("%4d %+v", n, w)
	}
}

// wrote fails unless each write that a plan has printed for the objects of others was made.
func (s *stage) wrote(d show.Document) {
	s.t.Helper()
	all, err := s.Audited("eve")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, t := range d.Steps[0].Touches {
		want := write{t.Verb, t.Group, t.Resource, t.Subresource, t.Object.Namespace, t.Object.Name}
		if !slices.ContainsFunc(all, func(r plain.Request) bool { return of(r) == want && r.ResponseStatus.Code/100 == 2 }) {
			s.t.Errorf("planned, and not seen in the audit log: %+v", want)
		}
	}
}

// inject starts the test of one fault. Its lines come one by one.
func (s *stage) inject(fault string) (cmd *exec.Cmd, lines <-chan string) {
	s.t.Helper()
	cmd = s.command(s.as("test", s.file(fault), "--disturb", "--holdfast-image", s.image, "--seed", seed, "--steady", "3s")...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	told := make(chan string, 1000)
	go read(out, told)
	return cmd, told
}

// kill kills a harness as the kernel does that has no memory left: nothing of it runs any more.
func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // SIGKILL
	_ = cmd.Wait()
}

func read(out io.Reader, lines chan<- string) {
	defer close(lines)
	for scan := bufio.NewScanner(out); scan.Scan(); {
		lines <- strings.TrimSpace(scan.Text())
	}
}

// The lines by which a test tells how far it is: each after what it names.
const (
	lineInstalled = "installing the healer"
	lineDid       = "done:"    // one write, of which there are more
	lineFull      = "in force" // all of the fault
	lineUndoing   = "undoing it"
)

// await returns at the first line that begins with a word, or fails.
func (s *stage) await(lines <-chan string, word string) {
	s.t.Helper()
	for line := range lines {
		s.t.Logf("harness: %s", line)
		if strings.HasPrefix(line, word) {
			return
		}
	}
	s.t.Fatalf("the harness ended before it said %q", word)
}

// state is what must be as it was: each node's cordon and marks, and what the application's owner wants.
func (s *stage) state() (all []string) {
	s.t.Helper()
	nodes, err := s.admin.CoreV1().Nodes().List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, n := range nodes.Items {
		all = append(all, fmt.Sprintf("%s: cordoned %t, run %q, taints %v", n.Name, n.Spec.Unschedulable, n.Annotations[catalogue.RunMark], n.Spec.Taints))
	}
	d, err := s.web(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return append(all, fmt.Sprintf("web: %d replicas, restarted %q", *d.Spec.Replicas, d.Spec.Template.Annotations[catalogue.RestartedAt]))
}

// asBefore fails unless the cluster is as it was. The taint of a node that was uncordoned goes within a moment.
func (s *stage) asBefore(before []string) {
	s.t.Helper()
	err := poll.Until(s.t.Context(), "the cluster to be as it was", 30*time.Second, func(context.Context) (bool, string, error) {
		now := s.state()
		return slices.Equal(now, before), strings.Join(now, "\n"), nil
	})
	if err != nil {
		s.t.Errorf("%v\nwant\n%s", err, strings.Join(before, "\n"))
	}
	journals, err := s.admin.CoreV1().ConfigMaps("holdfast").List(s.t.Context(), metav1.ListOptions{LabelSelector: "holdfast.dev/component=journal"})
	if err != nil || len(journals.Items) > 0 {
		s.t.Errorf("%d journals are left, %v", len(journals.Items), err)
	}
	leases, err := s.admin.CoordinationV1().Leases("holdfast").List(s.t.Context(), metav1.ListOptions{})
	if err != nil || len(leases.Items) > 0 {
		s.t.Errorf("%d Leases are left, %v", len(leases.Items), err)
	}
	healers, err := s.admin.AppsV1().Deployments("holdfast").List(s.t.Context(), metav1.ListOptions{})
	if err != nil || len(healers.Items) > 0 {
		s.t.Errorf("%d healers are left, %v", len(healers.Items), err)
	}
	load, err := s.admin.BatchV1().Jobs("holdfast").List(s.t.Context(), metav1.ListOptions{})
	if err != nil || len(load.Items) > 0 {
		s.t.Errorf("%d Jobs are left, %v", len(load.Items), err)
	}
}

// TestE2EDisturb shows plan, test --disturb, a harness that is killed, its healer, and heal from another home folder, on a cluster that holdfast did
// not make, as a user who has what `holdfast rbac` prints. The API server's audit log shows that nothing was written but what plan has printed.
//
// make test-disturb
func TestE2EDisturb(t *testing.T) {
	s := newStage(t)
	s.refusedWithoutKeys()
	before := s.state()
	for _, fault := range faults {
		d := s.plan(fault)
		s.whole("before " + fault)
		out, code := s.run(s.as("test", s.file(fault), "--disturb", "--holdfast-image", s.image, "--seed", seed)...)
		if code != 0 || !strings.Contains(out, "1 scenario held") {
			t.Errorf("%s: exit code %d", fault, code)
		}
		s.asBefore(before)
		s.wrote(d)
		s.whole("after " + fault)
	}
	for _, fault := range faults {
		for _, when := range append([]string{lineDid, lineFull}, slices.Repeat([]string{atRandom}, *kills)...) {
			s.killed(fault, when, before)
		}
	}
	s.killed(catalogue.Drain.Name, lineInstalled, before)
	s.killed(catalogue.Drain.Name, lineUndoing, before)
	s.healedByItself(before, false)
	s.healedByItself(before, true)
	s.withoutAPIServer(before)
	s.interrupted(before)
	s.somebodyElse(before)
	s.nothingElse()
}

// refusedWithoutKeys shows that nothing goes without rights (rule 5) and without the owner's label (rule 3), and gives both.
func (s *stage) refusedWithoutKeys() {
	t, ctx := s.t, s.t.Context()
	t.Helper()
	if out, code := s.run(s.as("plan", s.file("rollout"))...); code == 0 {
		t.Errorf("without any right: exit code %d\n%s", code, out)
	}
	roles, code := s.run("rbac", "-n", "shop", "--faults", strings.Join(faults, ","), "--user", "eve")
	if code != 0 {
		t.Fatalf("rbac: exit code %d", code)
	}
	if err := s.Apply(ctx, roles); err != nil {
		t.Fatal(err)
	}
	if out, code := s.run(s.as("plan", s.file("rollout"))...); code != 5 || !strings.Contains(out, "[rule 3, two-keys]") {
		t.Errorf("without the owner's label: exit code %d\n%s", code, out)
	}
	shop, err := s.admin.CoreV1().Namespaces().Get(ctx, "shop", metav1.GetOptions{})
	if err == nil {
		shop.Labels[disturb.KeyLabel] = disturb.Allowed
		_, err = s.admin.CoreV1().Namespaces().Update(ctx, shop, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	s.nothingElse() // no plan has gone, and so nothing may have been written
}

// atRandom is the name of a moment that no line of the harness tells.
const atRandom = "at a random moment"

// killed kills a harness at a moment of a fault, and heals from elsewhere. Meanwhile a second run is refused (rule 18).
func (s *stage) killed(fault, when string, before []string) {
	t := s.t
	t.Helper()
	s.plan(fault)
	cmd, lines := s.inject(fault)
	if when == atRandom { // after the healer is there, a step takes 10 s to half a minute
		s.await(lines, lineInstalled)
		after := rand.N(25 * time.Second)
		when += ", after " + after.String()
		if err := poll.Pass(t.Context(), after); err != nil {
			t.Fatal(err)
		}
	} else {
		s.await(lines, when)
	}
	if when == lineDid {
		if out, code := s.run(s.as("plan", s.file(fault))...); code != 5 || !strings.Contains(out, "[rule 18, one-at-a-time]") {
			t.Errorf("a second run: exit code %d\n%s", code, out)
		}
	}
	kill(cmd)
	t.Logf("%s: killed when %q", fault, when)
	if out, code := s.run(s.as("heal", "--dry-run")...); code != 0 || !strings.Contains(out, "the cluster is held by") && !strings.HasPrefix(when, atRandom) {
		t.Errorf("%s, killed when %q: heal --dry-run: exit code %d\n%s", fault, when, code, out)
	}
	if out, code := s.run(s.as("heal")...); code != 0 || !strings.Contains(out, "heal") { // at a random moment there may be nothing to heal
		t.Errorf("%s, killed when %q: heal: exit code %d\n%s", fault, when, code, out)
	}
	s.asBefore(before)
	if out, code := s.run(s.as("heal")...); code != 0 || !strings.Contains(out, "nothing to heal") {
		t.Errorf("%s, killed when %q: a second heal: exit code %d\n%s", fault, when, code, out)
	}
	s.whole("after " + fault)
}

// healedByItself kills a harness in the middle of a drain, and waits: the healer's pods make the node schedulable again, and no command is given. With
// halved, the node of one of the two is frozen at the same time.
func (s *stage) healedByItself(before []string, halved bool) {
	t, ctx := s.t, s.t.Context()
	t.Helper()
	drained := s.plan(catalogue.Drain.Name).Steps[0].Node.Name
	cmd, lines := s.inject(catalogue.Drain.Name)
	s.await(lines, lineDid)
	s.await(lines, lineDid) // the mark and the cordon
	resume := func() {}
	if halved {
		pods, err := s.admin.CoreV1().Pods("holdfast").List(ctx, metav1.ListOptions{LabelSelector: workloads.LabelComponent + "=" + workloads.ComponentHealer})
		if err != nil || len(pods.Items) != 2 {
			t.Fatalf("%d pods of the healer, %v", len(pods.Items), err)
		}
		resume = s.freeze(pods.Items[0].Spec.NodeName)
	}
	kill(cmd)
	began := time.Now()
	err := poll.Until(ctx, "the healer to undo a drain", 3*time.Minute, func(ctx context.Context) (bool, string, error) {
		n, err := s.admin.CoreV1().Nodes().Get(ctx, drained, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return !n.Spec.Unschedulable && n.Annotations[catalogue.RunMark] == "", fmt.Sprintf("cordoned %t", n.Spec.Unschedulable), nil
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("with a node of the healer frozen: %t: the healer has undone the drain %s after the kill", halved, time.Since(began).Round(time.Second))
	resume()
	s.settle(before)
	if out, code := s.run(s.as("heal")...); code != 0 || !strings.Contains(out, "by healer") {
		t.Errorf("heal after the healer: exit code %d\n%s", code, out)
	}
	s.asBefore(before)
	s.whole("after the healer")
}

// freeze freezes the container of a node, and resume lets it go on.
func (s *stage) freeze(node string) (resume func()) {
	s.t.Helper()
	if _, err := s.Engine(s.t.Context(), "pause", node); err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("%s is frozen", node)
	return func() {
		if _, err := s.Engine(s.t.Context(), "unpause", node); err != nil {
			s.t.Fatal(err)
		}
	}
}

// settle waits until a cluster of which a node was frozen is as it was: its taints go when it is Ready.
func (s *stage) settle(before []string) {
	s.t.Helper()
	err := poll.Until(s.t.Context(), "the nodes to be as they were", 3*time.Minute, func(context.Context) (bool, string, error) {
		now := s.state()
		return slices.Equal(now, before), strings.Join(now, "\n"), nil
	})
	if err != nil {
		s.t.Error(err)
	}
}

// interrupted ends a test by Ctrl-C in the middle of a drain: it undoes the drain, and leaves nothing to heal.
func (s *stage) interrupted(before []string) {
	t := s.t
	t.Helper()
	s.plan(catalogue.Drain.Name)
	cmd, lines := s.inject(catalogue.Drain.Name)
	s.await(lines, lineDid)
	s.await(lines, lineDid)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	s.await(lines, "undone")
	for line := range lines { // until it has ended
		t.Logf("harness: %s", line)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("after Ctrl-C: %v", err)
	}
	s.asBefore(before)
	if out, code := s.run(s.as("heal")...); code != 0 || !strings.Contains(out, "nothing to heal") {
		t.Errorf("after Ctrl-C: heal: exit code %d\n%s", code, out)
	}
	s.whole("after Ctrl-C")
}

// withoutAPIServer freezes the control plane for some seconds when a drain is about to be undone: the undo goes on afterwards.
func (s *stage) withoutAPIServer(before []string) {
	s.t.Helper()
	s.plan(catalogue.Drain.Name)
	_, lines := s.inject(catalogue.Drain.Name)
	s.await(lines, lineUndoing)
	resume := s.freeze(s.ControlPlane())
	err := poll.Pass(s.t.Context(), 15*time.Second)
	resume()
	if err != nil {
		s.t.Fatal(err)
	}
	s.await(lines, "undone")
	for line := range lines { // until it has ended
		s.t.Logf("harness: %s", line)
	}
	s.settle(before)
	s.asBefore(before)
	s.whole("after the API server was away")
}

// somebodyElse scales the application while a run that has scaled it is dead: heal leaves that as it is, and says so (rule 15).
func (s *stage) somebodyElse(before []string) {
	t, ctx := s.t, s.t.Context()
	t.Helper()
	s.plan(catalogue.Scale.Name)
	cmd, lines := s.inject(catalogue.Scale.Name)
	s.await(lines, "done: scaled to 5")
	kill(cmd)
	scale := func(n int32) {
		t.Helper()
		now, err := s.admin.AppsV1().Deployments("shop").GetScale(ctx, "web", metav1.GetOptions{})
		if err == nil {
			now.Spec.Replicas = n
			_, err = s.admin.AppsV1().Deployments("shop").UpdateScale(ctx, "web", now, metav1.UpdateOptions{FieldManager: "kubectl-edit"})
		}
		if err != nil {
			t.Fatal(err)
		}
		s.whole(fmt.Sprintf("at %d replicas", n))
	}
	scale(7)
	if out, code := s.run(s.as("heal")...); code != 0 || !strings.Contains(out, "left as it is") || !strings.Contains(out, "kubectl-edit") {
		t.Errorf("somebody else has scaled it: exit code %d\n%s", code, out)
	}
	if d, err := s.web(ctx); err != nil || *d.Spec.Replicas != 7 {
		t.Errorf("heal has scaled it: %v, %v", d.Spec.Replicas, err)
	}
	scale(4)
	s.asBefore(before)
}
