package environment

import (
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// An address is that of the pod that had it when the request was sent, not of the one that got it later.
func TestAddressesAreThoseOfTheirTime(t *testing.T) {
	p := &podNames{}
	at := func(seconds int) history.Offset { return history.Offset(seconds) * time.Second }
	p.note(at(1), &history.Pod{Name: "web-a", Node: "n1", IP: "10.244.1.2"})
	p.note(at(2), &history.Pod{Name: "web-a", Node: "n1", IP: "10.244.1.2"}) // ready
	p.note(at(9), &history.Pod{Name: "web-b", Node: "n1", IP: "10.244.1.2"})
	for _, test := range []struct {
		ip   string
		at   int
		want string
	}{
		{"10.244.1.2", 0, ""}, {"10.244.1.2", 1, "web-a"}, {"10.244.1.2", 8, "web-a"}, {"10.244.1.2", 9, "web-b"}, {"10.96.0.1", 5, ""},
	} {
		if pod, _ := p.Named(test.ip, at(test.at)); pod != test.want {
			t.Errorf("%s at %ds is %q, want %q", test.ip, test.at, pod, test.want)
		}
	}
	if _, node := p.Named("10.244.1.2", at(5)); node != "n1" {
		t.Errorf("node %q", node)
	}
}
