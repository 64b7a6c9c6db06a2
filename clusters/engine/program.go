package engine

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
)

// The proof needs a program to run in a container, but there may be neither a registry nor a compiler. So the program is
// generated here as machine code: it mounts a tmpfs over /proc, which requires a privileged container, and exits with the
// kernel's errno (0: success).

const (
	programBase   = 0x400000 // load address, a multiple of every page size
	programHeader = 64 + 56  // an ELF header and one program header

	machineAMD64 = 62 // EM_X86_64
	machineARM64 = 183
)

// The strings that the program passes to mount.
const (
	mountTarget = "/proc\x00"
	mountType   = "tmpfs\x00"
)

// programFor is a static ELF executable for a Go architecture.
func programFor(arch string) ([]byte, error) {
	switch arch {
	case "amd64":
		return executable(machineAMD64, codeAMD64), nil
	case "arm64":
		return executable(machineARM64, codeARM64), nil
	}
	return nil, fmt.Errorf("prove a privileged container: no probe for %s, only for amd64 and arm64", arch)
}

// codeAMD64 calls mount(target, target, kind, 0, 0) and exit(-result).
func codeAMD64(target, kind uint32) []byte {
	code := []byte{0xb8, 165, 0, 0, 0} // mov eax, mount
	for _, load := range []struct {
		register byte
		address  uint32
	}{{0xbf, target}, {0xbe, target}, {0xba, kind}} { // mov edi, esi, edx
		code = binary.LittleEndian.AppendUint32(append(code, load.register), load.address)
	}
	return append(code,
		0x45, 0x31, 0xd2, // xor r10d, r10d
		0x45, 0x31, 0xc0, // xor r8d, r8d
		0x0f, 0x05, // syscall
		0x89, 0xc7, // mov edi, eax
		0xf7, 0xdf, // neg edi
		0xb8, 60, 0, 0, 0, // mov eax, exit
		0x0f, 0x05) // syscall
}

// codeARM64 calls mount(target, target, kind, 0, 0) and exit(-result).
func codeARM64(target, kind uint32) []byte {
	var code []byte
	put := func(words ...uint32) {
		for _, word := range words {
			code = binary.LittleEndian.AppendUint32(code, word)
		}
	}
	load := func(register, value uint32) { // movz, then movk for the upper half
		put(0xd2800000|(value&0xffff)<<5|register, 0xf2a00000|(value>>16)<<5|register)
	}
	const syscall = 0xd4000001 // svc #0
	load(0, target)
	load(1, target)
	load(2, kind)
	load(3, 0)
	load(4, 0)
	load(8, 40)              // mount
	put(syscall, 0xcb0003e0) // neg x0, x0
	load(8, 93)              // exit
	put(syscall)
	return code
}

// executable wraps code in a minimal ELF file for Linux. The strings follow the code.
func executable(machine uint16, code func(target, kind uint32) []byte) []byte {
	start := uint32(programBase + programHeader)
	target := start + uint32(len(code(0, 0)))
	body := append(code(target, target+uint32(len(mountTarget))), mountTarget+mountType...)
	size := uint64(programHeader + len(body))

	file := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...) // 64 bit, little endian, version 1
	little := binary.LittleEndian
	file = little.AppendUint16(file, 2) // an executable
	file = little.AppendUint16(file, machine)
	file = little.AppendUint32(file, 1)
	file = little.AppendUint64(file, uint64(start))
	file = little.AppendUint64(file, 64) // offset of the program header
	file = little.AppendUint64(file, 0)  // no sections
	file = little.AppendUint32(file, 0)
	for _, half := range []uint16{64, 56, 1, 64, 0, 0} { // sizes and counts of the headers
		file = little.AppendUint16(file, half)
	}
	file = little.AppendUint32(file, 1) // PT_LOAD
	file = little.AppendUint32(file, 5) // PF_R and PF_X
	for _, word := range []uint64{0, programBase, programBase, size, size, 0x10000} {
		file = little.AppendUint64(file, word)
	}
	return append(file, body...)
}

// rootFS is a tar archive of a root file system that contains only the program /name.
func rootFS(name string, program []byte) ([]byte, error) {
	var buffer bytes.Buffer
	archive := tar.NewWriter(&buffer)
	header := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(program))}
	if err := archive.WriteHeader(header); err != nil {
		return nil, fmt.Errorf("write the probe's root file system: %w", err)
	}
	if _, err := archive.Write(program); err != nil {
		return nil, fmt.Errorf("write the probe's root file system: %w", err)
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("write the probe's root file system: %w", err)
	}
	return buffer.Bytes(), nil
}
