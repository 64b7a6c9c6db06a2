package rows

import (
	"errors"
	"math"
)

var (
	errNoNumber = errors.New("is not a whole number")
	errTooLarge = errors.New("is too large a number")
	errNoFlag   = errors.New("is neither 0 nor 1")
	errFields   = errors.New("too many or too few fields")
	errQuotes   = errors.New("quotes do not match")
)

// parseCount reads digits up to stop.
func parseCount(to *uint64, data []byte, stop byte) (int, error) {
	const safe = 19 // 19 digits always fit into a uint64
	var n uint64
	i := 0
	for i < len(data) && i < safe && data[i]-'0' <= 9 {
		n = n*10 + uint64(data[i]-'0')
		i++
	}
	for ; i >= safe && i < len(data) && data[i]-'0' <= 9; i++ {
		digit := uint64(data[i] - '0')
		if i > safe || n > (math.MaxUint64-digit)/10 {
			return 0, errTooLarge
		}
		n = n*10 + digit
	}
	if i == 0 {
		return 0, errNoNumber
	}
	if i == len(data) || data[i] != stop {
		return 0, wrongStop(data[i:], errNoNumber)
	}
	*to = n
	return i + 1, nil
}

// wrongStop distinguishes a wrong number of fields from a malformed field.
func wrongStop(rest []byte, otherwise error) error {
	if len(rest) > 0 && (rest[0] == ',' || rest[0] == '\n') {
		return errFields
	}
	return otherwise
}

func parseSigned(to *int64, data []byte, stop byte) (int, error) {
	negative := len(data) > 0 && data[0] == '-'
	sign := 0
	limit := uint64(math.MaxInt64)
	if negative {
		sign, limit = 1, limit+1
	}
	var n uint64
	used, err := parseCount(&n, data[sign:], stop)
	if err != nil {
		return 0, err
	}
	if n > limit {
		return 0, errTooLarge
	}
	*to = int64(n)
	if negative {
		*to = -*to
	}
	return used + sign, nil
}

func parseNumber(to *int, data []byte, stop byte) (int, error) {
	var n int64
	used, err := parseSigned(&n, data, stop)
	if err != nil {
		return 0, err
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, errTooLarge
	}
	*to = int(n)
	return used, nil
}

func parseFlag(to *bool, data []byte, stop byte) (int, error) {
	if len(data) < 2 || data[0] != '0' && data[0] != '1' {
		return 0, errNoFlag
	}
	if data[1] != stop {
		return 0, wrongStop(data[1:], errNoFlag)
	}
	*to = data[0] == '1'
	return 2, nil
}

// parseText finds the text up to stop. The result points into data unless quotes had to be removed.
func parseText(data []byte, stop byte) (text []byte, hash uint32, used int, err error) {
	if len(data) > 0 && data[0] == '"' {
		return parseQuoted(data, stop)
	}
	for i, c := range data {
		if c == stop {
			return data[:i], hash, i + 1, nil
		}
		if c == ',' || c == '\n' {
			return nil, 0, 0, errFields
		}
		hash = hash*hashFactor + uint32(c)
	}
	return nil, 0, 0, errFields
}

// hashFactor gives names that differ in a single character different hashes.
const hashFactor = 31

func parseQuoted(data []byte, stop byte) (text []byte, hash uint32, used int, err error) {
	for i := 1; i+1 < len(data) && data[i] != '\n'; i++ {
		if data[i] == '"' {
			if data[i+1] == stop {
				return text, hash, i + 2, nil
			}
			if data[i+1] != '"' {
				break
			}
			i++
		}
		text = append(text, data[i])
		hash = hash*hashFactor + uint32(data[i])
	}
	return nil, 0, 0, errQuotes
}
