package environment

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/gateway"
)

// kinds of objects, and what they are called.
func kinds(objects []workloads.Object) (words []string) {
	for _, o := range objects {
		words = append(words, reflect.Indirect(reflect.ValueOf(o)).Type().Name()+" "+o.GetName())
	}
	return words
}

// podOf finds a Deployment's pod.
func podOf(objects []workloads.Object, deployment string) corev1.PodSpec {
	for _, o := range objects {
		if d, ok := o.(*appsv1.Deployment); ok && d.Name == deployment {
			return d.Spec.Template.Spec
		}
	}
	return corev1.PodSpec{}
}

func TestWhatAScenarioDeploys(t *testing.T) {
	backend := []string{"PodDisruptionBudget backend", "Service backend", "Deployment backend"}
	for name, test := range map[string]struct {
		edit func(*scenario.Spec)
		more []string
	}{
		"a backend":            {func(*scenario.Spec) {}, nil},
		"and load":             {func(s *scenario.Spec) { s.Load = scenario.DefaultLoad }, []string{"Job load"}},
		"load on workers, too": {func(s *scenario.Spec) { s.Load, s.LoadWorkers.OnWorkers = scenario.DefaultLoad, 2 }, []string{"Job load"}},
		"and a gateway before": {func(s *scenario.Spec) { s.Gateway = &workloads.Gateway{} }, []string{"ServiceAccount gateway", "Role gateway", "RoleBinding gateway", "Service gateway", "Deployment gateway"}},
		"all of it, and node ports": {
			func(s *scenario.Spec) {
				s.Load, s.Gateway, s.NodePorts, s.Backend.NodePort = scenario.DefaultLoad, &workloads.Gateway{}, 2, 30080
			},
			[]string{"Job load", "Service gateway", "Deployment gateway"}, // one with fixed upstreams watches nothing
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := quiet()
			test.edit(&s)
			env, _, _ := newEnvironment(t, s)
			objects, err := env.wanted(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append(backend[:3:3], test.more...), kinds(objects)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			zones := strings.Join(podOf(objects, "backend").Containers[0].Args, " ") +
				fmt.Sprint(podOf(objects, "backend").Containers[0].Env)
			if !strings.Contains(zones, "wa1=a,wa2=a,wb1=b,wb2=b,wc1=c,wc2=c") {
				t.Errorf("the backend is not told its zones: %s", zones)
			}
		})
	}
}

// Workers are counted by name, from 1, and neither the control plane nor the load node is one.
func TestWorkersAreCounted(t *testing.T) {
	s := quiet()
	s.PinTo, s.NodePorts, s.Backend.NodePort, s.Gateway = 3, 2, 30080, &workloads.Gateway{}
	env, _, _ := newEnvironment(t, s)
	objects, err := env.wanted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := podOf(objects, "backend").NodeSelector[workloads.Host]; got != "wb1" {
		t.Errorf("pinned to %q, want the third worker, wb1", got)
	}
	args := strings.Join(podOf(objects, "gateway").Containers[0].Args, " ")
	if !strings.Contains(args, "172.18.0.wa1:30080,172.18.0.wa2:30080") {
		t.Errorf("upstreams: %s; want the IPv4 addresses of the first two workers", args)
	}
	if len(s.Gateway.Upstreams) > 0 {
		t.Error("the spec's own gateway was changed")
	}
}

func TestWorkersThatAreNotThere(t *testing.T) {
	for want, edit := range map[string]func(*scenario.Spec, *clustertest.Cluster){
		"pick a worker of 0: it has 2 fewer than asked for": func(s *scenario.Spec, _ *clustertest.Cluster) { s.PinTo = 8 },
		"pick a worker of 0: it has 1 fewer than asked for": func(s *scenario.Spec, _ *clustertest.Cluster) { s.NodePorts = 9 },
		"read the address of wa1: nodes \"wa1\" not found":  func(s *scenario.Spec, h *clustertest.Cluster) { s.NodePorts = 1; h.Forget("/api/v1/nodes/wa1") },
		"read the address of wa2: it has no IPv4 address": func(s *scenario.Spec, h *clustertest.Cluster) {
			s.NodePorts = 2
			h.EditNode("wa2", func(n *corev1.Node) { n.Status.Addresses = n.Status.Addresses[:2] })
		},
	} {
		t.Run(want, func(t *testing.T) {
			s := quiet()
			s.Backend.NodePort, s.Gateway = 30080, &workloads.Gateway{}
			env, fake, _ := newEnvironment(t, s)
			edit(&env.Spec, fake)
			_, err := env.wanted(t.Context())
			errtest.Check(t, err, want)
		})
	}
}

