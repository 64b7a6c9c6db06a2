package dial

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Ended reports whether the server has ended a connection on which nothing is asked. It looks without waiting, and leaves what is there
// for the next read.
func Ended(c net.Conn) bool {
	direct, is := c.(syscall.Conn)
	if !is {
		return false
	}
	raw, err := direct.SyscallConn()
	if err != nil {
		return true
	}
	over := false
	err = raw.Read(func(fd uintptr) bool {
		var one [1]byte
		n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		over = err == nil && n == 0 || err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
		return true
	})
	return over || err != nil
}
