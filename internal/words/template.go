package words

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// A text has placeholders in braces: {name} is replaced by a value, and {name|one|other} by "one"
// if the language uses its singular for the value, as English does for 1, else by "other".

// placeholder is a part of a text: literal text, or a placeholder with its name and, in source,
// what is between its braces.
type placeholder struct {
	literal    string
	source     string
	name       string
	one, other string
	plural     bool
}

// parse splits a text into its parts. A brace without its partner is literal text.
func parse(text string) []placeholder {
	var parts []placeholder
	for text != "" {
		start := strings.IndexByte(text, '{')
		length := strings.IndexByte(text[max(start, 0):], '}')
		if start < 0 || length < 0 {
			return append(parts, placeholder{literal: text})
		}
		if start > 0 {
			parts = append(parts, placeholder{literal: text[:start]})
		}
		source := text[start+1 : start+length]
		forms := strings.Split(source, "|")
		p := placeholder{name: forms[0], source: source}
		if len(forms) == 3 {
			p.plural, p.one, p.other = true, forms[1], forms[2]
		}
		parts = append(parts, p)
		text = text[start+length+1:]
	}
	return parts
}

// placeholders returns the names of a text's placeholders, each once, in order.
func placeholders(text string) []string {
	if !strings.Contains(text, "{") {
		return nil
	}
	var names []string
	for _, p := range parse(text) {
		if p.name != "" && !slices.Contains(names, p.name) {
			names = append(names, p.name)
		}
	}
	return names
}

// fill replaces the placeholders of a text in a language. names and values correspond.
func fill(l Language, text string, names []string, values []any) string {
	if !strings.Contains(text, "{") {
		return text
	}
	var b strings.Builder
	for _, p := range parse(text) {
		at := slices.Index(names, p.name)
		switch {
		case p.name == "":
			b.WriteString(p.literal)
		case at < 0 || at >= len(values):
		case p.plural && isSingular(l, values[at]):
			b.WriteString(p.one)
		case p.plural:
			b.WriteString(p.other)
		default:
			fmt.Fprint(&b, values[at])
		}
	}
	return b.String()
}

// isSingular reports whether a language uses the singular for a number.
func isSingular(l Language, number any) bool {
	n, err := strconv.ParseUint(fmt.Sprint(number), 10, 31) // MatchPlural panics for negative numbers
	return err == nil && plural.Cardinal.MatchPlural(language.Make(string(l)), int(n), 0, 0, 0, 0) == plural.One
}
