//go:build e2e

package session_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault/undo"
	"github.com/holdfast-ha/holdfast/framework/run/plaintest"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
	"github.com/holdfast-ha/holdfast/framework/safety/show"
	"github.com/holdfast-ha/holdfast/workloads"
)

// stage is a cluster that holdfast did not make, with a careful application, and a user who has the Roles that `holdfast rbac` prints, and no other.
type stage struct{ *plaintest.Stage }

// faults are what can be undone without a command of the user's.
var faults = []string{catalogue.Rollout.Name, catalogue.DeletePod.Name, catalogue.Scale.Name, catalogue.Drain.Name}

// file writes holdfast.yaml.
func (s *stage) file(fault string) string {
	s.T.Helper()
	further := []string{"faults: [" + fault + "]"}
	if fault == catalogue.NodeKill.Name { // until the loss is noticed, more requests fail than usually may
		engine := s.Engine.Name()
		further = append(further, fmt.Sprintf("disturb: {failures: 5000, nodeKill: {command: %q, undo: %q}}", engine+" pause $NODE", engine+" unpause $NODE"))
	}
	return s.File("http://web/", further...)
}

// plan plans one fault. What is printed may be written from now on.
func (s *stage) plan(fault string) show.Document {
	s.T.Helper()
	return s.Plan(s.file(fault), "--seed", seed)
}

// kills is how often the harness is killed at a random moment of each fault.
var kills = flag.Int("kills", 1, "kill the harness so often at a random moment of each fault")

// seed makes plan and test pick the same pods and nodes.
const seed = "7"

