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

func TestUpstreamsTakeTurns(t *testing.T) {
	p := newPool("c", "a", "b", "a") // order and duplicates do not matter
	if got, want := picks(p, 10), "a b c b c a c a b a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p.set(nil)
	if got := picks(p, 1); got != "none" {
		t.Errorf("an empty pool: got %s", got)
	}
	if !p.ready() || new(pool).ready() {
		t.Error("a pool must be ready exactly when its upstreams are known, even if there are none")
	}
}

// TestTwoLanesMeetAllUpstreams: lanes with the same rate alternate.
func TestTwoLanesMeetAllUpstreams(t *testing.T) {
	for _, addresses := range []string{"a b", "a b c", "a b c d e f"} {
		p := newPool(strings.Fields(addresses)...)
		met := [2]map[string]int{{}, {}}
		for i := range 2 * 72 {
			met[i%2][p.pick(nil).address]++
		}
		for lane, counts := range met {
			for _, a := range strings.Fields(addresses) {
				if want := 72 / len(p.members); counts[a] != want {
					t.Errorf("of %s lane %d met %s %d times in 72, want %d", addresses, lane, a, counts[a], want)
				}
			}
		}
	}
}

func TestPickPrefers(t *testing.T) {
	p := newPool("a", "b", "c", "d")
	a, b, c, d := p.find("a"), p.find("b"), p.find("c"), p.find("d")
	b.unhealthy, b.bad = true, 2
	c.ejected, c.bad = time.Now().Add(time.Hour), 1
	d.bad = 3
	pick := func(tried ...*upstream) string {
		p.turn = 0
		return p.pick(tried).address
	}
	for what, got := range map[string]string{
		"usable, not tried: a":    pick(d),
		"usable, not tried: d":    pick(a, b),
		"usable, failed least: a": pick(a, d),
	} {
		if _, want, _ := strings.Cut(what, ": "); got != want {
			t.Errorf("%s: got %s", what, got)
		}
	}
	a.bad = 4
	if got := pick(a, d, a); got != "d" {
		t.Errorf("when a failed more often than d: got %s, want d", got)
	}
	a.unhealthy, d.unhealthy = true, true
	if got := pick(); got != "c" {
		t.Errorf("when none is usable: got %s, want c, which failed least", got)
	}
	p.answered(b, true)
	if got := pick(b); got != "b" {
		t.Errorf("when b was well again: got %s, want b", got)
	}
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

func TestSetKeepsWhatIsKnown(t *testing.T) {
	p := newPool("a", "b")
	p.checked(p.find("a"), false)
	p.checked(p.find("a"), false)
	p.set([]string{"a", "c"})
	if p.find("a").usable(time.Now()) {
		t.Error("upstream a lost its state: it was unhealthy")
	}
	p.set([]string{"c"})
	p.set([]string{"a", "c"})
	if !p.find("a").usable(time.Now()) {
		t.Error("upstream a, removed and added again, kept its old state")
	}
}
