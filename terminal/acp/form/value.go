package form

import (
	"encoding/json"
	"math"
	"net/mail"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"nanobot/internal/lazyregexp"
	"nanobot/internal/words"
)

// parseWritten returns the value of a text or number that a person wrote, or what is wrong with it.
func (q fieldQuestion) parseWritten(said string) (value any, mistake string) {
	switch q.Type {
	case "integer":
		n, err := strconv.ParseInt(plainNumber(said, q.view.Words().Language()), 10, 64)
		if err != nil {
			return nil, q.text(words.FieldNotInteger)
		}
		return n, q.checkRange(float64(n))
	case "number":
		n, err := strconv.ParseFloat(plainNumber(said, q.view.Words().Language()), 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
			return nil, q.text(words.FieldNotNumber)
		}
		return n, q.checkRange(n)
	}
	return said, q.checkText(said)
}

// groupedNumbers match numbers with separators of thousands, by language.
var groupedNumbers = map[words.Language]func() *regexp.Regexp{
	words.English: lazyregexp.New(`^[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?$`),
	words.German:  lazyregexp.New(`^[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})+(,[0-9]+)?$`),
}

// plainNumber returns a number that a person wrote without separators of thousands and with a
// decimal point: 1.000 is a thousand in German and one in English. Other numbers may have a decimal
// comma in any language.
func plainNumber(said string, language words.Language) string {
	if grouped := groupedNumbers[language]; grouped != nil && grouped().MatchString(said) {
		separator := ","
		if language == words.German {
			separator = "."
		}
		said = strings.ReplaceAll(said, separator, "")
	}
	return strings.Replace(said, ",", ".", 1)
}

// checkRange returns what is wrong with a number.
func (q fieldQuestion) checkRange(n float64) string {
	if low, ok := limitOf(q.Minimum); ok && n < low {
		return q.text(words.FieldTooSmall, q.Minimum.String())
	}
	if high, ok := limitOf(q.Maximum); ok && n > high {
		return q.text(words.FieldTooLarge, q.Maximum.String())
	}
	return ""
}

// limitOf returns a limit of a number, if there is one.
func limitOf(n *json.Number) (float64, bool) {
	if n == nil {
		return 0, false
	}
	limit, err := n.Float64()
	return limit, err == nil
}

// checkText returns what is wrong with a text.
func (q fieldQuestion) checkText(said string) string {
	length := utf8.RuneCountInString(said)
	switch {
	case q.MinLength != nil && length < *q.MinLength:
		return q.text(words.FieldTooShort, *q.MinLength)
	case q.MaxLength != nil && length > *q.MaxLength:
		return q.text(words.FieldTooLong, *q.MaxLength)
	case !hasPattern(said, q.Pattern.V):
		return q.text(words.FieldNotPattern)
	}
	if check, known := textFormats[q.Format.V]; known && !check.valid(said) {
		return q.text(check.mistake)
	}
	return ""
}

// hasPattern reports whether a text matches a regular expression. Expressions that exist only in
// ECMAScript are left to the agent.
func hasPattern(said, pattern string) bool {
	expression, err := regexp.Compile(pattern)
	return err != nil || expression.MatchString(said)
}

// textFormats are the formats of texts that are checked, and the mistakes.
var textFormats = map[string]struct {
	valid   func(string) bool
	mistake words.Key
}{
	"email": {
		func(s string) bool { a, err := mail.ParseAddress(s); return err == nil && a.Address == s },
		words.FieldNotEmail,
	},
	"uri":       {func(s string) bool { u, err := url.Parse(s); return err == nil && u.IsAbs() }, words.FieldNotLink},
	"date":      {func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil }, words.FieldNotDate},
	"date-time": {func(s string) bool { _, err := time.Parse(time.RFC3339, s); return err == nil }, words.FieldNotTime},
}
