package nodeimage

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// What compressed content begins with.
//
// Source: RFC 8878, section 3.1.1; RFC 1952, section 2.3.1
var (
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	gzipMagic = []byte{0x1f, 0x8b}
)

// openSaved returns the content of a file, decompressed. Reading ends with ctx.
func openSaved(ctx context.Context, name string) (io.ReadCloser, error) {
	savedFile, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	content, end, err := decompressed(endsWith{ctx, savedFile})
	if err != nil {
		return nil, errors.Join(unreadable(err, true), savedFile.Close())
	}
	return &openedSaved{content, func() error { end(); return savedFile.Close() }}, nil
}

type openedSaved struct {
	io.Reader
	close func() error
}

func (o *openedSaved) Close() error { return o.close() }

// decompressed is content without its compression, if it has one. Call end when it was read.
func decompressed(content io.Reader) (plain io.Reader, end func(), err error) {
	ahead := bufio.NewReaderSize(content, 1<<16)
	magic, _ := ahead.Peek(len(zstdMagic)) // what is shorter is not compressed; another error comes again when it is read
	switch {
	case bytes.Equal(magic, zstdMagic):
		unpacked, err := zstd.NewReader(ahead)
		if err != nil {
			return nil, nil, err
		}
		return unpacked, unpacked.Close, nil
	case bytes.HasPrefix(magic, gzipMagic):
		unpacked, err := gzip.NewReader(ahead)
		if err != nil {
			return nil, nil, err
		}
		return unpacked, func() {}, nil
	}
	return ahead, func() {}, nil
}

// endsWith is a reader that fails when its context has ended.
type endsWith struct {
	ctx context.Context
	io.Reader
}

func (r endsWith) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}
