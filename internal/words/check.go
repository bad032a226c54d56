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

// optionGroups are the labels that are the options of one question, so that they must differ.
var optionGroups = [][]Key{
	{ButtonYes, ButtonNo, ButtonAlways},
	{ButtonApprove, ButtonReject},
	{ButtonRetry, ButtonSkip, ButtonAbort},
	// Links and forms of ACP agents.
	{ButtonDone, ButtonSkip, ButtonCancel},
	{ButtonYes, ButtonNo, ButtonSkip, ButtonCancel},
	// Settings of ACP agents.
	{SettingOn, SettingOff},
	// Permissions of ACP agents.
	{ButtonAllowOnce, ButtonAllowAlways, ButtonReject, ButtonNever},
	{ButtonAllowOnce, ButtonAllowCommands, ButtonReject},
	{ButtonAllowOnce, ButtonAllowWriting, ButtonReject},
	{ButtonAllowOnce, ButtonAllowReading, ButtonReject},
}

// SplitOverride splits the name of an override into its key and its language; "": all languages.
func SplitOverride(name string) (Key, Language) {
	key, language, _ := strings.Cut(name, ".")
	return Key(key), Language(language)
}

// CheckOverride returns what is wrong with one of the overrides, which is of a known text; "":
// nothing.
func CheckOverride(name string, overrides map[string]string) string {
	key, language := SplitOverride(name)
	text := overrides[name]
	if language != "" && !slices.Contains(Languages(), language) {
		return fmt.Sprintf("there is no language %q; use %s or %s", string(language), English, German)
	}
	if strings.TrimSpace(text) == "" {
		return "must not be blank"
	}
	if limit := maxLength(key); utf8.RuneCountInString(text) > limit {
		return fmt.Sprintf("must have at most %d characters", limit)
	}
	known := placeholders(Template(key, English))
	for _, p := range parse(text) {
		if mistake := checkPlaceholder(p, known); mistake != "" {
			return mistake
		}
	}
	if must := required[key]; must != "" && !slices.Contains(placeholders(text), must) {
		return fmt.Sprintf("must contain {%s}", must)
	}
	if same := sameOption(key, overrides); same != "" {
		return fmt.Sprintf("must differ from %s, which is an option of the same question", same)
	}
	return ""
}

// sameOption returns another option of the same question that has the same label in some language;
// "": there is none.
func sameOption(key Key, overrides map[string]string) Key {
	for _, group := range optionGroups {
		if !slices.Contains(group, key) {
			continue
		}
		for _, l := range Languages() {
			w := Words{l, overrides}
			for _, other := range group {
				if other != key && strings.EqualFold(strings.TrimSpace(w.Text(other)), strings.TrimSpace(w.Text(key))) {
					return other
				}
			}
		}
	}
	return ""
}

// checkPlaceholder returns what is wrong with a part of a text; "": nothing.
func checkPlaceholder(p placeholder, known []string) string {
	switch {
	case p.literal != "":
		if strings.ContainsAny(p.literal, "{}") {
			return "has a brace without its partner"
		}
	case p.name == "":
		return fmt.Sprintf("has the placeholder {%s}, which has no name; %s", p.source, describePlaceholders(known))
	case !slices.Contains(known, p.name):
		return fmt.Sprintf("has the unknown placeholder {%s}; %s", p.name, describePlaceholders(known))
	case strings.Contains(p.source, "|") && !p.plural:
		return fmt.Sprintf("has the placeholder {%s}; write {%s|one|other} for two forms of a word", p.source, p.name)
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
