package workloads

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestRefusedOptions(t *testing.T) {
	tests := map[string]struct {
		options interface{ Objects(Place) ([]Object, error) }
		want    string
	}{
		"replicas":         {Backend{Replicas: -1}, "backend backend: -1 replicas"},
		"grace":            {Backend{Name: "shop", GracePeriod: time.Second}, "backend shop: grace period 1s: a preStop sleep of 3s leaves no time to shut down"},
		"node port":        {Backend{NodePort: 80}, "node port 80: want 30000 to 32767"},
		"negative delay":   {Backend{StartDelay: -1}, "start delay -1ns"},
		"no key":           {Backend{Spread: []Spread{{MaxSkew: 1}}}, "no key"},
		"negative skew":    {Backend{Spread: []Spread{{Key: Zone, MaxSkew: -1}}}, "spread over topology.kubernetes.io/zone: max skew -1"},
		"min domains":      {Backend{Spread: []Spread{{Key: Zone, MinDomains: 2, Unsatisfiable: corev1.ScheduleAnyway}}}, "min domains need DoNotSchedule"},
		"affinity":         {Backend{Affinity: []Affinity{{Key: Zone, Weight: 101}}}, "a weight from 0 to 100"},
		"strategy":         {Backend{Strategy: Strategy{MaxSurge: "some"}}, `strategy: "some": want a number of pods such as 1, or a percentage such as 25%`},
		"stuck strategy":   {Backend{Strategy: Strategy{MaxSurge: "0%"}}, "no pod could ever be replaced"},
		"stateful surge":   {Backend{StatefulSet: true, Strategy: Strategy{MaxSurge: "1"}}, "strategy: a StatefulSet replaces its pods one by one"},
		"budget":           {Backend{Budget: Budget{MinAvailable: "1", MaxUnavailable: "1"}}, "budget: set minAvailable or maxUnavailable, not both"},
		"min available":    {Backend{Budget: Budget{MinAvailable: "-1"}}, `budget: minAvailable: "-1"`},
		"max unavailable":  {Backend{Budget: Budget{MaxUnavailable: "a third"}}, `budget: maxUnavailable: "a third"`},
		"resources":        {Backend{Resources: Resources{CPU: "much"}}, `resources: "much"`},
		"at term":          {Backend{AtTerm: "explode"}, "want drain, shutdown, drop, hold, drop-untrapped or hold-untrapped"},
		"gateway replicas": {Gateway{Replicas: -1}, "gateway gateway: -1 replicas"},
		"gateway tries":    {Gateway{MaxTries: -1}, "must not be negative"},
		"gateway upstream": {Gateway{Upstreams: []string{"w1"}}, `upstream "w1": want host:port`},
		"gateway memory":   {Gateway{Resources: Resources{Memory: "1 GB"}}, `resources: "1 GB"`},
		"healer run":       {Healer{}, "healer: no run"},
		"healer account":   {Healer{Run: "1"}, "healer: no ServiceAccount"},
		"healer memory":    {Healer{Run: "1", Account: "a", Resources: Resources{Memory: "x"}}, `healer: resources: "x"`},
		"load memory":      {Load{Resources: Resources{MemoryLimit: "x"}}, `load: resources: "x"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects, err := test.options.Objects(place)
			if err == nil || !strings.Contains(err.Error(), test.want) || objects != nil {
				t.Errorf("error %v, %d objects; want no object, and %q in the error", err, len(objects), test.want)
			}
		})
	}
}

// TestOneChangeIsOneChange: a mutant differs from its twin only in the removed practice.
func TestOneChangeIsOneChange(t *testing.T) {
	tests := map[string]struct {
		mutate  func(*Backend)
		changed []string
	}{
		"preStop":   {func(b *Backend) { b.PreStop = NoPreStop }, []string{"Containers", "Lifecycle"}},
		"readiness": {func(b *Backend) { b.Readiness = NoReadiness }, []string{"Containers", "ReadinessProbe"}},
		"spread":    {func(b *Backend) { b.Spread = NoSpread }, []string{"TopologySpreadConstraints"}},
		"stateful":  {func(b *Backend) { b.StatefulSet = true }, []string{"Containers", "TopologySpreadConstraints", "Env"}},
		"drain":     {func(b *Backend) { b.AtTerm = Drop }, []string{"Containers", "Args"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var mutant Backend
			test.mutate(&mutant)
			was, is := specOf(t, Backend{}), specOf(t, mutant)
			changed := append(differing(*was, *is), differing(was.Containers[0], is.Containers[0])...)
			if diff := cmp.Diff(test.changed, changed); diff != "" {
				t.Errorf("changed fields (-want +got):\n%s", diff)
			}
		})
	}
	none, err := Backend{Budget: NoBudget}.Objects(place)
	if err != nil || len(none) != len(objectsOf(t, "backend-default"))-1 {
		t.Errorf("without a budget: %d objects, %v", len(none), err)
	}
}

func specOf(t *testing.T, b Backend) *corev1.PodSpec {
	t.Helper()
	objects, err := b.Objects(place)
	if err != nil {
		t.Fatal(err)
	}
	return podOf(objects[len(objects)-1])
}

// differing lists the fields in which two structs differ.
func differing[T any](a, b T) (names []string) {
	was, is := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range was.NumField() {
		if !reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
			names = append(names, was.Type().Field(i).Name)
		}
	}
	return names
}