func TestPlan(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*scenario.Spec)
		want []string // lane and target
		err  string
	}{
		"to the backend": {func(*scenario.Spec) {}, []string{"fresh http://10.96.0.1:80/", "reused http://10.96.0.1:80/", "control "}, ""},
		"to the gateway": {
			func(s *scenario.Spec) { s.Gateway = &workloads.Gateway{Name: "edge"} },
			[]string{"fresh http://10.96.0.2:80/", "reused http://10.96.0.2:80/", "control "}, "",
		},
		"elsewhere": {
			func(s *scenario.Spec) {
				s.Load = []load.Lane{{Lane: load.LaneSocket, Target: "http://elsewhere/", Rate: 1}}
			},
			[]string{"websocket http://elsewhere/"}, "",
		},
		"to nothing": {
			func(s *scenario.Spec) { s.Gateway = &workloads.Gateway{Name: "none"} }, nil,
			`find the load's target: services "none" not found`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := quiet()
			s.Load = scenario.DefaultLoad
			test.edit(&s)
			env, fake, _ := newEnvironment(t, s)
			for i, name := range []string{"backend", "edge"} {
				fake.Put("/api/v1/namespaces/hf-chaos-quiet/services", serviceAt(name, i+1))
			}
			plan, err := env.plan(t.Context())
			errtest.Check(t, err, test.err)
			var got []string
			for _, l := range plan.Lanes {
				got = append(got, string(l.Lane)+" "+l.Target)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err == nil && plan.ID != env.namespace {
				t.Errorf("plan %q", plan.ID)
			}
		})
	}
	if scenario.DefaultLoad[0].Target != "" {
		t.Errorf("a scenario's target got into the default load: %s", scenario.DefaultLoad[0].Target)
	}
}

func serviceAt(name string, n int) *corev1.Service {
	s := &corev1.Service{}
	s.Name, s.Namespace, s.Spec.ClusterIP = name, "hf-chaos-quiet", fmt.Sprintf("10.96.0.%d", n)
	return s
}

// script is what curl prints at each call, the last again and again.
type script struct {
	answers []string
	asked   []string
}

func (s *script) exec(command []string) ([]byte, error) {
	s.asked = append(s.asked, command[len(command)-1])
	answer := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	if refused, ok := strings.CutPrefix(answer, "error: "); ok {
		return nil, errors.New(refused)
	}
	return []byte(answer), nil
}

// Load begins when every endpoint of the backend answers, and not one of them: without a readiness probe, pods are offered that do
// not listen yet.
func TestEveryEndpointAnswersBeforeThereIsLoad(t *testing.T) {
	for name, test := range map[string]struct {
		silent string
		want   string
	}{
		"all answer":   {},
		"one does not": {silent: "10.0.0.3", want: "waited 2m0s for the endpoints 10.0.0.1, 10.0.0.2 and 10.0.0.3 of backend to answer from load"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env, fake, _ := newEnvironment(t, quiet())
				slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
					Namespace: env.namespace, Name: "backend-1", Labels: map[string]string{discoveryv1.LabelServiceName: "backend"},
				}}
				for _, ip := range []string{"10.0.0.1", "10.0.0.3", "10.0.0.2"} {
					slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
						Addresses: []string{ip}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
					})
				}
				slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
					Addresses: []string{"10.0.0.4"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false)}, // not offered
				})
				fake.Put("/apis/discovery.k8s.io/v1/namespaces/"+env.namespace+"/endpointslices", slice)
				asked := map[string]bool{}
				fake.Machines[1].OnExec = func(command []string) ([]byte, error) {
					if !slices.Contains(command, "--fail-early") { // or else curl's exit code is that of the last alone
						t.Errorf("one that fails is not noticed: %q", command)
					}
					for _, url := range command {
						if strings.HasPrefix(url, "http://") {
							asked[url] = true
						}
						if test.silent != "" && strings.Contains(url, test.silent) {
							return nil, errors.New("refused")
						}
					}
					return []byte("ok"), nil
				}
				errtest.Check(t, env.listening(t.Context()), test.want)
				for _, ip := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"} {
					if !asked["http://"+ip+":8080/healthz"] {
						t.Errorf("%s was not asked: %v", ip, asked)
					}
				}
				if len(asked) != 3 {
					t.Errorf("asked %v", asked)
				}
			})
		})
	}
}

