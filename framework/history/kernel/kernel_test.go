package kernel

import "testing"

func TestRefused(t *testing.T) {
	for said, want := range map[string]bool{
		"Error: Specified qdisc kind is unknown.": true, "netlink: Error: Could not process rule: Operation not supported": true,
		"tc: not found": false, "No such file or directory": false, "": false,
	} {
		if got := Refused(said); got != want {
			t.Errorf("%q: %t, want %t", said, got, want)
		}
	}
}
