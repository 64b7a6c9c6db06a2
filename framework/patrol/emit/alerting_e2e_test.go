//go:build e2e

package emit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/patrol"
	"github.com/holdfast-ha/holdfast/framework/patrol/patroltest"
	"github.com/holdfast-ha/holdfast/workloads"
)

// quick are the alerts' times for this test: seconds in place of minutes, and 40 seconds in place of a day.
var quick = Alerts{Pending: 5 * time.Second, New: 40 * time.Second, Settle: 3 * time.Second, Remember: 4 * time.Second, Blind: 5 * time.Second}

// noticeLimit bounds the wait for a notification; on an idle machine one takes ten seconds.
const noticeLimit = 2 * time.Minute

// told is what Alertmanager sends to a webhook.
// Source: https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
type told struct {
	Alerts []struct {
		Status              string
		Labels, Annotations map[string]string
	}
}

// inbox is where Alertmanager's notifications arrive.
type inbox struct {
	mu   sync.Mutex
	last map[string]string // status of the last notification, by alert and object
}

// ServeHTTP implements http.Handler.
func (i *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var t told
	if err := json.NewDecoder(r.Body).Decode(&t); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, a := range t.Alerts {
		i.last[strings.TrimSpace(a.Labels["alertname"]+" "+a.Labels["workload"]+" "+a.Labels["rule"])] = a.Status
	}
}

// await waits for a notification about an alert.
func (i *inbox) await(t *testing.T, alert, status string) {
	t.Helper()
	began := time.Now()
	defer func() {
		t.Logf("%s: waited %s to be told that it is %s", alert, time.Since(began).Round(time.Second), status)
	}()
	err := poll.Until(t.Context(), fmt.Sprintf("%s to be %s", alert, status), noticeLimit, func(context.Context) (bool, string, error) {
		i.mu.Lock()
		defer i.mu.Unlock()
		return i.last[alert] == status, fmt.Sprint(i.last), nil
	})
	if err != nil {
		t.Error(err)
	}
}

// firing are the alerts that were told and have not ended.
func (i *inbox) firing() (all []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for alert, status := range i.last {
		if status == "firing" {
			all = append(all, alert)
		}
	}
	return all
}

// site is a patrol, Prometheus and Alertmanager, on loopback.
type site struct {
	*testing.T
	cluster *patroltest.Cluster
	inbox   *inbox
	dir     string
	patrol  string // its address
	stop    context.CancelFunc
	ended   chan error
}

