package engine

import "golang.org/x/sys/unix"

func mountOverProc() error { return unix.Mount("probe", "/proc", "tmpfs", 0, "") }
