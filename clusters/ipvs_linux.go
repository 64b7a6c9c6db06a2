package clusters

import (
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// KernelHasIPVS returns nil if the kernel of this machine, which nodes in containers share, supports IPVS. Otherwise the error
// wraps the kernel's errno, ENOENT for an unknown generic netlink family. A kernel with IPVS as a module loads the module to
// answer.
//
// Source: https://docs.kernel.org/userspace-api/netlink/intro.html#resolving-the-family-id
func KernelHasIPVS() error { return kernelHas("IPVS") }

// familyName is CTRL_ATTR_FAMILY_NAME of linux/genetlink.h, and getFamily is CTRL_CMD_GETFAMILY.
const (
	familyName = 2
	getFamily  = 3
)

// kernelHas resolves a generic netlink family by name.
func kernelHas(family string) error {
	connection, err := netlink.Dial(unix.NETLINK_GENERIC, nil)
	if err != nil {
		return fmt.Errorf("ask the kernel for %s: %w", family, err)
	}
	defer connection.Close() //nolint:errcheck // nothing was written to it
	name, err := netlink.MarshalAttributes([]netlink.Attribute{{Type: familyName, Data: append([]byte(family), 0)}})
	if err == nil {
		_, err = connection.Execute(netlink.Message{
			Header: netlink.Header{Type: unix.GENL_ID_CTRL, Flags: netlink.Request}, Data: append([]byte{getFamily, 1, 0, 0}, name...),
		})
	}
	if err != nil {
		return fmt.Errorf("ask the kernel for %s: %w", family, err)
	}
	return nil
}
