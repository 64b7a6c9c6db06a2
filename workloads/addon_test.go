package workloads

import (
	"strings"
	"testing"
	"time"
)

var addonGoldens = map[string]Addon{
	"descheduler-default":    Descheduler{},
	"metrics-server-default": MetricsServer{},
	"recommender-default":    VerticalRecommender{},
	"local-path-default":     LocalPath{Helper: "holdfast.local/holdfast:0123456789ab"},
	"updater-default":        VerticalUpdater{},
	"descheduler-everything": Descheduler{Every: 5500 * time.Millisecond, Soft: true, Resources: Resources{CPU: "10m", Memory: "32Mi", MemoryLimit: "64Mi"}},
}

func addonObjects(t *testing.T, name string) []Object {
	t.Helper()
	at := place
	at.Image = "holdfast.local/addon/" + addonGoldens[name].Program().Name + ":0123456789ab"
	objects, err := addonGoldens[name].Objects(at)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestAddonGolden(t *testing.T) {
	for name := range addonGoldens {
		t.Run(name, func(t *testing.T) { golden(t, name, addonObjects(t, name)) })
	}
}

func TestAddonsThatMakeNoSense(t *testing.T) {
	for want, a := range map[string]Addon{
		"descheduler: a round every 500ms: want at least 1s":  Descheduler{Every: 500 * time.Millisecond},
		"descheduler: resources: \"much\": ":                  Descheduler{Resources: Resources{CPU: "much"}},
		"metrics-server: a round every 9s: want at least 10s": MetricsServer{Every: 9 * time.Second},
		"metrics-server: resources: \"much\": ":               MetricsServer{Resources: Resources{Memory: "much"}},
		"recommender: a round every 1ms: want at least 1s":    VerticalRecommender{Every: time.Millisecond},
		"local-path-provisioner: no image of its helper pods": LocalPath{},
		"updater: resources: \"much\": ":                      VerticalUpdater{Resources: Resources{MemoryLimit: "much"}},
	} {
		if err := a.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if objects, err := a.Objects(place); err == nil || objects != nil {
			t.Errorf("%s: %d objects, %v", want, len(objects), err)
		}
	}
}
