// Package words is the catalogue of the texts that the gateway itself writes to people in chats, in
// English and German. It knows nothing of channels, agents or settings files, and it does not
// contain the texts of logs and commands for operators, which are English.
package words

import (
	"strings"
	"sync/atomic"
)

// Key names a text. Its value is the name under which an operator can override the text.
type Key string

// Language is a language of the catalogue.
type Language string

// The languages of the catalogue.
const (
	English Language = "en"
	German  Language = "de"
)

// Match returns the language of the catalogue for a BCP 47 tag or a POSIX locale, such as "de-AT"
// or "de_AT.UTF-8"; English for any other.
func Match(tag string) Language {
	first, _, _ := strings.Cut(tag, ",")
	primary := strings.FieldsFunc(first, func(r rune) bool { return strings.ContainsRune("-_.@;", r) })
	for _, f := range files {
		if len(primary) > 0 && strings.EqualFold(strings.TrimSpace(primary[0]), string(f.language)) {
			return f.language
		}
	}
	return English
}

// FromEnvironment returns the BCP 47 tag of the language that a person's environment asks for, such
// as "de-DE" for the locale de_DE.UTF-8; "": none. The first variable that is set counts, as in
// POSIX.
func FromEnvironment(getenv func(string) string) string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if value := getenv(name); value != "" {
			return localeTag(value)
		}
	}
	return ""
}

// localeTag returns the BCP 47 tag of a locale, which is language_REGION.encoding@variant; "": of
// none, such as of POSIX.
func localeTag(locale string) string {
	language, _, _ := strings.Cut(locale, "@")
	language, _, _ = strings.Cut(language, ".")
	if language == "C" || language == "POSIX" {
		return ""
	}
	return strings.ReplaceAll(language, "_", "-")
}

// Settings changes the catalogue for one bot.
type Settings struct {
	// Language is used for everybody; "": each person's own.
	Language string
	// Overrides are texts by key, such as "queued", or by key and language, such as "queued.de". An
	// override for a language has precedence.
	Overrides map[string]string
}

// Catalogue chooses the words for a person. A nil Catalogue has no settings.
type Catalogue struct{ settings atomic.Pointer[Settings] }

// New returns a Catalogue with settings.
func New(s Settings) *Catalogue {
	c := &Catalogue{}
	c.Reload(s)
	return c
}

// Reload changes the settings. Words that were chosen before keep the earlier ones.
func (c *Catalogue) Reload(s Settings) { c.settings.Store(&s) }

// For returns the words in a person's language, which is a BCP 47 tag; "": unknown.
func (c *Catalogue) For(language string) Words {
	if c == nil {
		return Words{language: Match(language)}
	}
	s := c.settings.Load()
	if s.Language != "" {
		language = s.Language
	}
	return Words{language: Match(language), overrides: s.Overrides}
}

// Words are the texts in one language. The zero value is English without overrides.
type Words struct {
	language  Language
	overrides map[string]string
}

// Language returns the language of the words.
func (w Words) Language() Language {
	if w.language == "" {
		return English
	}
	return w.language
}

// Text returns a text. The values belong to its placeholders, in the order in which the English
// text first names them.
func (w Words) Text(k Key, values ...any) string {
	return fill(w.Language(), w.Template(k), placeholders(Template(k, English)), values)
}

// Template returns a text with its placeholders, for a program that fills them itself.
func (w Words) Template(k Key) string {
	if len(w.overrides) > 0 {
		for _, name := range []string{string(k) + "." + string(w.Language()), string(k)} {
			if own, ok := w.overrides[name]; ok {
				return own
			}
		}
	}
	return Template(k, w.Language())
}
