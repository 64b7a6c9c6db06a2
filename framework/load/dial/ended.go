package dial

import (
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Ended reports whether the server has ended a connection on which nothing is asked. It looks without waiting, and leaves what is there
// for the next read. The error is how the connection broke, if it was not in order: Linux tells of a reset only once.
func Ended(c net.Conn) (over bool, broke error) {
	direct, is := c.(syscall.Conn)
	if !is {
		return false, nil
	}
	raw, err := direct.SyscallConn()
	if err != nil {
		return true, nil
	}
	err = raw.Read(func(fd uintptr) bool {
		var one [1]byte
		n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		over = err == nil && n == 0
		if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			broke = os.NewSyscallError("read", err)
		}
		return true
	})
	return over || broke != nil || err != nil, broke
}
