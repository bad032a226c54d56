package words

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// sameInGerman are the texts whose words are the same in English and German, or which have none.
var sameInGerman = []Key{PageChat, PageChats, StatusAgent, StatusCPU, StatusMemory, StatusTurn}

func TestEveryTextIsCompleteInEveryLanguage(t *testing.T) {
	for _, key := range Keys() {
		want := placeholders(Template(key, English))
		for _, l := range Languages() {
			got := Template(key, l)
			if strings.TrimSpace(got) == "" {
				t.Errorf("%s is empty in %s", key, l)
			}
			if mistake := CheckOverride(string(key)+"."+string(l), map[string]string{string(key) + "." + string(l): got}); mistake != "" {
				t.Errorf("%s in %s %s", key, l, mistake)
			}
			for _, name := range want {
				if !slices.Contains(placeholders(got), name) {
					t.Errorf("%s in %s lacks {%s}", key, l, name)
				}
			}
			if n := utf8.RuneCountInString(got); strings.HasPrefix(string(key), "button") && len(want) == 0 && n > 40 {
				t.Errorf("%s in %s has %d characters, which is long for a button", key, l, n)
			}
			if strings.HasSuffix(got, " ") {
				t.Errorf("%s in %s ends with a blank", key, l)
			}
		}
		en, de := Template(key, English), Template(key, German)
		if en == de != slices.Contains(sameInGerman, key) {
			t.Errorf("%s is %q in English and %q in German; sameInGerman lists the texts that are rightly equal", key, en, de)
		}
		if key == "" || strings.ContainsAny(string(key), ". ") {
			t.Errorf("%q is no name of an override", key)
		}
	}
}

func TestALanguageDecidesWhichNumbersAreSingular(t *testing.T) {
	for l, singular := range map[Language][]any{English: {1, "1", int64(1)}, German: {1, "1", int64(1)}, "fr": {0, 1, "1", int64(1)}} {
		for _, number := range []any{0, 1, "1", int64(1), 2, 11, 21, -1, "1.0", "many"} {
			if got, want := isSingular(l, number), slices.Contains(singular, number); got != want {
				t.Errorf("%#v is singular in %s: %v, want %v", number, l, got, want)
			}
		}
	}
}
