package reports

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-ha/holdfast/reports/words"
)

// Measure is a number of a verdict in words, beside the limit that the promise sets to it.
type Measure struct {
	Name  string // such as "slowest, fresh"
	Value string // such as "870 ms"
	Limit string // such as "at most 2 s"; empty if the promise sets no limit
}

// Limited are the numbers that the promise limits.
func (v Verdict) Limited() (list []Measure) {
	for _, key := range slices.Sorted(maps.Keys(v.Limits)) {
		number, measured := v.Numbers[key]
		if !measured {
			continue
		}
		m := measure(key, number)
		if limit := v.Limits[key]; limit.AtMost != nil {
			m.Limit = "at most " + measure(key, *limit.AtMost).Value
		} else if limit.AtLeast != nil {
			m.Limit = "at least " + measure(key, *limit.AtLeast).Value
		}
		list = append(list, m)
	}
	return list
}

// Others are the numbers that the promise does not limit.
func (v Verdict) Others() (list []Measure) {
	for _, key := range slices.Sorted(maps.Keys(v.Numbers)) {
		if _, limited := v.Limits[key]; !limited {
			list = append(list, measure(key, v.Numbers[key]))
		}
	}
	return list
}

// measure writes a number in the unit that its name ends in: "lagP99Seconds.fresh" is the duration "lag p99, fresh".
func measure(key string, number float64) Measure {
	key, of, _ := strings.Cut(key, ".")
	value := words.Number(number)
	if stem, isDuration := strings.CutSuffix(key, "Seconds"); isDuration {
		key, value = stem, words.Brief(time.Duration(number*float64(time.Second)))
	} else if stem, isShare := strings.CutSuffix(key, "Share"); isShare && number >= 0 && number <= 1 {
		key, value = stem+"Share", words.Percent(number)
	}
	var name strings.Builder
	for _, letter := range key {
		if unicode.IsUpper(letter) {
			name.WriteByte(' ')
		}
		name.WriteRune(unicode.ToLower(letter))
	}
	if of != "" {
		name.WriteString(", " + of)
	}
	return Measure{Name: name.String(), Value: value}
}

// String is the number in one phrase: "slowest, fresh 870 ms (at most 2 s)".
func (m Measure) String() string {
	if m.Limit == "" {
		return m.Name + " " + m.Value
	}
	return m.Name + " " + m.Value + " (" + m.Limit + ")"
}
