//go:build !linux

package appcheck

// memory is not known: that of the nodes is that of the container engine's machine.
func memory() (bytes int64, known bool) { return 0, false }