// inject starts the test of one fault. Its lines come one by one.
func (s *stage) inject(fault string, flags ...string) (cmd *exec.Cmd, lines <-chan string) {
	s.T.Helper()
	cmd = s.Command(append(s.As("test", s.file(fault), "--disturb", "--holdfast-image", s.Image, "--seed", seed, "--steady", "3s"), flags...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.T.Fatal(err)
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
	s.T.Helper()
	for line := range lines {
		s.T.Logf("harness: %s", line)
		if strings.HasPrefix(line, word) {
			return
		}
	}
	s.T.Fatalf("the harness ended before it said %q", word)
}

// state is what must be as it was: each node's cordon and marks, and what the application's owner wants.
func (s *stage) state() (all []string) {
	s.T.Helper()
	nodes, err := s.Admin.CoreV1().Nodes().List(s.T.Context(), metav1.ListOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	for _, n := range nodes.Items {
		all = append(all, fmt.Sprintf("%s: cordoned %t, note %q, taints %v", n.Name, n.Spec.Unschedulable, n.Annotations[undo.Annotation], n.Spec.Taints))
	}
	d, err := s.Web(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	return append(all, fmt.Sprintf("web: %d replicas, restarted %q", *d.Spec.Replicas, d.Spec.Template.Annotations[undo.RestartedAt]))
}

// asBefore fails unless the cluster is as it was. The taint of a node that was uncordoned goes within a moment.
func (s *stage) asBefore(before []string) {
	s.T.Helper()
	err := poll.Until(s.T.Context(), "the cluster to be as it was", 30*time.Second, func(context.Context) (bool, string, error) {
		now := s.state()
		return slices.Equal(now, before), strings.Join(now, "\n"), nil
	})
	if err != nil {
		s.T.Errorf("%v\nwant\n%s", err, strings.Join(before, "\n"))
	}
	leases, err := s.Admin.CoordinationV1().Leases("holdfast").List(s.T.Context(), metav1.ListOptions{})
	if err != nil || len(leases.Items) > 0 {
		s.T.Errorf("%d Leases are left, %v", len(leases.Items), err)
	}
	healers, err := s.Admin.AppsV1().Deployments("holdfast").List(s.T.Context(), metav1.ListOptions{})
	if err != nil || len(healers.Items) > 0 {
		s.T.Errorf("%d healers are left, %v", len(healers.Items), err)
	}
	load, err := s.Admin.BatchV1().Jobs("holdfast").List(s.T.Context(), metav1.ListOptions{})
	if err != nil || len(load.Items) > 0 {
		s.T.Errorf("%d Jobs are left, %v", len(load.Items), err)
	}
}

// TestE2EDisturb shows plan, test --disturb, a harness that is killed, its healer, and heal from another home folder, on a cluster that holdfast did
// not make, as a user who has what `holdfast rbac` prints. The API server's audit log shows that nothing was written but what plan has printed.
//
// make test-disturb
func TestE2EDisturb(t *testing.T) {
	s := &stage{plaintest.New(t, "disturbed", "")}
	s.Deploy(plaintest.Careful)
	s.refusedWithoutKeys()
	before := s.state()
	for _, fault := range faults {
		d := s.plan(fault)
		s.Settled("before " + fault)
		out, code := s.Run(s.As("test", s.file(fault), "--disturb", "--holdfast-image", s.Image, "--seed", seed)...)
		if code != 0 || !strings.Contains(out, "1 scenario held") {
			t.Errorf("%s: exit code %d", fault, code)
		}
		s.asBefore(before)
		s.Wrote(d)
		s.Settled("after " + fault)
	}
	s.manyWorkers(before)
	s.byHook(before)
	s.healedByItself(before, false)
	s.healedByItself(before, true)
	s.withoutAPIServer(before)
	s.interrupted(before)
	s.somebodyElse(before)
	s.NothingElse()
}

// TestE2EKills kills the harness in each state of each fault and at random moments, and heals from elsewhere. Afterwards the cluster is as it was.
//
// make test-disturb
func TestE2EKills(t *testing.T) {
	s := &stage{plaintest.New(t, "killed", "")}
	s.Deploy(plaintest.Careful)
	s.refusedWithoutKeys()
	before := s.state()
	for _, fault := range faults {
		for _, when := range append([]string{lineInstalled, lineDid, lineFull, lineUndoing}, slices.Repeat([]string{atRandom}, *kills)...) {
			s.killed(fault, when, before)
		}
	}
	s.NothingElse()
}

// refusedWithoutKeys shows that nothing goes without rights (rule 5) and without the owner's label (rule 3), and gives both.
func (s *stage) refusedWithoutKeys() {
	t := s.T
	t.Helper()
	if out, code := s.Run(s.As("plan", s.file("rollout"))...); code == 0 {
		t.Errorf("without any right: exit code %d\n%s", code, out)
	}
	s.Grant(append(faults, catalogue.NodeKill.Name)...)
	if out, code := s.Run(s.As("plan", s.file("rollout"))...); code != 5 || !strings.Contains(out, "[rule 3, two-keys]") {
		t.Errorf("without the owner's label: exit code %d\n%s", code, out)
	}
	s.Consent()
	s.NothingElse() // no plan has gone, and so nothing may have been written
}

// atRandom is the name of a moment that no line of the harness tells.
const atRandom = "at a random moment"

// killed kills a harness at a moment of a fault, and heals from elsewhere. Meanwhile a second run is refused (rule 18).
func (s *stage) killed(fault, when string, before []string) {
	t := s.T
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
		if out, code := s.Run(s.As("plan", s.file(fault))...); code != 5 || !strings.Contains(out, "[rule 18, one-at-a-time]") {
			t.Errorf("a second run: exit code %d\n%s", code, out)
		}
	}
	kill(cmd)
	t.Logf("%s: killed when %q", fault, when)
	if out, code := s.Run(s.As("heal", "--dry-run")...); code != 0 || !strings.Contains(out, "the cluster is held by") && !strings.HasPrefix(when, atRandom) {
		t.Errorf("%s, killed when %q: heal --dry-run: exit code %d\n%s", fault, when, code, out)
	}
	if out, code := s.Run(s.As("heal")...); code != 0 || !strings.Contains(out, "heal") { // at a random moment there may be nothing to heal
		t.Errorf("%s, killed when %q: heal: exit code %d\n%s", fault, when, code, out)
	}
	s.asBefore(before)
	if out, code := s.Run(s.As("heal")...); code != 0 || !strings.Contains(out, "nothing to heal") {
		t.Errorf("%s, killed when %q: a second heal: exit code %d\n%s", fault, when, code, out)
	}
	s.Settled("after " + fault)
}

// manyWorkers has four load workers send the requests of one plan. When one of them is lost, nothing is known of its requests, and the verdict is Unknown.
func (s *stage) manyWorkers(before []string) {
	t, ctx := s.T, s.T.Context()
	t.Helper()
	const fault, workers = "rollout", "4"
	s.plan(fault)
	out, code := s.Run(s.As("test", s.file(fault), "--disturb", "--holdfast-image", s.Image, "--seed", seed, "--load-workers", workers)...)
	if code != 0 || !strings.Contains(out, "1 scenario held") {
		t.Errorf("with four load workers: exit code %d", code)
	}
	s.asBefore(before)
	s.Settled("after a rollout under four load workers")
	s.plan(fault)
	cmd, lines := s.inject(fault, "--load-workers", workers)
	s.await(lines, lineDid)
	of := metav1.ListOptions{LabelSelector: workloads.LabelComponent + "=" + workloads.ComponentLoad}
	pods, err := s.Admin.CoreV1().Pods("holdfast").List(ctx, of)
	if err != nil || len(pods.Items) != 4 {
		t.Fatalf("%d load workers, %v", len(pods.Items), err)
	}
	at := int64(0)
	if err := s.Admin.CoreV1().Pods("holdfast").Delete(ctx, pods.Items[2].Name, metav1.DeleteOptions{GracePeriodSeconds: &at}); err != nil {
		t.Fatal(err)
	}
	for line := range lines { // until it has ended
		t.Logf("harness: %s", line)
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("with a lost load worker: exit code %d, want 5", cmd.ProcessState.ExitCode())
	}
	s.asBefore(before)
	s.Settled("after a load worker was lost")
}

// byHook has a command of the user's take a node away, as one that stops a machine of a cloud, and another bring it back: by the test itself, and after it
// was killed by heal.
func (s *stage) byHook(before []string) {
	t := s.T
	t.Helper()
	fault := catalogue.NodeKill.Name
	s.plan(fault)
	out, code := s.Run(s.As("test", s.file(fault), "--disturb", "--holdfast-image", s.Image, "--seed", seed)...)
	// A kubelet renews its Lease every ten seconds: when the node died may not be known precisely enough for a verdict about requests.
	if code != 0 && (code != 5 || !strings.Contains(out, "died is known to")) || !strings.Contains(out, "through 1 lost node") {
		t.Errorf("%s: exit code %d", fault, code)
	}
	s.settle(before)
	s.asBefore(before)
	s.Settled("after " + fault)
	s.plan(fault)
	cmd, lines := s.inject(fault)
	s.await(lines, lineFull)
	kill(cmd)
	if out, code := s.Run(s.As("heal")...); code != 3 || !strings.Contains(out, "add --app FILE") {
		t.Errorf("%s, killed: heal brought the node back by itself, or does not say how it is brought back: exit code %d\n%s", fault, code, out)
	}
	if out, code := s.Run(s.As("heal", "--app", s.file(fault))...); code != 0 {
		t.Errorf("%s, killed: heal: exit code %d\n%s", fault, code, out)
	}
	s.settle(before)
	s.asBefore(before)
	s.Settled("after " + fault + " was healed")
}

// healedByItself kills a harness in the middle of a drain, and waits: the healer's pods make the node schedulable again, and no command is given. With
// halved, the node of one of the two is frozen at the same time.
func (s *stage) healedByItself(before []string, halved bool) {
	t, ctx := s.T, s.T.Context()
	t.Helper()
	drained := s.plan(catalogue.Drain.Name).Steps[0].Node.Name
	cmd, lines := s.inject(catalogue.Drain.Name)
	s.await(lines, lineDid) // the cordon
	resume := func() {}
	if halved {
		pods, err := s.Admin.CoreV1().Pods("holdfast").List(ctx, metav1.ListOptions{LabelSelector: workloads.LabelComponent + "=" + workloads.ComponentHealer})
		if err != nil || len(pods.Items) != 2 {
			t.Fatalf("%d pods of the healer, %v", len(pods.Items), err)
		}
		resume = s.freeze(pods.Items[0].Spec.NodeName)
	}
	kill(cmd)
	began := time.Now()
	err := poll.Until(ctx, "the healer to undo a drain", 3*time.Minute, func(ctx context.Context) (bool, string, error) {
		n, err := s.Admin.CoreV1().Nodes().Get(ctx, drained, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return !n.Spec.Unschedulable && n.Annotations[undo.Annotation] == "", fmt.Sprintf("cordoned %t", n.Spec.Unschedulable), nil
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("with a node of the healer frozen: %t: the healer has undone the drain %s after the kill", halved, time.Since(began).Round(time.Second))
	resume()
	s.settle(before)
	if out, code := s.Run(s.As("heal")...); code != 0 || !strings.Contains(out, "released the cluster from healer") {
		t.Errorf("heal after the healer: exit code %d\n%s", code, out)
	}
	s.asBefore(before)
	s.Settled("after the healer")
}

// freeze freezes the container of a node, and resume lets it go on.
func (s *stage) freeze(node string) (resume func()) {
	s.T.Helper()
	if _, err := s.Engine.Output(s.T.Context(), "pause", node); err != nil {
		s.T.Fatal(err)
	}
	s.T.Logf("%s is frozen", node)
	return func() {
		if _, err := s.Engine.Output(s.T.Context(), "unpause", node); err != nil {
			s.T.Fatal(err)
		}
	}
}

// settle waits until a cluster of which a node was frozen is as it was: its taints go when it is Ready.
func (s *stage) settle(before []string) {
	s.T.Helper()
	err := poll.Until(s.T.Context(), "the nodes to be as they were", 3*time.Minute, func(context.Context) (bool, string, error) {
		now := s.state()
		return slices.Equal(now, before), strings.Join(now, "\n"), nil
	})
	if err != nil {
		s.T.Error(err)
	}
}

// interrupted ends a test by Ctrl-C in the middle of a drain: it undoes the drain, and leaves nothing to heal.
func (s *stage) interrupted(before []string) {
	t := s.T
	t.Helper()
	s.plan(catalogue.Drain.Name)
	cmd, lines := s.inject(catalogue.Drain.Name)
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
	if out, code := s.Run(s.As("heal")...); code != 0 || !strings.Contains(out, "nothing to heal") {
		t.Errorf("after Ctrl-C: heal: exit code %d\n%s", code, out)
	}
	s.Settled("after Ctrl-C")
}

// withoutAPIServer freezes the control plane for some seconds when a drain is about to be undone: the undo goes on afterwards.
func (s *stage) withoutAPIServer(before []string) {
	s.T.Helper()
	s.plan(catalogue.Drain.Name)
	_, lines := s.inject(catalogue.Drain.Name)
	s.await(lines, lineUndoing)
	resume := s.freeze(s.ControlPlane())
	err := poll.Pass(s.T.Context(), 15*time.Second)
	resume()
	if err != nil {
		s.T.Fatal(err)
	}
	s.await(lines, "undone")
	for line := range lines { // until it has ended
		s.T.Logf("harness: %s", line)
	}
	s.settle(before)
	s.asBefore(before)
	s.Settled("after the API server was away")
}

// somebodyElse scales the application while a run that has scaled it is dead: heal leaves that as it is, and says so (rule 15).
func (s *stage) somebodyElse(before []string) {
	t, ctx := s.T, s.T.Context()
	t.Helper()
	s.plan(catalogue.Scale.Name)
	cmd, lines := s.inject(catalogue.Scale.Name)
	s.await(lines, "done: scaled to 5")
	kill(cmd)
	scale := func(n int32) {
		t.Helper()
		now, err := s.Admin.AppsV1().Deployments("shop").GetScale(ctx, "web", metav1.GetOptions{})
		if err == nil {
			now.Spec.Replicas = n
			_, err = s.Admin.AppsV1().Deployments("shop").UpdateScale(ctx, "web", now, metav1.UpdateOptions{FieldManager: "kubectl-edit"})
		}
		if err != nil {
			t.Fatal(err)
		}
		s.Settled(fmt.Sprintf("at %d replicas", n))
	}
	scale(7)
	if out, code := s.Run(s.As("heal")...); code != 0 || !strings.Contains(out, "left as it is: spec.replicas") || !strings.Contains(out, "it holds 7 now") {
		t.Errorf("another client has scaled it: exit code %d\n%s", code, out)
	}
	if d, err := s.Web(ctx); err != nil || *d.Spec.Replicas != 7 {
		t.Errorf("heal has scaled it: %v, %v", d.Spec.Replicas, err)
	}
	scale(4)
	s.asBefore(before)
}
