package node

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
)

//go:embed api_probe.sh
var probeScript string

const (
	// askEvery is the pause between a request's end and the next one by the same way: about four in a second, each of which
	// takes some 20 ms of a processor, by up to three ways.
	askEvery = 200 * time.Millisecond
	// askWait is how long an answer is waited for. Measured: 20 ms, and up to 600 ms where 30 processes want two processors.
	askWait = 2 * time.Second
	// askFor bounds a probe that is not stopped, because the harness was killed.
	askFor = 15 * time.Minute
	// answersBefore is how many answers each way must have given before the fault, so that there is something to compare with.
	answersBefore = 8
	// answersWithin bounds how long that may take, and how long a probe may take to end when it is told to.
	answersWithin = time.Minute
	// balancerWay is the probe's name for the way that clients take; the others have the names of their nodes.
	balancerWay = "balanced"
	// controlWay is its name for the way to the kubelet of the node that asks.
	controlWay = "control"
)

// apiPort is where kubeadm has every API server listen.
const apiPort = 6443

// kubeletHealth is where a kubelet says to its own node that it is healthy: kubeadm leaves the kubelet's default.
const kubeletHealth = "http://127.0.0.1:10248/healthz"

// APIProbe is a probe of the API server that runs on a node.
type APIProbe struct {
	node     clusters.Node // where it runs
	folder   string        // on that node
	balancer string        // where the clients' way leads: host:port
	direct   []string      // the nodes of the API servers that are asked at their own addresses

	before map[string]int // how many answers there were before the fault, way by way,
	away   map[string]int // and when its undo began; nil: it has not
}

// ProbeAPI has the API server asked by the way that clients take, and each of some control planes at its own address, from the
// node that no fault touches. It returns when all of them have answered for a while. What it has asked for is in the node: end
// it with End, which is given once.
func ProbeAPI(ctx context.Context, cluster clusters.Cluster, client kubernetes.Interface, planes []clusters.Node) (*APIProbe, error) {
	i := slices.IndexFunc(cluster.Nodes(), func(n clusters.Node) bool { return n.Role() == clusters.LoadNode })
	if i < 0 {
		return nil, fmt.Errorf("ask the API server of %s: it has no node that no fault touches", cluster.Name())
	}
	r := &APIProbe{node: cluster.Nodes()[i], folder: "/run/holdfast-reach-" + strings.ToLower(rand.Text()[:8])}
	// Where kubelets reach the API server: in front of several control planes that is the balancer.
	const where = `sed -n 's|^ *server: https://||p' /etc/kubernetes/kubelet.conf`
	out, err := r.node.Exec(ctx, "sh", "-c", where, "where")
	if err != nil {
		return nil, fmt.Errorf("find the way to the API server of %s: %w", cluster.Name(), err)
	}
	if r.balancer = strings.TrimSpace(string(out)); r.balancer == "" {
		return nil, fmt.Errorf("find the way to the API server of %s: the kubelet of %s names none", cluster.Name(), r.node.Name())
	}
	ways := []string{controlWay + "=" + kubeletHealth, r.asking(balancerWay, r.balancer)}
	for _, n := range planes {
		address, err := addressOf(ctx, client, n.Name())
		if err != nil {
			return nil, err
		}
		r.direct = append(r.direct, n.Name())
		ways = append(ways, r.asking(n.Name(), fmt.Sprintf("%s:%d", address, apiPort)))
	}
	if err := r.begin(ctx, ways); err != nil {
		return nil, fmt.Errorf("ask the API server from %s: %w", r.node.Name(), err)
	}
	return r, r.learn(ctx)
}

// asking is a way for the probe: an API server is asked for the Node that asks.
func (r *APIProbe) asking(way, host string) string {
	return way + "=https://" + host + "/api/v1/nodes/" + r.node.Name()
}

// addressOf is a node's own address.
func addressOf(ctx context.Context, client kubernetes.Interface, name string) (string, error) {
	o, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the address of %s: %w", name, err)
	}
	return InternalIPv4(o)
}

// begin starts the probe, which goes on by itself.
func (r *APIProbe) begin(ctx context.Context, ways []string) error {
	const start = `mkdir -p "$1" && printf %s "$2" >"$1/probe.sh" && shift 2 &&
{ setsid bash "$1/probe.sh" "$@" >"$1/log" 2>/dev/null </dev/null & }`
	args := append([]string{
		"bash", "-c", start, "reach", r.folder, probeScript, r.folder, strconv.Itoa(int(askFor / time.Second)),
		inSeconds(askEvery), inSeconds(askWait),
	}, ways...)
	_, err := r.node.Exec(ctx, args...)
	return err
}

func inSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// learn waits for what the fault's effect is compared with.
func (r *APIProbe) learn(ctx context.Context) error {
	return poll.Until(ctx, "the API server to be asked from "+r.node.Name(), answersWithin, func(ctx context.Context) (bool, string, error) {
		answers, _, err := r.read(ctx)
		if err != nil {
			return false, "", err
		}
		r.before = r.count(answers)
		done, saw := true, []string{}
		for _, way := range r.ways() {
			n := len(answers[way])
			good := n > 0 && answers[way][n-1].good
			done = done && n >= answersBefore && good
			saw = append(saw, fmt.Sprintf("%s: %d answers, the last one good: %t", way, n, good))
		}
		return done, strings.Join(saw, "; "), nil
	})
}

// ways are the probe's names for them.
func (r *APIProbe) ways() []string { return append([]string{controlWay, balancerWay}, r.direct...) }

