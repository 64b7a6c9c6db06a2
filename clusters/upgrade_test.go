package clusters

import (
	"strings"
	"testing"
)

func TestCheckUpgrade(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{"v1.36.3", "v1.37.0", ""},
		{"v1.37.0", "v1.37.1", ""},
		{"v1.9.9", "v1.10.0", ""}, // compared as numbers, not as text
		{"v1.37.0", "v1.37.0", "upgrade from v1.37.0 to v1.37.0: that is the same version"},
		{"v1.37.0", "v1.36.3", "upgrade from v1.37.0 to v1.36.3: that is a downgrade, which Kubernetes does not support: make a new cluster of the older version"},
		{"v1.37.1", "v1.37.0", "that is a downgrade"},
		{"v1.35.4", "v1.37.0", "upgrade from v1.35.4 to v1.37.0: that skips v1.36, and kubeadm goes up by one minor version at a time: upgrade to the newest v1.36 first"},
		{"v1.34.4", "v1.37.0", "that skips v1.35 to v1.36"},
		{"1.36.3", "v1.37.0", `kubernetes version "1.36.3": want v1.MINOR.PATCH, such as v1.37.0; 'holdfast image versions' lists what there is`},
		{"v1.36.3", "", `kubernetes version "": want v1.MINOR.PATCH, such as v1.37.0; 'holdfast image versions' lists what there is`},
	} {
		err := CheckUpgrade(tt.from, tt.to)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("from %q to %q:\ngot  %v\nwant %s", tt.from, tt.to, err, tt.want)
		}
	}
}
