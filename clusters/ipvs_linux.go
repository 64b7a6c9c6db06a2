package clusters

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// KernelHasIPVS returns nil if the kernel of this machine, which nodes in containers share, supports IPVS. Otherwise the error
// wraps the kernel's errno, ENOENT for an unknown generic netlink family. A kernel with IPVS as a module loads the module to
// answer.
//
// Source: https://docs.kernel.org/userspace-api/netlink/intro.html#resolving-the-family-id
func KernelHasIPVS() error { return kernelHas("IPVS") }

// familyAttribute is CTRL_ATTR_FAMILY_NAME of linux/genetlink.h, and getFamily is CTRL_CMD_GETFAMILY.
const (
	familyAttribute = 2
	getFamily       = 3
)

// kernelHas resolves a generic netlink family by name.
func kernelHas(family string) error {
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC)
	if err != nil {
		return fmt.Errorf("ask the kernel for %s: %w", family, err)
	}
	defer func() { _ = unix.Close(socket) }()
	if err := unix.Sendto(socket, familyQuestion(family), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("ask the kernel for %s: %w", family, err)
	}
	answer := make([]byte, unix.Getpagesize())
	n, _, err := unix.Recvfrom(socket, answer, 0)
	if err != nil {
		return fmt.Errorf("ask the kernel for %s: %w", family, err)
	}
	return familyAnswer(family, answer[:n])
}

// familyQuestion is a netlink message that asks for the ID of a family.
func familyQuestion(family string) []byte {
	name := append([]byte(family), 0)
	attribute := unix.SizeofNlAttr + len(name)
	size := unix.SizeofNlMsghdr + unix.GENL_HDRLEN + attribute
	q := make([]byte, 0, size+3)
	q = binary.NativeEndian.AppendUint32(q, uint32(size))
	q = binary.NativeEndian.AppendUint16(q, unix.GENL_ID_CTRL)
	q = binary.NativeEndian.AppendUint16(q, unix.NLM_F_REQUEST)
	q = binary.NativeEndian.AppendUint32(q, 1) // sequence number
	q = binary.NativeEndian.AppendUint32(q, 0) // sender's port ID; the kernel fills it in
	q = append(q, getFamily, 1, 0, 0)          // version 1, and two reserved bytes
	q = binary.NativeEndian.AppendUint16(q, uint16(attribute))
	q = binary.NativeEndian.AppendUint16(q, familyAttribute)
	return append(q, name...)
}

// familyAnswer is nil if the answer describes the family. Otherwise it is the error in the answer.
func familyAnswer(family string, answer []byte) error {
	if len(answer) < unix.SizeofNlMsghdr+4 {
		return fmt.Errorf("ask the kernel for %s: answer of %d bytes is too short", family, len(answer))
	}
	if kind := binary.NativeEndian.Uint16(answer[4:]); kind != unix.NLMSG_ERROR {
		return nil
	}
	number := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:]))
	return fmt.Errorf("ask the kernel for %s: %w", family, unix.Errno(-number))
}