func newSite(t *testing.T) *site {
	s := &site{T: t, cluster: patroltest.New(t), inbox: &inbox{last: map[string]string{}}, dir: t.TempDir()}
	hook := httptest.NewServer(s.inbox)
	t.Cleanup(hook.Close)
	s.patrol = free(t)
	s.startPatrol()
	t.Cleanup(func() { s.stopPatrol() })
	manager := free(t)
	s.write("alertmanager.yaml", fmt.Sprintf(`
route: {receiver: hook, group_by: ["..."], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}
receivers: [{name: hook, webhook_configs: [{url: %q, send_resolved: true}]}]
`, hook.URL))
	alertmanager := "prometheus-alertmanager" // Debian's name
	if _, err := exec.LookPath(alertmanager); err != nil {
		alertmanager = "alertmanager"
	}
	s.start(alertmanager, manager, "--config.file=alertmanager.yaml", "--storage.path=alertmanager", "--cluster.listen-address=")
	rules, err := quick.File()
	s.must(err)
	s.write("rules.yaml", string(rules))
	s.write("prometheus.yaml", fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}
scrape_configs: [{job_name: patrol, honor_labels: true, static_configs: [{targets: [%q], labels: {namespace: holdfast-patrol}}]}]
`, manager, s.patrol))
	s.start("prometheus", free(t), "--config.file=prometheus.yaml", "--storage.tsdb.path=prometheus", "--query.lookback-delta=4s")
	return s
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *site) write(name, text string) {
	s.Helper()
	s.must(os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
}

// free is an address on loopback that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // only its address is wanted
	return listener.Addr().String()
}

// start runs a server until the test ends, and waits until it is ready. What it logs is shown if the test fails.
func (s *site) start(program, address string, arguments ...string) {
	s.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	command := append(unpacked(prometheusTool(s.T, program)), append(arguments, "--web.listen-address="+address)...)
	run := exec.CommandContext(ctx, command[0], command[1:]...)
	var log bytes.Buffer
	run.Dir, run.Stdout, run.Stderr = s.dir, &log, &log
	s.must(run.Start())
	s.Cleanup(func() {
		cancel()
		_ = run.Wait()
		if s.Failed() {
			s.Logf("%s:\n%s", program, log.String())
		}
	})
	s.must(poll.Until(s.Context(), program+" to be ready", noticeLimit, func(context.Context) (bool, string, error) {
		response, err := http.Get("http://" + address + "/-/ready")
		if err != nil {
			return false, "", err
		}
		return response.StatusCode == http.StatusOK, response.Status, response.Body.Close()
	}))
}

// unpacked is the command line of a program. Debian's programs look for their files below /usr/share; one that was unpacked and not
// installed is shown its own files there, in a mount namespace that nobody else sees.
func unpacked(program string) []string {
	share := filepath.Join(filepath.Dir(filepath.Dir(program)), "share")
	_, err := os.Stat(filepath.Join(share, "prometheus"))
	if share == "/usr/share" || err != nil {
		return []string{program}
	}
	return []string{"unshare", "--mount", "--map-root-user", "sh", "-c", `mount --bind "$0" /usr/share && exec "$@"`, share, program}
}

func (s *site) startPatrol() {
	s.Helper()
	listener, err := net.Listen("tcp", s.patrol)
	s.must(err)
	ctx, stop := context.WithCancel(context.WithoutCancel(s.Context()))
	p := patrol.New(patrol.Options{Reader: s.cluster.Client, Every: time.Second, MostSeries: 30})
	s.stop, s.ended = stop, make(chan error, 1)
	go func() { s.ended <- p.Serve(ctx, listener) }()
}

func (s *site) stopPatrol() {
	s.Helper()
	s.stop()
	s.must(<-s.ended)
}

var (
	soft      = workloads.Backend{Spread: []workloads.Spread{{Key: workloads.Zone, Unsatisfiable: "ScheduleAnyway"}}}
	unspread  = workloads.Backend{Spread: workloads.NoSpread}
	allOrNone = workloads.Backend{Budget: workloads.Budget{MaxUnavailable: "0"}}
)

const noNode = "0/6 nodes are available: 6 node(s) didn't match pod topology spread constraints."

// TestAlertsOnARealPrometheus plants each state that the alerts are about, waits until a real Alertmanager has told it, mends it, and waits
// until Alertmanager has told that it is over. Before, between and after, nothing else is told.
func TestAlertsOnARealPrometheus(t *testing.T) {
	s := newSite(t)
	s.cluster.Deploy("good", workloads.Backend{}, patroltest.Spread...)
	s.cluster.Deploy("old", unspread, "a1", "a1") // known from the beginning, so never new
	s.must(poll.Pass(t.Context(), 2*quick.New+10*time.Second))
	if all := s.inbox.firing(); len(all) > 0 {
		t.Fatalf("before anything is planted: %v", all)
	}
	for _, state := range []struct {
		alert       string
		plant, mend func()
	}{
		{
			"HoldfastPodsPendingOnConstraint web", func() {
				s.cluster.Deploy("web", workloads.Backend{}, patroltest.Spread...)
				s.cluster.Stuck("web", time.Now(), noNode)
			}, func() { s.cluster.Place("web", patroltest.Spread...) },
		},
		{
			"HoldfastSkewBeyondSoftConstraint soft", func() { s.cluster.Deploy("soft", soft, "a1", "a2", "a1", "b1") },
			func() { s.cluster.Place("soft", "a1", "b1", "c1", "a2") },
		},
		{
			"HoldfastBudgetBlocksDrains stubborn", func() { s.cluster.Deploy("stubborn", allOrNone, patroltest.Spread...) },
			func() { s.cluster.Remove("stubborn") },
		},
		{
			"HoldfastNewSinglePointOfFailure fresh one-node", func() { s.cluster.Deploy("fresh", unspread, "b1", "b1") },
			func() { s.cluster.Place("fresh", "a1", "b1") },
		},
		{
			// It stays, and is no longer new after a while.
			"HoldfastNewSinglePointOfFailure lasting one-node", func() { s.cluster.Deploy("lasting", unspread, "c1", "c1") }, func() {},
		},
		{"HoldfastPatrolCannotCheck  no-budget", func() { s.cluster.Forbid("poddisruptionbudgets") }, s.cluster.Allow},
		{"HoldfastPatrolBlind", s.cluster.Away, s.cluster.Allow},
		{"HoldfastPatrolBlind", func() { s.stopPatrol() }, func() { s.startPatrol() }},
		{
			"HoldfastPatrolSeriesOmitted", func() {
				for i := range 6 {
					s.cluster.Deploy(fmt.Sprintf("more-%d", i), workloads.Backend{}, patroltest.Spread...)
				}
			}, func() {
				for i := range 6 {
					s.cluster.Remove(fmt.Sprintf("more-%d", i))
				}
			},
		},
	} {
		state.plant()
		s.inbox.await(t, state.alert, "firing")
		state.mend()
		s.inbox.await(t, state.alert, "resolved")
		if t.Failed() {
			return
		}
	}
	err := poll.Until(t.Context(), "every alert to end", noticeLimit, func(context.Context) (bool, string, error) {
		all := s.inbox.firing()
		return len(all) == 0, fmt.Sprint(all), nil
	})
	s.must(err)
}

// An alert about a workload does not end because the patrol is replaced, or because it goes blind.
func TestAlertsOutliveThePatrolsTroubles(t *testing.T) {
	s := newSite(t)
	s.cluster.Deploy("stubborn", allOrNone, patroltest.Spread...)
	const alert = "HoldfastBudgetBlocksDrains stubborn"
	s.inbox.await(t, alert, "firing")
	s.stopPatrol()
	s.startPatrol()
	s.must(poll.Pass(t.Context(), 10*time.Second))
	s.cluster.Forbid("poddisruptionbudgets")
	s.must(poll.Pass(t.Context(), 10*time.Second))
	s.cluster.Away()
	s.inbox.await(t, "HoldfastPatrolBlind", "firing")
	if all := s.inbox.firing(); !strings.Contains(strings.Join(all, "\n"), alert) {
		t.Errorf("it has ended: %v", all)
	}
}
