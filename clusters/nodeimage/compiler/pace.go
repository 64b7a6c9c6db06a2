package compiler

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// yardstick is a function as compilers meet them. A package of many takes a second to compile, and needs nothing else.
const yardstick = `func f%d(in map[string][]int, text string) (sum int, parts []string) {
	for key, values := range in {
		for i, v := range values {
			switch {
			case v%%2 == 0 && len(key) > i:
				sum += v * len(key[i:])
			case v > 7:
				parts = append(parts, key+text[:v%%(len(text)+1)])
			default:
				defer func() { sum -= v }()
			}
		}
	}
	return sum, parts
}
`

const (
	yardsticks = 600
	// Took is how long the compiler needs for the yardstick on a machine of pace 1.
	Took = 1350 * time.Millisecond
)

// Pace is how many times as long as Took the compiler takes here, which compile calls for a file. It is the better of two tries: the first
// one also reads the compiler from the disk. It is zero if the compiler does not work.
func Pace(compile func(dir, file string) error) (pace float64) {
	dir, err := os.MkdirTemp("", "holdfast-pace-")
	if err != nil {
		return 0
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	var source strings.Builder
	source.WriteString("package yardstick\n\n")
	for i := range yardsticks {
		fmt.Fprintf(&source, yardstick, i)
	}
	file := filepath.Join(dir, "yardstick.go")
	if err := os.WriteFile(file, []byte(source.String()), 0o644); err != nil {
		return 0
	}
	for range 2 {
		begin := time.Now()
		if err := compile(dir, file); err != nil {
			return 0
		}
		if now := float64(time.Since(begin)) / float64(Took); pace == 0 || now < pace {
			pace = now
		}
	}
	return pace
}