// Load begins when its target answers from where it will be asked, and not before a gateway uses all it has.
func TestServing(t *testing.T) {
	stats := func(upstreams ...string) string { return `{"upstreams":[` + strings.Join(upstreams, ",") + `]}` }
	const well, ill, out = `{"address":"w:1","healthy":true}`, `{"address":"i:1","healthy":false}`,
		`{"address":"o:1","healthy":true,"ejected":true}`
	for name, test := range map[string]struct {
		gateway bool
		answers []string
		asks    int // 0: until the limit
		want    string
	}{
		"at once":        {answers: []string{"ok"}, asks: 1},
		"after a while":  {answers: []string{"error: refused", "error: refused", "ok"}, asks: 3},
		"never":          {answers: []string{"error: refused"}, want: "waited 2m0s for http://t:80/ to answer from load: last seen nothing ("},
		"with a gateway": {gateway: true, answers: []string{"ok", "error: refused", stats(), stats(ill, well), stats(well, out), stats(well, well)}, asks: 6},
		"with a gateway that leaves some out": {
			gateway: true, answers: []string{"ok", stats(well, ill, out)},
			want: `waited 2m0s for the gateway to use all its upstreams from load: last seen 3 upstreams, of which it leaves out ["i:1" "o:1"]`,
		},
		"with a gateway that has none": {
			gateway: true, answers: []string{"ok", stats()}, want: "last seen 0 upstreams",
		},
		"with something that is no gateway": {
			gateway: true, answers: []string{"ok", "<html>"}, want: "last error: read the gateway's statistics: invalid character '<'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := quiet()
				if test.gateway {
					s.Gateway = &workloads.Gateway{}
				}
				env, fake, _ := newEnvironment(t, s)
				curl := &script{answers: test.answers}
				fake.Machines[1].OnExec = curl.exec // and from no other node: their exec is nil
				errtest.Check(t, env.serving(t.Context(), "http://t:80/"), test.want)
				if test.asks > 0 && len(curl.asked) != test.asks {
					t.Errorf("asked %d times, want %d", len(curl.asked), test.asks)
				}
				last := "http://t:80/"
				if test.gateway {
					last = "http://t:80" + gateway.StatsPath
				}
				if got := curl.asked[len(curl.asked)-1]; got != last {
					t.Errorf("asked %s last, want %s", got, last)
				}
			})
		})
	}
}

// The gateway's own counts are those of the load, and not of what came before. One that began anew says nothing.
func TestNoteGateway(t *testing.T) {
	const ready = `{"requests":5,"tries":6,"masked":1,"failed":1,"upstreams":[{"address":"w:1","healthy":true}]}`
	for name, test := range map[string]struct {
		after string
		want  *history.GatewayTotals
	}{
		"it counted":      {`{"requests":105,"tries":116,"masked":8,"failed":3}`, &history.GatewayTotals{Requests: 100, Tries: 110, Masked: 7, Failed: 2}},
		"it began anew":   {`{"requests":4,"tries":4}`, nil},
		"it is gone":      {"error: refused", nil},
		"it is not there": {"<html>", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := quiet()
				s.Gateway = &workloads.Gateway{}
				env, fake, read := newEnvironment(t, s)
				fake.Machines[1].OnExec = (&script{answers: []string{"ok", ready, test.after}}).exec
				errtest.Check(t, env.serving(t.Context(), "http://t:80/"), "")
				errtest.Check(t, env.noteGateway(t.Context()), "")
				var got *history.GatewayTotals
				for _, e := range read().Events {
					if e.Gateway != nil {
						got = e.Gateway
					}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Deploying ends when all that was asked for serves: the backend, the load worker, the gateway.
func TestDeployWaitsForAll(t *testing.T) {
	for want, test := range map[string]struct {
		edit   func(*scenario.Spec)
		nobody string // the role that no node has
	}{
		"":                                {func(s *scenario.Spec) { s.Load, s.Gateway = scenario.DefaultLoad, &workloads.Gateway{} }, ""},
		"deployment backend to settle:":   {func(*scenario.Spec) {}, "worker"},
		"deployment backend-1 to settle:": {func(s *scenario.Spec) { s.Trials, s.StatefulSets = 3, 1 }, "worker"},
		"1 load worker to be ready: last seen load-0-": {func(s *scenario.Spec) { s.Load = scenario.DefaultLoad }, "load"},
		"deployment gateway to settle:":                {func(s *scenario.Spec) { s.Gateway = &workloads.Gateway{} }, "load"},
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := quiet()
				s.Backend.Replicas = 1
				test.edit(&s)
				env, fake, _ := newEnvironment(t, s)
				fake.Relabel(test.nobody, "nobody")
				if err := env.makeNamespace(t.Context()); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				errtest.Check(t, env.createWorkload(ctx), want)
			})
		})
	}
}

func TestTrialsAreDeployed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quiet()
		s.Trials, s.StatefulSets = 3, 1
		env, _, _ := newEnvironment(t, s)
		objects, err := env.wanted(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"PodDisruptionBudget backend-1", "Service backend-1", "Deployment backend-1",
			"PodDisruptionBudget backend-2", "Service backend-2", "Deployment backend-2",
			"PodDisruptionBudget backend-3", "Service backend-3", "StatefulSet backend-3",
		}
		if diff := cmp.Diff(want, kinds(objects)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if err := env.makeNamespace(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := env.createWorkload(t.Context()); err != nil { // each is waited for as what it is
			t.Error(err)
		}
	})
}
