package gateway

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newPool(addresses ...string) *pool {
	o := Options{}.WithDefaults()
	p := &pool{health: o.Health, ejection: o.Ejection}
	p.set(addresses)
	return p
}

// picks returns the addresses of n consecutive picks.
func picks(p *pool, n int) string {
	var all []string
	for range n {
		u := p.pick(nil)
		if u == nil {
			return "none"
		}
		all = append(all, u.address)
	}
	return strings.Join(all, " ")
}

func (p *pool) find(address string) *upstream {
	for _, u := range p.snapshot() {
		if u.address == address {
			return u
		}
	}
	return nil
}

func TestHealth(t *testing.T) {
	tests := map[string]struct {
		checks string // + is a success
		want   bool   // healthy at the end
	}{
		"new":                {"", true},
		"one bad":            {"-", true},
		"two bad":            {"--", false},
		"not in a row":       {"-+-+-", true},
		"one good again":     {"--+", false},
		"two good again":     {"--++", true},
		"good, not in a row": {"--+-+-+", false},
		"down, up, down":     {"--++--", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPool("a")
			for _, check := range test.checks {
				p.checked(p.find("a"), check == '+')
			}
			if got := p.find("a").usable(time.Now()); got != test.want {
				t.Errorf("healthy %v, want %v", got, test.want)
			}
		})
	}
}

func TestEjection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool("a", "b")
		a := p.find("a")
		for _, well := range []bool{false, false, true, false, false} {
			p.answered(a, well)
		}
		if !a.usable(time.Now()) {
			t.Fatal("ejected though it never failed three times in a row")
		}
		p.answered(a, false)
		if got, want := picks(p, 3), "b b b"; got != want {
			t.Errorf("while a is ejected: got %s, want %s", got, want)
		}
		want := []UpstreamStats{{Address: "a", Healthy: true, Ejected: true, Failed: 5}, {Address: "b", Healthy: true, Tries: 3}}
		if diff := cmp.Diff(want, p.stats()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		<-time.After(DefaultEjectFor)
		if got := picks(p, 4); strings.Count(got, "a") != 2 {
			t.Errorf("when the time is up: got %s, want a to have its turns", got)
		}
		p.ejection.Off = true
		for range 10 {
			p.answered(a, false)
		}
		if !a.usable(time.Now()) {
			t.Error("ejected though ejection is off")
		}
	})
}
