package engine

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// ProbeCommand is the subcommand of holdfast that calls Probe. It is the only command of a proof's container.
const ProbeCommand = "probe"

// ProbeRefused is the exit status of ProbeCommand if Probe returns an error. Other exit statuses mean that the command did not
// get that far.
const ProbeRefused = 10

// Probe mounts a file system over /proc, which requires a privileged container. It does nothing unless this process is the first
// process of a container, so that it cannot change the machine.
func Probe() error {
	if os.Getpid() != 1 {
		return errors.New("is not alone: only the first process of a container may probe it")
	}
	if err := mountOverProc(); err != nil {
		return fmt.Errorf("may not mount: %w", err)
	}
	return nil
}

// rootFS is a tar archive of a root file system that contains only the program /name.
func rootFS(name, program string) (archive io.Reader, err error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("make the root file system of the probe: %w", err)
	}
	var packed bytes.Buffer
	out := tar.NewWriter(&packed)
	err = out.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))})
	if err == nil {
		_, err = out.Write(content)
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return nil, fmt.Errorf("make the root file system of the probe: %w", err)
	}
	return &packed, nil
}
