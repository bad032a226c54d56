package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"nanobot/internal/lazyregexp"
)

// suggestSpelling, called on the root, returns a hint with the form that a value of the wrong JSON
// type was meant to have: 60 for "60s" where seconds are wanted, ["7"] for "7" where a list is
// wanted. It returns "" if it cannot tell.
func (n typeNode) suggestSpelling(p Problem, got any) string {
	text, isText := got.(string)
	number, isNumber := got.(int64)
	at, _ := n.descend(p.Path)
	around, _ := n.descend(p.Path[:max(0, len(p.Path)-1)])
	switch want := p.want; {
	case want == "integer" && isText:
		if n, ok := parseQuantity(strings.TrimSpace(text), at.unit); ok {
			return "write " + strconv.FormatInt(n, 10)
		}
	case want == "boolean" && isText:
		if word := literalSpellings[strings.ToLower(text)]; word == "true" || word == "false" {
			return "write " + word
		}
	case want == "boolean" && isNumber && (number == 0 || number == 1):
		return "write " + strconv.FormatBool(number == 1)
	case want == "string" && isNumber && isList(around): // most lists are of IDs
		return fmt.Sprintf(`write "%d"`, number)
	case want == "array" && isText && !strings.HasPrefix(text, "["):
		return fmt.Sprintf("write [%q]", truncate(text))
	case want == "array" && isNumber:
		return fmt.Sprintf(`write ["%d"]`, number)
	}
	return ""
}

// quantityPattern matches a number with a unit of time or size.
var quantityPattern = lazyregexp.New(`^(\d+(?:\.\d+)?)\s*([a-zA-Z]*)$`)

// The units in which people write times and sizes, in nanoseconds and in bytes. Most people mean
// powers of 1024 by MB, as memory limits do elsewhere.
var (
	timeUnits = map[string]float64{
		"ms": 1e6, "s": 1e9, "sec": 1e9, "second": 1e9, "m": 60e9, "min": 60e9, "minute": 60e9, "h": 3600e9, "hour": 3600e9,
		"d": 86400e9, "day": 86400e9,
	}
	sizeUnits = map[string]float64{
		"b": 1, "byte": 1, "k": 1 << 10, "kb": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20,
		"g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30,
	}
	// keyUnits are the units of config keys with the table that measures them.
	keyUnits = map[string]struct {
		size  float64
		table map[string]float64
	}{
		"milliseconds": {1e6, timeUnits}, "seconds": {1e9, timeUnits}, "days": {86400e9, timeUnits},
		"bytes": {1, sizeUnits}, "MiB": {1 << 20, sizeUnits},
	}
)

// parseQuantity converts a number that may have a unit to a whole number of another unit. It
// reports false if the text is no number, or the result would not be whole.
func parseQuantity(text, unit string) (int64, bool) {
	m, to := quantityPattern().FindStringSubmatch(text), keyUnits[unit]
	value, found := 0.0, false
	switch d, err := time.ParseDuration(text); {
	case m != nil && m[2] == "":
		n, err := strconv.ParseInt(m[1], 10, 64)
		return n, err == nil
	case m != nil:
		word := strings.ToLower(m[2])
		factor := to.table[word]
		if factor == 0 {
			factor = to.table[strings.TrimSuffix(word, "s")]
		}
		value, _ = strconv.ParseFloat(m[1], 64) // matched the pattern
		value, found = value*factor, factor > 0
	case err == nil && unit != "": // such as 1h30m
		value, found = float64(d), to.table["h"] > 0
	}
	n := value / max(to.size, 1)
	return int64(n), found && n == math.Trunc(n) && n < math.MaxInt32
}
