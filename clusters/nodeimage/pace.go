package nodeimage

import (
	"context"
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
	// yardstickTook is how long the compiler needed for so many on the machine of the durations in forecast.go.
	yardstickTook = 1350 * time.Millisecond
)

// pace is how many times as long a compiler takes on this machine as on that of the durations in forecast.go. It is the better of two
// tries: the first one also reads the compiler from the disk. It is zero if the compiler does not work.
func (g goTool) pace(ctx context.Context) (pace float64) {
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
		_, err := g.run(ctx, call{dir: dir, name: g.path, args: []string{"tool", "compile", "-c=1", "-p", "yardstick", "-o", file + ".o", file}})
		if err != nil {
			return 0
		}
		if now := float64(time.Since(begin)) / float64(yardstickTook); pace == 0 || now < pace {
			pace = now
		}
	}
	return pace
}
