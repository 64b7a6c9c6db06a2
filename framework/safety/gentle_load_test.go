package disturb

import "testing"

func TestGentleLoad(t *testing.T) {
	refuses(t, gentleLoad, map[string]try{
		"more than the file asks for":  {change: func(w *world) { w.Load[0].Rate = 50 }, reason: "lane fresh would send 50 requests a second, and the file does not say so"},
		"as many as the file asks for": {change: func(w *world) { w.Load[0].Rate, w.Load[0].Asked = 5000, true }},
	})
}
