package words

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxLabel is the length of a button's label, and maxHelp that of a command's description, in
	// runes. Discord allows 80 and 100.
	maxLabel, maxHelp = 80, 100
	// maxText is the length of any other text, in runes.
	maxText = 1000
)

// required are the placeholders without which a text would be useless.
var required = map[Key]string{PairingCode: "code"}

// SplitOverride splits the name of an override into its key and its language; "": all languages.
func SplitOverride(name string) (Key, Language) {
	key, language, _ := strings.Cut(name, ".")
	return Key(key), Language(language)
}

// CheckOverride returns what is wrong with the value of an override of a known text; "": nothing.
func CheckOverride(name, text string) string {
	key, language := SplitOverride(name)
	if language != "" && !slices.Contains(Languages(), language) {
		return fmt.Sprintf("there is no language %q; use %s or %s", string(language), English, German)
	}
	if strings.TrimSpace(text) == "" {
		return "must not be blank"
	}
	if limit := maxLength(key); utf8.RuneCountInString(text) > limit {
		return fmt.Sprintf("must have at most %d characters", limit)
	}
	known := placeholders(texts[key].en)
	for _, p := range parse(text) {
		switch {
		case p.name == "" && strings.ContainsAny(p.literal, "{}"):
			return "has a brace without its partner"
		case p.name != "" && !slices.Contains(known, p.name):
			return fmt.Sprintf("has the unknown placeholder {%s}; %s", p.name, describePlaceholders(known))
		}
	}
	if must := required[key]; must != "" && !slices.Contains(placeholders(text), must) {
		return fmt.Sprintf("must contain {%s}", must)
	}
	return ""
}

func describePlaceholders(names []string) string {
	if len(names) == 0 {
		return "this text has none"
	}
	return "this text has {" + strings.Join(names, "}, {") + "}"
}

// maxLength returns the limit of a text, in runes.
func maxLength(k Key) int {
	switch {
	case strings.HasPrefix(string(k), "button"):
		return maxLabel
	case strings.HasPrefix(string(k), "help"):
		return maxHelp
	}
	return maxText
}
