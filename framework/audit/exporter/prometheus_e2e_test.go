//go:build e2e

package exporter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/workloads"
)

// quick shortens the rules' times for this test: seconds in place of minutes, and 40 seconds in place of a day.
var quick = strings.NewReplacer("for: 15m", "for: 3s", "for: 5m", "for: 4s", "[5m]", "[4s]", "1d", "40s", "> 300", "> 5", "> 600", "> 5")

// noticeLimit bounds the wait for a notification; on an idle machine one takes ten seconds.
const noticeLimit = 2 * time.Minute

// notification is what Alertmanager sends to a webhook.
// Source: https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
type notification struct {
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
	var t notification
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
	err := poll.Until(t.Context(), fmt.Sprintf("%s to be %s", alert, status), noticeLimit, func(context.Context) (bool, string, error) {
		i.mu.Lock()
		defer i.mu.Unlock()
		return i.last[alert] == status, fmt.Sprint(i.last), nil
	})
	if err != nil {
		t.Error(err)
	}
}

// awaitSilence waits for at most so long until no alert fires.
func (i *inbox) awaitSilence(t *testing.T, limit time.Duration) {
	t.Helper()
	err := poll.Until(t.Context(), "no alert to fire", limit, func(context.Context) (bool, string, error) {
		i.mu.Lock()
		defer i.mu.Unlock()
		return !slices.Contains(slices.Collect(maps.Values(i.last)), "firing"), fmt.Sprint(i.last), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// site is an exporter, Prometheus and Alertmanager, on loopback.
type site struct {
	*testing.T
	cluster *fakeCluster
	inbox   *inbox
	dir     string
	address string // of the exporter
	stop    context.CancelFunc
	ended   chan error
}

func newSite(t *testing.T) *site {
	s := &site{T: t, cluster: newCluster(t), inbox: &inbox{last: map[string]string{}}, dir: t.TempDir()}
	hook := httptest.NewServer(s.inbox)
	t.Cleanup(hook.Close)
	s.address = free(t)
	s.startExporter()
	t.Cleanup(func() { s.stopExporter() })
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
	s.write("rules.yaml", string(rulesFile(t, quick)))
	s.write("prometheus.yaml", fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}
scrape_configs: [{job_name: audit, honor_labels: true, static_configs: [{targets: [%q], labels: {namespace: holdfast-audit}}]}]
`, manager, s.address))
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

// free is an unused address on loopback.
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
// installed is shown its own files there, in a mount namespace of its own.
func unpacked(program string) []string {
	share := filepath.Join(filepath.Dir(filepath.Dir(program)), "share")
	_, err := os.Stat(filepath.Join(share, "prometheus"))
	if share == "/usr/share" || err != nil {
		return []string{program}
	}
	return []string{"unshare", "--mount", "--map-root-user", "sh", "-c", `mount --bind "$0" /usr/share && exec "$@"`, share, program}
}

func (s *site) startExporter() {
	s.Helper()
	listener, err := net.Listen("tcp", s.address)
	s.must(err)
	ctx, stop := context.WithCancel(context.WithoutCancel(s.Context()))
	e := New(Options{Client: s.cluster.client, Every: time.Second})
	s.stop, s.ended = stop, make(chan error, 1)
	go func() { s.ended <- e.Serve(ctx, listener) }()
}

func (s *site) stopExporter() {
	s.Helper()
	s.stop()
	s.must(<-s.ended)
}

var (
	soft      = workloads.Backend{Spread: []workloads.Spread{{Key: workloads.Zone, Unsatisfiable: "ScheduleAnyway"}}}
	unspread  = workloads.Backend{Spread: workloads.NoSpread}
	allOrNone = workloads.Backend{Budget: workloads.Budget{MaxUnavailable: "0"}}
)

// TestAlertsOnARealPrometheus plants each state that the alerts are about, waits until a real Alertmanager has reported it, mends it, and
// waits until Alertmanager has reported its end. Before and after, nothing is reported.
func TestAlertsOnARealPrometheus(t *testing.T) {
	s := newSite(t)
	c := s.cluster
	c.deploy("good", workloads.Backend{}, spread...)
	c.deploy("old", unspread, "a1", "a1") // known from the beginning, so never new
	s.must(poll.Pass(t.Context(), 90*time.Second))
	s.inbox.awaitSilence(t, time.Second)
	for _, state := range []struct {
		alert       string
		plant, mend func()
	}{
		{"HoldfastPodsPendingOnConstraint web", func() {
			c.deploy("web", workloads.Backend{}, spread...)
			c.stuck("web", time.Now(), noNode)
		}, func() { c.place("web", spread...) }},
		{"HoldfastSkewBeyondSoftConstraint soft", func() { c.deploy("soft", soft, "a1", "a2", "a1", "b1") }, func() { c.place("soft", "a1", "b1", "c1", "a2") }},
		{"HoldfastBudgetBlocksDrains stubborn", func() { c.deploy("stubborn", allOrNone, spread...) }, func() { c.remove("stubborn") }},
		{"HoldfastNewSinglePointOfFailure fresh one-node", func() { c.deploy("fresh", unspread, "b1", "b1") }, func() { c.place("fresh", "a1", "b1") }},
		{"HoldfastNewSinglePointOfFailure lasting one-node", func() { c.deploy("lasting", unspread, "c1", "c1") }, func() {}}, // new for a while
		{"HoldfastAuditCannotCheck  no-budget", func() { c.forbid("poddisruptionbudgets") }, c.allow},
		{"HoldfastAuditBlind", c.away, c.allow},
		{"HoldfastAuditBlind", func() { s.stopExporter() }, func() { s.startExporter() }},
	} {
		state.plant()
		s.inbox.await(t, state.alert, "firing")
		state.mend()
		s.inbox.await(t, state.alert, "resolved")
		if t.Failed() {
			return
		}
	}
	s.inbox.awaitSilence(t, noticeLimit)
	// An alert about a workload does not end because the exporter is replaced, loses a permission or cannot reach the cluster.
	c.deploy("stubborn", allOrNone, spread...)
	s.inbox.await(t, "HoldfastBudgetBlocksDrains stubborn", "firing")
	s.stopExporter()
	s.startExporter()
	s.must(poll.Pass(t.Context(), 10*time.Second))
	c.forbid("poddisruptionbudgets")
	s.must(poll.Pass(t.Context(), 10*time.Second))
	c.away()
	s.inbox.await(t, "HoldfastAuditBlind", "firing")
	s.inbox.await(t, "HoldfastBudgetBlocksDrains stubborn", "firing")
}
