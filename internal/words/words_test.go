package words_test

import (
	"slices"
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/internal/words"
)

func TestAPersonGetsTheLanguageOfTheirTag(t *testing.T) {
	for tag, want := range map[string]words.Language{
		"": words.English, "en": words.English, "en-GB": words.English, "de": words.German, "de-AT": words.German, "DE": words.German,
		"de_DE.UTF-8": words.German, "de-CH,en;q=0.8": words.German, "en-US,de;q=0.9": words.English, "den": words.English, "fr": words.English,
		"C": words.English, "C.UTF-8": words.English, "POSIX": words.English, "-": words.English,
	} {
		if got := (*words.Catalogue)(nil).For(tag).Language(); got != want {
			t.Errorf("the language of %q is %s, want %s", tag, got, want)
		}
	}
}

func TestTheFirstVariableThatIsSetDecides(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"LANG": "en_US.UTF-8", "LC_MESSAGES": "de_DE.UTF-8@euro"}, "de-DE"},
		{map[string]string{"LANG": "de", "LC_MESSAGES": "C.UTF-8"}, ""},
		{map[string]string{"LANG": "de", "LC_ALL": "POSIX"}, ""},
		{map[string]string{"LANG": "de_AT", "LC_ALL": ""}, "de-AT"},
		{nil, ""},
	} {
		if got := words.FromEnvironment(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("of %v got %q, want %q", c.env, got, c.want)
		}
	}
}

func TestPlaceholdersAndPluralsAreFilled(t *testing.T) {
	en, de := words.Words{}, (*words.Catalogue)(nil).For("de")
	for _, c := range []struct{ got, want string }{
		{en.Text(words.SameAgent, "main"), "You are already talking to main."},
		{de.Text(words.SameAgent, "main"), "Du sprichst schon mit main."},
		{en.Text(words.WaitingLeft, 1), "1 message still waits; /stop all drops it."},
		{en.Text(words.WaitingLeft, 3), "3 messages still wait; /stop all drops them."},
		{de.Text(words.WaitingLeft, 1), "1 Nachricht wartet noch; /stop all verwirft sie."},
		{de.Text(words.WaitingLeft, 3), "3 Nachrichten warten noch; /stop all verwirft sie."},
		{en.Text(words.AnsweredBy, "{person}", "Ann"), "{person} (by Ann)"}, // a value is not a template
	} {
		wanttest.Equal(t, "got", c.got, c.want)
	}
}

func TestAnOperatorOverridesTextsAndFixesTheLanguage(t *testing.T) {
	c := words.New(words.Settings{Overrides: map[string]string{
		"cancelled": "Gone.", "cancelled.de": "Weg.", "sameAgent": "Yes, {agent}.",
	}})
	for _, x := range []struct{ got, want string }{
		{c.For("en").Text(words.Cancelled), "Gone."},
		{c.For("de").Text(words.Cancelled), "Weg."},
		{c.For("de").Text(words.SameAgent, "main"), "Yes, main."},
		{c.For("de").Text(words.StillWorking), "Ich arbeite noch. Sende zuerst /stop."},
	} {
		wanttest.Equal(t, "got", x.got, x.want)
	}
	c.Reload(words.Settings{Language: "de"})
	wanttest.Equal(t, "with a fixed language got", c.For("en").Text(words.Cancelled), "Abgebrochen.")
}

func TestOverridesAreChecked(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"sameAgent", "It is {agent}.", ""},
		{"sameAgent.de", "Es ist {agent}.", ""},
		{"sameAgent", "Yes.", ""},
		{"queued.fr", "x", `there is no language "fr"; use en or de`},
		{"queued", " ", "must not be blank"},
		{"sameAgent", "{name}", "has the unknown placeholder {name}; this text has {agent}"},
		{"sameAgent", "{agent", "has a brace without its partner"},
		{"sameAgent", "{}", "has the placeholder {}, which has no name; this text has {agent}"},
		{"waitingLeft", "{|a|b}", "has the placeholder {|a|b}, which has no name; this text has {count}"},
		{"waitingLeft", "{count|a}", "has the placeholder {count|a}; write {count|one|other} for two forms of a word"},
		{"waitingLeft", "{count|a|b|c}", "has the placeholder {count|a|b|c}; write {count|one|other} for two forms of a word"},
		{"waitingLeft", "{count}{count|a|b}", ""},
		{"sameAgent", "a}", "has a brace without its partner"},
		{"buttonYes.de", "nein", "must differ from buttonNo, which is an option of the same question"},
		{"buttonDone", "Cancel", "must differ from buttonCancel, which is an option of the same question"},
		{"buttonSkip", "Cancel", "must differ from buttonCancel, which is an option of the same question"},
		{"buttonCancel", "No", "must differ from buttonNo, which is an option of the same question"},
		{"buttonAllowWriting", "reject", "must differ from buttonReject, which is an option of the same question"},
		{"buttonAllowOnce.de", "Lesen in diesem Gespräch erlauben", "must differ from buttonAllowReading, which is an option of the same question"},
		{"buttonYes", "Maybe", ""},
		{"cancelled", "{x}", "has the unknown placeholder {x}; this text has none"},
		{"pairingCode", "Private.", "must contain {code}"},
		{"buttonCancel", string(slices.Repeat([]byte{'x'}, 81)), "must have at most 80 characters"},
	} {
		if got := words.CheckOverride(c.name, map[string]string{c.name: c.text}); got != c.want {
			t.Errorf("%s: %q is %q, want %q", c.name, c.text, got, c.want)
		}
	}
}
