package budget

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// TestDesiredHealthy has the values of the disruption controller.
func TestDesiredHealthy(t *testing.T) {
	for _, s := range []struct {
		min, max string
		expected int
		want     int
	}{
		{"", "", 6, 0}, {"4", "", 6, 4}, {"9", "", 6, 9}, {"50%", "", 7, 4}, {"0%", "", 7, 0}, {"100%", "", 7, 7}, {"1%", "", 7, 1},
		{"", "1", 6, 5}, {"", "9", 6, 0}, {"", "0", 6, 6}, {"", "30%", 7, 4}, {"", "1%", 7, 6}, {"", "100%", 7, 0}, {"", "34%", 3, 1},
	} {
		got, err := desiredHealthy(history.Budget{MinAvailable: s.min, MaxUnavailable: s.max}, s.expected)
		if err != nil || got != s.want {
			t.Errorf("minAvailable %q, maxUnavailable %q of %d: %d, %v, want %d", s.min, s.max, s.expected, got, err, s.want)
		}
	}
	for _, bad := range []string{"x", "-1", "5 %", "%", "1.5"} {
		if n, err := desiredHealthy(history.Budget{MinAvailable: bad}, 6); err == nil {
			t.Errorf("%q is %d", bad, n)
		}
	}
}
