// Package intern keeps one copy of what many values have in common, so that a long record fits into memory.
package intern

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Pool has the copies. The zero value is ready. It is not safe for use by several goroutines.
type Pool struct {
	texts map[string]string
	sets  map[string]map[string]string
	raw   map[string]json.RawMessage
}

// Texts replaces texts by shared ones.
func (p *Pool) Texts(texts ...*string) {
	for _, t := range texts {
		shared, known := p.texts[*t]
		if !known {
			shared = strings.Clone(*t)
			put(&p.texts, shared, shared)
		}
		*t = shared
	}
}

// Set is a shared map of the same content. It is read-only.
func (p *Pool) Set(of map[string]string) map[string]string {
	if len(of) == 0 {
		return of
	}
	var key strings.Builder
	for _, k := range slices.Sorted(maps.Keys(of)) {
		key.WriteString(k + "\x00" + of[k] + "\x00")
	}
	if shared, known := p.sets[key.String()]; known {
		return shared
	}
	shared := make(map[string]string, len(of))
	for k, v := range of {
		p.Texts(&k, &v)
		shared[k] = v
	}
	put(&p.sets, key.String(), shared)
	return shared
}

// JSON is a shared message of the same content. It is read-only.
func (p *Pool) JSON(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	if shared, known := p.raw[string(raw)]; known {
		return shared
	}
	shared := slices.Clip(slices.Clone(raw))
	put(&p.raw, string(raw), shared)
	return shared
}

func put[V any](in *map[string]V, key string, value V) {
	if *in == nil {
		*in = make(map[string]V)
	}
	(*in)[key] = value
}
