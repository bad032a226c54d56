package form_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal/acp/acptest"
	"nanobot/terminal/acp/form"
	"nanobot/terminal/acp/view"
	"nanobot/terminal/protocoltest"
)

// send returns the response to a request, or its error, with a person who answers in a language.
func send(t *testing.T, ask protocoltest.Ask, w words.Words, params string) string {
	t.Helper()
	turn, r := acptest.NewTurn(t)
	r.OnAsk, turn.Words = ask, w
	v := view.New(turn, nil)
	defer v.Discard()
	got, rerr := new(form.Links).Answer(t.Context(), json.RawMessage(params), v, time.Minute)
	if rerr != nil {
		return rerr.Message
	}
	return acptest.CheckSchema(t, "CreateElicitationResponse", got)
}

// newForm returns the parameters of a form.
func newForm(properties, required string) string {
	return `{"sessionId":"s","mode":"form","message":"Tell me.","requestedSchema":{"type":"object","properties":{` + properties + `},"required":[` + required + `]}}`
}

const link = `{"sessionId":"s","mode":"url","message":"Sign in.","elicitationId":"e1","url":"https://example.com/a_b?c=d_e"}`

func TestTheFieldsOfAFormAreAskedFor(t *testing.T) {
	t.Parallel()
	const color = `"color":{"type":"string","title":"Color","oneOf":[{"const":"r","title":"Red"},{"const":"b","title":"Blue"}]}`
	for name, c := range map[string]struct {
		form    string
		answers []string
		asked   string
		want    string
	}{
		"an enum is its const": {
			newForm(color, `"color"`), []string{"press 2"}, "Tell me.\n\n**Color** [Red] [Blue]", `{"action":"accept","content":{"color":"b"}}`,
		},
		"an enum by number": {newForm(color, `"color"`), []string{"1"}, "Tell me.\n\n**Color** [Red] [Blue]", `{"action":"accept","content":{"color":"r"}}`},
		"an enum without titles": {
			newForm(`"c":{"type":"string","enum":["x","y"]}`, `"c"`), []string{"press 1"}, "Tell me. [x] [y]", `{"action":"accept","content":{"c":"x"}}`,
		},
		"an enum is asked for again": {
			newForm(color, `"color"`),
			[]string{"green", "blue"},
			"Tell me.\n\n**Color** [Red] [Blue]\n---\n⚠ Please choose one of the options.\n\nTell me.\n\n**Color** [Red] [Blue]",
			`{"action":"accept","content":{"color":"b"}}`,
		},
		"a boolean": {
			newForm(`"ok":{"type":"boolean","title":"Sure?"}`, `"ok"`), []string{"press 2"}, "Tell me.\n\n**Sure?** [Yes] [No]", `{"action":"accept","content":{"ok":false}}`,
		},
		"words for a number are asked for again": {
			newForm(`"n":{"type":"integer","title":"How many?","minimum":1,"maximum":9}`, `"n"`),
			[]string{"three", "2.5", "0", "10", "3"},
			"Tell me.\n\n**How many?**\n---\n⚠ Please write a whole number.\n\nTell me.\n\n**How many?**\n---\n⚠ Please write a whole number.\n\nTell me.\n\n**How many?**" +
				"\n---\n⚠ The number must be at least 1.\n\nTell me.\n\n**How many?**\n---\n⚠ The number must be at most 9.\n\nTell me.\n\n**How many?**",
			`{"action":"accept","content":{"n":3}}`,
		},
		"a number": {newForm(`"n":{"type":"number"}`, `"n"`), []string{"x", "2,5"}, "Tell me.\n---\n⚠ Please write a number.\n\nTell me.", `{"action":"accept","content":{"n":2.5}}`},
		"a number is no number of a button": {
			newForm(`"n":{"type":"integer"}`, ``), []string{"1"}, "Tell me. [Skip]", `{"action":"accept","content":{"n":1}}`,
		},
		"a text": {
			newForm(`"s":{"type":"string","description":"Your *name*","minLength":2}`, `"s"`),
			[]string{"A", " Ada "},
			"Tell me.\n\nYour *name*\n---\n⚠ The text must have at least 2 characters.\n\nTell me.\n\nYour *name*", `{"action":"accept","content":{"s":"Ada"}}`,
		},
		"a date": {
			newForm(`"s":{"type":"string","format":"date"}`, `"s"`),
			[]string{"tomorrow", "2026-01-31"},
			"Tell me.\n---\n⚠ Please write a date, such as 2026-01-31.\n\nTell me.", `{"action":"accept","content":{"s":"2026-01-31"}}`,
		},
		"several fields in their order": {
			newForm(`"z":{"type":"string"},"a":{"type":"boolean","title":"A"},"m":{"type":"integer","default":7}`, `"z","a","m"`),
			[]string{"Ada", "press 1", "press 1"},
			"Tell me.\n\n**z** (1 of 3)\n---\nTell me.\n\n**A** (2 of 3) [Yes] [No]\n---\nTell me.\n\n**m** (3 of 3) [7]", `{"action":"accept","content":{"a":true,"m":7,"z":"Ada"}}`,
		},
		"an optional field is left out": {
			newForm(`"s":{"type":"string"}`, ``), []string{"press 1"}, "Tell me. [Skip]", `{"action":"accept","content":{}}`,
		},
		"an optional field with a default": {
			newForm(`"ok":{"type":"boolean","default":true}`, ``), []string{"press 3"}, "Tell me.\n\nDefault: Yes [Yes] [No] [Skip]", `{"action":"accept","content":{"ok":true}}`,
		},
		"several values, by buttons": {
			newForm(`"l":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"},{"const":"c","title":"C"}]}}`, `"l"`),
			[]string{"press 3", "press 1", "press 2"},
			"Tell me. [A] [B] [C] [Done]\n---\n**l**\n\nChosen: C [A] [B] [Done]\n---\n**l**\n\nChosen: C, A [B] [Done]", `{"action":"accept","content":{"l":["c","a"]}}`,
		},
		"several values, in one text": {
			newForm(`"l":{"type":"array","items":{"type":"string","enum":["a","b","c"]},"minItems":2}`, `"l"`),
			[]string{"1, C"},
			"Tell me. [a] [b] [c]", `{"action":"accept","content":{"l":["a","c"]}}`,
		},
		"a field for notes is no question": {
			newForm(color+`,"color_custom":{"type":"string","title":"Other"},"n":{"type":"integer"}`, `"n"`),
			[]string{"press 1", "3"},
			"Tell me.\n\n**Color** (1 of 2)\n\nOr write your own answer. [Red] [Blue] [Skip]\n---\nTell me.\n\n**n** (2 of 2)", `{"action":"accept","content":{"color":"r","n":3}}`,
		},
		"an answer of one's own": {
			newForm(color+`,"color_custom":{"type":"string","title":"Other"}`, ``),
			[]string{"a warm green"},
			"Tell me.\n\n**Color**\n\nOr write your own answer. [Red] [Blue] [Skip]", `{"action":"accept","content":{"color_custom":"a warm green"}}`,
		},
		"an answer of one's own to a list": {
			newForm(`"l":{"type":"array","items":{"type":"string","enum":["a","b"]}},"l_custom":{"type":"string"}`, ``),
			[]string{"neither"},
			"Tell me.\n\nOr write your own answer. [a] [b] [Skip]", `{"action":"accept","content":{"l_custom":"neither"}}`,
		},
		"an answer of one's own to a required choice of Codex": {
			newForm(`"q":{"type":"string","oneOf":[{"const":"A","title":"A"},{"const":"None of the above","title":"None of the above"}]},"q_note":{"type":"string"}`, `"q"`),
			[]string{"both"},
			"Tell me.\n\nOr write your own answer. [A] [None of the above]", `{"action":"accept","content":{"q":"None of the above","q_note":"both"}}`,
		},
		"a required choice without an option for other answers": {
			newForm(color+`,"color_note":{"type":"string","title":"Note"}`, `"color"`),
			[]string{"press 1", "press 1"},
			"Tell me.\n\n**Color** (1 of 2) [Red] [Blue]\n---\nTell me.\n\n**Note** (2 of 2) [Skip]", `{"action":"accept","content":{"color":"r"}}`,
		},
		"a field whose name only begins like that of a choice": {
			newForm(color+`,"color_code":{"type":"string","title":"Code"}`, ``),
			[]string{"press 1", "f00"},
			"Tell me.\n\n**Color** (1 of 2) [Red] [Blue] [Skip]\n---\nTell me.\n\n**Code** (2 of 2) [Skip]", `{"action":"accept","content":{"color":"r","color_code":"f00"}}`,
		},
		"a required field is no note": {
			newForm(color+`,"color_custom":{"type":"string","title":"Other"}`, `"color","color_custom"`),
			[]string{"press 1", "why"},
			"Tell me.\n\n**Color** (1 of 2) [Red] [Blue]\n---\nTell me.\n\n**Other** (2 of 2)", `{"action":"accept","content":{"color":"r","color_custom":"why"}}`,
		},
		"a cancelled boolean": {
			newForm(`"ok":{"type":"boolean","title":"Sure?"},"s":{"type":"string"}`, `"ok","s"`), []string{"press 3"}, "Tell me.\n\n**Sure?** (1 of 2) [Yes] [No]", `{"action":"cancel"}`,
		},
		"a cancelled enum, by the number of the button": {newForm(color, ``), []string{"4"}, "Tell me.\n\n**Color** [Red] [Blue] [Skip]", `{"action":"cancel"}`},
		"an enum that is left out, by the number of the button": {
			newForm(color, ``), []string{"3"}, "Tell me.\n\n**Color** [Red] [Blue] [Skip]", `{"action":"accept","content":{}}`,
		},
		"a cancelled text": {newForm(`"s":{"type":"string"}`, `"s"`), []string{"press 1"}, "Tell me.", `{"action":"cancel"}`},
		"a cancelled list": {
			newForm(`"l":{"type":"array","items":{"type":"string","enum":["a","b"]}}`, `"l"`),
			[]string{"press 1", "press 3"},
			"Tell me. [a] [b] [Done]\n---\n**l**\n\nChosen: a [b] [Done]", `{"action":"cancel"}`,
		},
		"an enum with an option that is named like the button": {
			newForm(`"c":{"type":"string","enum":["cancel","go on"]}`, `"c"`), []string{"cancel"}, "Tell me. [cancel] [go on]", `{"action":"accept","content":{"c":"cancel"}}`,
		},
		"no fields":             {newForm(``, ``), []string{"press 1"}, "Tell me. [Yes] [No]", `{"action":"accept","content":{}}`},
		"no fields and a no":    {newForm(``, ``), []string{"press 2"}, "Tell me. [Yes] [No]", `{"action":"decline"}`},
		"an unknown type":       {newForm(`"x":{"type":"_map"},"ok":{"type":"boolean"}`, `"ok"`), []string{"press 1"}, "Tell me. [Yes] [No]", `{"action":"accept","content":{"ok":true}}`},
		"a field without chat":  {newForm(`"x":{"type":"_map"}`, `"x"`), nil, "", `{"action":"cancel"}`},
		"many values of a list": {newForm(`"e":{"type":"string","enum":[`+strings.TrimSuffix(strings.Repeat(`"v",`, 20), ",")+`,"w"]}`, `"e"`), []string{"21"}, "Tell me.\n\n" + numbered(), `{"action":"accept","content":{"e":"w"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask, asked := acptest.Answer(t, c.answers...)
			got := send(t, ask, words.Words{}, c.form)
			if got != c.want {
				t.Errorf("the agent got %s\nnot           %s", got, c.want)
			}
			for i := range *asked { // each question for a field ends by a button that cancels the form
				q := &(*asked)[i]
				if n := len(q.Options) - 1; n >= 0 && strings.HasPrefix(q.Options[n], "Cancel") {
					q.Options = q.Options[:n]
				} else if !strings.HasPrefix(name, "no fields") {
					t.Errorf("asked %+v", q)
				}
			}
			if got := acptest.RenderQuestions(*asked); got != c.asked {
				t.Errorf("asked %q\nnot   %q", got, c.asked)
			}
			for _, q := range *asked {
				if q.Approval || q.Timeout == 0 {
					t.Errorf("asked %+v", q)
				}
			}
		})
	}
}

func TestNumbersAreReadInTheLanguageOfThePerson(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ language, kind, written, want string }{
		{"de", "number", "1.000", "1000"},
		{"de", "number", "-1.234.567,5", "-1234567.5"},
		{"de", "number", "1,000", "1"},
		{"de", "number", "0.125", "0.125"},
		{"de", "number", "2.5", "2.5"},
		{"de", "integer", "1.000", "1000"},
		{"en", "number", "1.000", "1"},
		{"en", "number", "1,000", "1000"},
		{"en", "number", "1,234.5", "1234.5"},
		{"en", "number", "2,5", "2.5"},
		{"en", "integer", "12,000", "12000"},
	} {
		ask, _ := acptest.Answer(t, c.written)
		got := send(t, ask, words.New(words.Settings{}).For(c.language), newForm(`"n":{"type":"`+c.kind+`"}`, `"n"`))
		if want := `{"n":` + c.want + `}}`; !strings.Contains(got, want) {
			t.Errorf("%s in %s: the agent got %s, not %s", c.written, c.language, got, want)
		}
	}
}

func numbered() string {
	var lines []string
	for i := range 20 {
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%d. v (%d)", i+1, i+1), " (1)"))
	}
	return strings.Join(append(lines, "21. w"), "\n")
}

func TestALinkMustBeAWebAddress(t *testing.T) {
	t.Parallel()
	ask, _ := acptest.Answer(t)
	for _, bad := range []string{"javascript:alert(1)", "file:///etc/passwd", "example.com"} {
		got := send(t, ask, words.Words{}, strings.ReplaceAll(link, "https://example.com/a_b?c=d_e", bad))
		if !strings.Contains(got, "is no web address") {
			t.Errorf("%s: the agent got %s", bad, got)
		}
	}
}

func TestAPressGivesTheOptionThatItsButtonNames(t *testing.T) {
	t.Parallel()
	many := strings.TrimSuffix(strings.Repeat(`{"const":"c","title":"same"},`, 999), ",") + `,{"const":"last","title":"same"}`
	for name, c := range map[string]struct{ field, answer, want string }{
		"capitals":              {`"enum":["a","A"]`, "press 2", `"A"`},
		"swapped titles":        {`"oneOf":[{"const":"yes","title":"no"},{"const":"no","title":"yes"}]`, "press 2", `"no"`},
		"an empty value":        {`"enum":["","b","c"]`, "press 2", `"b"`},
		"number past one empty": {`"enum":["","b","c"]`, "2", `"b"`},
		"many equal titles":     {`"oneOf":[` + many + `]`, "same (1000)", `"last"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask, _ := acptest.Answer(t, c.answer)
			got := send(t, ask, words.Words{}, newForm(`"e":{"type":"string",`+c.field+`}`, `"e"`))
			if want := `{"action":"accept","content":{"e":` + c.want + `}}`; !strings.Contains(got, want) {
				t.Errorf("the agent got %s, not %s", got, want)
			}
		})
	}
}

func TestAFormThatNobodyCouldFillInIsRefused(t *testing.T) {
	t.Parallel()
	ask, _ := acptest.Answer(t)
	options := strings.TrimSuffix(strings.Repeat(`"v",`, 1001), ",")
	if got := send(t, ask, words.Words{}, newForm(`"e":{"type":"string","enum":[`+options+`]}`, `"e"`)); !strings.Contains(got, "a field 1000 options") {
		t.Errorf("the agent got %s", got)
	}
}

func TestALinkCannotHideAnotherOne(t *testing.T) {
	t.Parallel()
	ask, _ := acptest.Answer(t)
	for _, bad := range []string{
		"https://bank.example/?a=1> [Sign in](https://evil.example/) <https://bank.example", "https://bank.example/\u202etxt", "https://bank.example/" + strings.Repeat("x", 3000),
	} {
		got := send(t, ask, words.Words{}, strings.ReplaceAll(link, "https://example.com/a_b?c=d_e", bad))
		if !strings.Contains(got, "is no web address") {
			t.Errorf("%.60s: the agent got %s", bad, got)
		}
	}
}
