package disturb

import (
	"testing"
	"time"
)

func TestTimeBox(t *testing.T) {
	window := func(win Window) func(*world) { return func(w *world) { w.Limits.Window = &win } }
	refuses(t, timeBox, map[string]try{
		"too long":             {faults: "rollout", change: func(w *world) { w.Limits.Duration = 3 * time.Hour }, reason: "a fault may last 3h0m0s"},
		"too short":            {change: func(w *world) { w.Limits.Duration = time.Second }, reason: "a fault may last 1s"},
		"negative":             {change: func(w *world) { w.Limits.Duration = -time.Hour }, reason: "a fault may last -1h0m0s"},
		"all of them together": {change: func(w *world) { w.Limits.Duration = 30 * time.Minute }, reason: "all faults together may last 3h0m0s, which is more than 2h0m0s"},
		"one of them":          {faults: "rollout", change: func(w *world) { w.Limits.Duration = 30 * time.Minute }},
		"two workloads": {faults: "rollout", change: func(w *world) {
			w.deploy(shop, "api", "w1", "w2", "w3")
			w.Workloads = append(w.Workloads, Object{Kind: KindDeployment, Name: "api"})
			w.Limits.Duration = 90 * time.Minute
		}, reason: "all faults together may last 3h0m0s"},
		"in the window":         {faults: "rollout", change: window(Window{From: "09:00", To: "17:00"})},
		"before the window":     {faults: "rollout", change: window(Window{From: "10:01", To: "17:00"}), reason: "the window is 10:01 to 17:00 UTC"},
		"into its end":          {faults: "rollout", change: window(Window{From: "09:00", To: "10:06"}), reason: "it may last until Wed 10:07 UTC, and the window is 09:00 to 10:06 UTC"},
		"to its end":            {faults: "rollout", change: window(Window{From: "09:00", To: "10:07"})},
		"on another day":        {faults: "rollout", change: window(Window{Days: []string{"Thu"}, From: "09:00", To: "17:00"}), reason: "the window is Thu 09:00 to 17:00 UTC"},
		"on that day":           {faults: "rollout", change: window(Window{Days: []string{"Tue", "Wed"}, From: "09:00", To: "17:00"})},
		"in another time zone":  {faults: "rollout", change: window(Window{From: "09:00", To: "10:30", Zone: "Europe/Berlin"}), reason: "the window is 09:00 to 10:30 Europe/Berlin"},
		"no time zone":          {faults: "rollout", change: window(Window{From: "09:00", To: "17:00", Zone: "Mars/Base"}), reason: `zone "Mars/Base"`},
		"this machine's":        {faults: "rollout", change: window(Window{From: "09:00", To: "17:00", Zone: "Local"}), reason: `zone "Local"`},
		"no day":                {faults: "rollout", change: window(Window{Days: []string{"Monday"}, From: "09:00", To: "17:00"}), reason: `day "Monday": want one of Sun, Mon`},
		"over midnight":         {faults: "rollout", change: window(Window{From: "22:00", To: "02:00"}), reason: "it ends at 02:00 and begins at 22:00"},
		"no time":               {faults: "rollout", change: window(Window{From: "9", To: "17:00"}), reason: `from "9" to "17:00"`},
		"another clock":         {change: func(w *world) { w.Ahead = -3 * time.Minute }, reason: "differ by 3m0s"},
		"almost the same clock": {change: func(w *world) { w.Ahead = 5 * time.Second }},
	})
}