// count is how many answers there are, way by way.
func (r *APIProbe) count(answers map[string][]apiAnswer) map[string]int {
	counts := map[string]int{}
	for _, way := range r.ways() {
		counts[way] = len(answers[way])
	}
	return counts
}

// Returns marks the moment at which the revert begins. A probe that cannot be read just now does not keep the fault from being
// reverted.
func (r *APIProbe) Returns(ctx context.Context) {
	if answers, _, err := r.read(ctx); err == nil {
		r.away = r.count(answers)
	}
}

// End stops the probe and returns what it has seen, way by way.
func (r *APIProbe) End(ctx context.Context) (seen []history.Reach, err error) {
	if _, err := r.node.Exec(ctx, "touch", r.folder+"/stop"); err != nil {
		return nil, fmt.Errorf("end the probe of the API server: %w", err)
	}
	var answers map[string][]apiAnswer
	var last string
	err = poll.Until(ctx, "the probe of the API server to end", answersWithin, func(ctx context.Context) (bool, string, error) {
		var err error
		answers, last, err = r.read(ctx)
		return last != "", "it goes on", err
	})
	if err != nil {
		return nil, err
	}
	for _, way := range r.ways() {
		seen = append(seen, r.sum(way, answers[way])...)
	}
	if last != probeStopped {
		err = errors.New("the probe of the API server ended before the fault did: " + last)
	}
	_, removed := r.node.Exec(ctx, "rm", "-rf", r.folder)
	return seen, errors.Join(err, removed)
}

// Stop ends a probe whose answers are not needed. A nil probe is stopped already.
func (r *APIProbe) Stop(ctx context.Context) error {
	if r == nil {
		return nil
	}
	_, err := r.node.Exec(context.WithoutCancel(ctx), "touch", r.folder+"/stop")
	return err
}

// probeStopped is the probe's last line when it was told to stop.
const probeStopped = "end asked to"

// sum is what was seen by one way: until the undo began, and from then on.
func (r *APIProbe) sum(way string, answers []apiAnswer) []history.Reach {
	before, away := min(r.before[way], len(answers)), len(answers)
	if r.away != nil {
		away = min(r.away[way], away)
	}
	h := history.Reach{Way: history.Direct, Host: way, BeforeAsked: before, Wait: askWait}
	switch way {
	case balancerWay:
		h.Way = history.Balanced
		h.Host, _, _ = strings.Cut(r.balancer, ":")
	case controlWay:
		h.Way, h.Host = history.Control, r.node.Name()
	}
	h.Before, _, h.BeforeFailed = gaps(answers[:before])
	lost, back := h, h
	lost.Asked, back.Asked, back.Returning = away-before, len(answers)-away, true
	lost.Longest, lost.Failing, lost.Failed = gaps(since(answers[:away], before))
	back.Longest, back.Failing, back.Failed = gaps(since(answers, away))
	if back.Asked == 0 { // it was back at once
		return []history.Reach{lost}
	}
	return []history.Reach{lost, back}
}

// since are the answers from the n-th on, and before them the end of the one before, with which the first time without any begins:
// the gap until then belongs to the time until then.
func since(answers []apiAnswer, n int) []apiAnswer {
	if n == 0 {
		return answers
	}
	return append([]apiAnswer{{answered: answers[n-1].answered, good: true}}, answers[n:]...)
}

// apiAnswer is one line of the probe.
type apiAnswer struct {
	asked, answered time.Duration // since any moment
	good            bool
}

// gaps are the longest time from one good answer to the next, or to the end; the longest time of failing; and how many failed.
func gaps(answers []apiAnswer) (longest, failing time.Duration, failed int) {
	var good, began, ended time.Duration
	for i, a := range answers {
		if i == 0 {
			good = a.answered // where it is bad, the time before it is not known
		}
		longest = max(longest, a.answered-good)
		if a.good {
			good = a.answered
			continue
		}
		if failed++; failed == 1 || a.asked-ended > history.FailuresApart {
			began = a.asked
		}
		ended = a.answered
		failing = max(failing, ended-began)
	}
	return longest, failing, failed
}

// read reads what the probe has printed so far. Last is its last line, empty while it goes on.
func (r *APIProbe) read(ctx context.Context) (answers map[string][]apiAnswer, last string, err error) {
	out, err := r.node.Exec(ctx, "cat", r.folder+"/log")
	if err != nil {
		return nil, "", fmt.Errorf("read the probe of the API server: %w", err)
	}
	return parseAnswers(string(out))
}

// parseAnswers reads the probe's lines. One that is only half written is left for the next time.
func parseAnswers(text string) (answers map[string][]apiAnswer, last string, err error) {
	answers = map[string][]apiAnswer{}
	for line := range strings.Lines(text) {
		whole, ended := strings.CutSuffix(line, "\n")
		if !ended {
			continue
		}
		fields := strings.Fields(whole)
		if len(fields) > 0 && fields[0] == "end" {
			last = whole
			continue
		}
		if len(fields) != 4 {
			return nil, "", fmt.Errorf("read the probe of the API server: line %q", whole)
		}
		asked, askedErr := strconv.ParseInt(fields[1], 10, 64)
		answered, answeredErr := strconv.ParseInt(fields[2], 10, 64)
		if err := errors.Join(askedErr, answeredErr); err != nil {
			return nil, "", fmt.Errorf("read the probe of the API server: line %q: %w", whole, err)
		}
		answers[fields[0]] = append(answers[fields[0]], apiAnswer{
			asked: time.Duration(asked) * time.Microsecond, answered: time.Duration(answered) * time.Microsecond, good: fields[3] == "200",
		})
	}
	return answers, last, nil
}
