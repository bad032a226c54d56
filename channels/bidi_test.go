package channels_test

import (
	"strings"
	"testing"

	"nanobot/channels"
)

func TestBidiControlsOfATextAffectNoOtherText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"plain text", "plain text"},
		{"שלום עולם! (1)", "שלום עולם! (1)"},
		{"قال \u2067\u200fمرحبا\u2069 ثم", "قال \u2067\u200fمرحبا\u2069 ثم"},
		{"a \u202bשלום\u202c b", "a \u202bשלום\u202c b"},
		{"\u2068a \u202bb\u202c\u2069", "\u2068a \u202bb\u202c\u2069"},
		{"if \u202eabc\u202c", "if ⟨U+202E⟩abc"},
		{"\u202dabc", "⟨U+202D⟩abc"},
		{"a\u2067b\nc", "a\u2067b\u2069\nc"},
		{"a\u2067\u202bb", "a\u2067\u202bb\u202c\u2069"},
		{"a\u2069b\u202c", "ab"},
		{"a\u2067b\u202cc\u2069", "a\u2067bc\u2069"},
		{"a\u2067b\nc\u2069", "a\u2067b\u2069\nc"},
		{"a\u202bb\u2028c", "a\u202bb\u202c\u2028c"},
		{"bad \xff\u202e", "bad \uFFFD⟨U+202E⟩"},
	} {
		got := channels.SanitizeBidiText(c.text)
		if got != c.want {
			t.Errorf("%+q becomes %+q, want %+q", c.text, got, c.want)
		}
		if again := channels.SanitizeBidiText(got); again != got {
			t.Errorf("%+q becomes %+q the second time", got, again)
		}
	}
}

func TestANameHasNoBidiControls(t *testing.T) {
	for name, want := range map[string]string{
		"photo\u202egnp.exe": "photognp.exe", "\u200ftxt.\u200fexe": "txt.exe", "a\u2067\u2068\u2069\u2066b\u061c\u202a\u202b\u202c\u202d.pdf": "ab.pdf",
		"תמונה.png": "תמונה.png", "👨‍👩‍👧.png": "👨‍👩‍👧.png",
	} {
		if got := channels.StripBidi(name); got != want {
			t.Errorf("%+q becomes %+q, want %+q", name, got, want)
		}
	}
}

func TestSanitizeBidiDoesNotChangeItsArgument(t *testing.T) {
	m := channels.Message{
		Text: "a\u202eb", Media: []channels.File{{Name: "a.png"}, {Name: "x\u202egnp.exe", Path: "/tmp/x\u202egnp.exe"}},
		Buttons: []channels.Button{{Label: "Yes", Data: "1"}, {Label: "N\u202eo", Data: "2\u202e"}},
	}
	got := channels.SanitizeBidi(m)
	if got.Text != "a⟨U+202E⟩b" || got.Media[1].Name != "xgnp.exe" || got.Media[1].Path != "/tmp/x\u202egnp.exe" || got.Buttons[1].Label != "N⟨U+202E⟩o" || got.Buttons[1].Data != "2\u202e" {
		t.Errorf("it becomes %+v", got)
	}
	if m.Media[1].Name != "x\u202egnp.exe" || m.Buttons[1].Label != "N\u202eo" {
		t.Errorf("the message became %+v", m)
	}
}

// Twice the text may take at most a few times the memory, whatever the text consists of.
func TestMemoryOfSanitizingAndLinkWarningsIsLinear(t *testing.T) {
	for _, unit := range []string{"\u202e", "\u2067", "\u2069", "\u202b\u2067", "\u2067\n", "a"} {
		text := strings.Repeat(unit, 100_000)
		if got := channels.SanitizeBidiText(text); len(got) > 8*len(text) {
			t.Errorf("%+q grows from %d to %d bytes", unit, len(text), len(got))
		}
	}
	word := strings.Repeat("a.b", 5000)
	links := make([]channels.Link, 0, len(word)/3)
	for i := 0; i < len(word); i += 3 {
		links = append(links, channels.Link{Start: i, End: i + 3, Target: "https://evil.example"})
	}
	if notes := channels.LinkWarnings(word, links); len(notes) != len(links) {
		t.Errorf("%d notes for %d links", len(notes), len(links))
	}
}
