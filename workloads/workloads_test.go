package workloads

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestOptionsAreData: the options can be stored as JSON and read back without loss.
func TestOptionsAreData(t *testing.T) {
	v := reflect.ValueOf(everything)
	for i := range v.NumField() {
		if v.Field(i).IsZero() && v.Type().Field(i).Name != "StatefulSet" { // a StatefulSet has no Strategy; backend-stateful covers it
			t.Errorf("everything leaves %s zero: the golden file then does not show it", v.Type().Field(i).Name)
		}
	}
	for _, want := range []Backend{{}, bare, everything, {StatefulSet: true}} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Backend
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" { // nil and empty must stay different
			t.Errorf("(-want +got):\n%s\n%s", diff, text)
		}
	}
}

// TestDefaultsAreFixed: applying the defaults twice changes nothing.
func TestDefaultsAreFixed(t *testing.T) {
	for _, b := range []Backend{{}, bare, everything} {
		once := b.WithDefaults()
		if diff := cmp.Diff(once, once.WithDefaults()); diff != "" {
			t.Errorf("(-once +twice):\n%s", diff)
		}
	}
	changed := Backend{}.WithDefaults()
	changed.Spread[0].MaxSkew = 9
	if got := (Backend{}).WithDefaults().Spread[0].MaxSkew; got == 9 {
		t.Error("changing one backend changes the defaults of all")
	}
}

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

// TestSelectorFindsPods: the Deployment, its Service and its constraints select the pods that the Deployment creates.
func TestSelectorFindsPods(t *testing.T) {
	for _, name := range []string{"backend-default", "gateway-default", "gateway-everything"} {
		var d *appsv1.Deployment
		var s *corev1.Service
		for _, o := range objectsOf(t, name) {
			switch o := o.(type) {
			case *appsv1.Deployment:
				d = o
			case *corev1.Service:
				s = o
			}
		}
		pods := d.Spec.Template.Labels
		selectors := []map[string]string{d.Spec.Selector.MatchLabels, s.Spec.Selector}
		for _, c := range d.Spec.Template.Spec.TopologySpreadConstraints {
			selectors = append(selectors, c.LabelSelector.MatchLabels)
		}
		for _, sel := range selectors {
			for key, value := range sel {
				if pods[key] != value || len(sel) == 0 {
					t.Errorf("%s: %v does not select pods labelled %v", name, sel, pods)
				}
			}
		}
		if s.Name != d.Name {
			t.Errorf("%s: Service %s, Deployment %s: faults find one by the other's name", name, s.Name, d.Name)
		}
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
