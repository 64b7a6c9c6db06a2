package appcheck

import "golang.org/x/sys/unix"

// memory is that of this machine, in bytes.
func memory() (bytes int64, known bool) {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0, false
	}
	return int64(info.Totalram) * int64(info.Unit), true
}
