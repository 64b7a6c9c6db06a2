//go:build !linux

package clusters

import "errors"

// KernelHasIPVS returns an error: nodes share the kernel of the machine that the container engine runs on, which is another one here.
func KernelHasIPVS() error {
	return errors.New("the kernel of the nodes is not that of this machine, so that it is not known whether it has IPVS")
}
