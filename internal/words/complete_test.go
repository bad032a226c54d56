package words

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEveryTextIsCompleteInEveryLanguage(t *testing.T) {
	for key, text := range texts {
		want := placeholders(text.en)
		for _, l := range Languages() {
			got := text.in(l)
			if strings.TrimSpace(got) == "" {
				t.Errorf("%s is empty in %s", key, l)
			}
			if mistake := CheckOverride(string(key), got); mistake != "" {
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
		if key == "" || strings.ContainsAny(string(key), ". ") {
			t.Errorf("%q is no name of an override", key)
		}
	}
}

func TestNoKeyIsUsedTwice(t *testing.T) {
	n := 0
	for _, area := range areas {
		n += len(area)
	}
	if n != len(texts) {
		t.Errorf("%d texts have %d keys", n, len(texts))
	}
}
