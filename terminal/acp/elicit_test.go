package acp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// answering returns a person who gives these answers one after the other, where "press N" presses a
// button, and the questions that were asked.
func answering(t *testing.T, p *person, answers ...string) *[]terminal.Question {
	t.Helper()
	asked := &[]terminal.Question{}
	p.ask = func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
		*asked = append(*asked, q)
		if len(answers) == 0 {
			t.Errorf("asked once too often: %+v", q)
			return terminal.Answer{}, errors.New("no more answers")
		}
		said := answers[0]
		answers = answers[1:]
		var n int
		if got, _ := fmt.Sscanf(said, "press %d", &n); got == 1 {
			return terminal.Answer{Text: q.Options[n-1]}, nil
		}
		if said == "something else" {
			return terminal.Answer{}, &terminal.DismissedError{By: "ann"}
		}
		return terminal.Answer{Text: said}, nil
	}
	return asked
}

// render returns the questions as text.
func render(asked []terminal.Question) string {
	var all []string
	for _, q := range asked {
		text := q.Text
		for _, o := range q.Options {
			text += " [" + o + "]"
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n---\n")
}

// form returns the step of the scripted agent that sends a form.
func form(properties, required string) string {
	return `call elicitation/create {"sessionId":"SESSION","mode":"form","message":"Tell me.","requestedSchema":{"type":"object","properties":{` + properties + `},"required":[` + required + `]}}`
}

func TestTheFieldsOfAFormAreAskedFor(t *testing.T) {
	const color = `"color":{"type":"string","title":"Color","oneOf":[{"const":"r","title":"Red"},{"const":"b","title":"Blue"}]}`
	for name, c := range map[string]struct {
		form    string
		answers []string
		asked   string
		want    string
	}{
		"an enum is its const": {
			form(color, `"color"`), []string{"press 2"}, "Tell me.\n\n**Color** [Red] [Blue]", `{"action":"accept","content":{"color":"b"}}`,
		},
		"an enum by number": {form(color, `"color"`), []string{"1"}, "Tell me.\n\n**Color** [Red] [Blue]", `{"action":"accept","content":{"color":"r"}}`},
		"an enum without titles": {
			form(`"c":{"type":"string","enum":["x","y"]}`, `"c"`), []string{"press 1"}, "Tell me. [x] [y]", `{"action":"accept","content":{"c":"x"}}`,
		},
		"an enum is asked for again": {
			form(color, `"color"`),
			[]string{"green", "blue"},
			"Tell me.\n\n**Color** [Red] [Blue]\n---\n⚠ Please choose one of the options.\n\nTell me.\n\n**Color** [Red] [Blue]",
			`{"action":"accept","content":{"color":"b"}}`,
		},
		"a boolean": {
			form(`"ok":{"type":"boolean","title":"Sure?"}`, `"ok"`), []string{"press 2"}, "Tell me.\n\n**Sure?** [Yes] [No]", `{"action":"accept","content":{"ok":false}}`,
		},
		"words for a number are asked for again": {
			form(`"n":{"type":"integer","title":"How many?","minimum":1,"maximum":9}`, `"n"`),
			[]string{"three", "2.5", "0", "10", "3"},
			"Tell me.\n\n**How many?**\n---\n⚠ Please write a whole number.\n\nTell me.\n\n**How many?**\n---\n⚠ Please write a whole number.\n\nTell me.\n\n**How many?**" +
				"\n---\n⚠ The number must be at least 1.\n\nTell me.\n\n**How many?**\n---\n⚠ The number must be at most 9.\n\nTell me.\n\n**How many?**",
			`{"action":"accept","content":{"n":3}}`,
		},
		"a number": {form(`"n":{"type":"number"}`, `"n"`), []string{"x", "2,5"}, "Tell me.\n---\n⚠ Please write a number.\n\nTell me.", `{"action":"accept","content":{"n":2.5}}`},
		"a number is no number of a button": {
			form(`"n":{"type":"integer"}`, ``), []string{"1"}, "Tell me. [Skip]", `{"action":"accept","content":{"n":1}}`,
		},
		"a text": {
			form(`"s":{"type":"string","description":"Your *name*","minLength":2}`, `"s"`),
			[]string{"A", " Ada "},
			"Tell me.\n\nYour *name*\n---\n⚠ The text must have at least 2 characters.\n\nTell me.\n\nYour *name*", `{"action":"accept","content":{"s":"Ada"}}`,
		},
		"a date": {
			form(`"s":{"type":"string","format":"date"}`, `"s"`),
			[]string{"tomorrow", "2026-01-31"},
			"Tell me.\n---\n⚠ Please write a date, such as 2026-01-31.\n\nTell me.", `{"action":"accept","content":{"s":"2026-01-31"}}`,
		},
		"several fields in their order": {
			form(`"z":{"type":"string"},"a":{"type":"boolean","title":"A"},"m":{"type":"integer","default":7}`, `"z","a","m"`),
			[]string{"Ada", "press 1", "press 1"},
			"Tell me.\n\n**z** (1 of 3)\n---\n**A** (2 of 3) [Yes] [No]\n---\n**m** (3 of 3) [7]", `{"action":"accept","content":{"a":true,"m":7,"z":"Ada"}}`,
		},
		"an optional field is left out": {
			form(`"s":{"type":"string"}`, ``), []string{"press 1"}, "Tell me. [Skip]", `{"action":"accept","content":{}}`,
		},
		"an optional field with a default": {
			form(`"ok":{"type":"boolean","default":true}`, ``), []string{"press 3"}, "Tell me.\n\nDefault: Yes [Yes] [No] [Skip]", `{"action":"accept","content":{"ok":true}}`,
		},
		"several values, by buttons": {
			form(`"l":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"},{"const":"c","title":"C"}]}}`, `"l"`),
			[]string{"press 3", "press 1", "press 2"},
			"Tell me. [A] [B] [C] [Done]\n---\n**l**\n\nChosen: C [A] [B] [Done]\n---\n**l**\n\nChosen: C, A [B] [Done]", `{"action":"accept","content":{"l":["c","a"]}}`,
		},
		"several values, in one text": {
			form(`"l":{"type":"array","items":{"type":"string","enum":["a","b","c"]},"minItems":2}`, `"l"`),
			[]string{"1, C"},
			"Tell me. [a] [b] [c]", `{"action":"accept","content":{"l":["a","c"]}}`,
		},
		"a field for notes is no question": {
			form(color+`,"color_custom":{"type":"string","title":"Other"},"n":{"type":"integer"}`, `"n"`),
			[]string{"press 1", "3"},
			"Tell me.\n\n**Color** (1 of 2)\n\nOr write your own answer. [Red] [Blue] [Skip]\n---\n**n** (2 of 2)", `{"action":"accept","content":{"color":"r","n":3}}`,
		},
		"an answer of one's own": {
			form(color+`,"color_custom":{"type":"string","title":"Other"}`, ``),
			[]string{"a warm green"},
			"Tell me.\n\n**Color**\n\nOr write your own answer. [Red] [Blue] [Skip]", `{"action":"accept","content":{"color_custom":"a warm green"}}`,
		},
		"an answer of one's own to a list": {
			form(`"l":{"type":"array","items":{"type":"string","enum":["a","b"]}},"l_custom":{"type":"string"}`, ``),
			[]string{"neither"},
			"Tell me.\n\nOr write your own answer. [a] [b] [Skip]", `{"action":"accept","content":{"l_custom":"neither"}}`,
		},
		"an answer of one's own to a required choice of Codex": {
			form(`"q":{"type":"string","oneOf":[{"const":"A","title":"A"},{"const":"None of the above","title":"None of the above"}]},"q_note":{"type":"string"}`, `"q"`),
			[]string{"both"},
			"Tell me.\n\nOr write your own answer. [A] [None of the above]", `{"action":"accept","content":{"q":"None of the above","q_note":"both"}}`,
		},
		"a required choice without an option for other answers": {
			form(color+`,"color_note":{"type":"string","title":"Note"}`, `"color"`),
			[]string{"press 1", "press 1"},
			"Tell me.\n\n**Color** (1 of 2) [Red] [Blue]\n---\n**Note** (2 of 2) [Skip]", `{"action":"accept","content":{"color":"r"}}`,
		},
		"a field whose name only begins like that of a choice": {
			form(color+`,"color_code":{"type":"string","title":"Code"}`, ``),
			[]string{"press 1", "f00"},
			"Tell me.\n\n**Color** (1 of 2) [Red] [Blue] [Skip]\n---\n**Code** (2 of 2) [Skip]", `{"action":"accept","content":{"color":"r","color_code":"f00"}}`,
		},
		"a required field is no note": {
			form(color+`,"color_custom":{"type":"string","title":"Other"}`, `"color","color_custom"`),
			[]string{"press 1", "why"},
			"Tell me.\n\n**Color** (1 of 2) [Red] [Blue]\n---\n**Other** (2 of 2)", `{"action":"accept","content":{"color":"r","color_custom":"why"}}`,
		},
		"a cancelled boolean": {
			form(`"ok":{"type":"boolean","title":"Sure?"},"s":{"type":"string"}`, `"ok","s"`), []string{"press 3"}, "Tell me.\n\n**Sure?** (1 of 2) [Yes] [No]", `{"action":"cancel"}`,
		},
		"a cancelled enum, by the number of the button": {form(color, ``), []string{"4"}, "Tell me.\n\n**Color** [Red] [Blue] [Skip]", `{"action":"cancel"}`},
		"an enum that is left out, by the number of the button": {
			form(color, ``), []string{"3"}, "Tell me.\n\n**Color** [Red] [Blue] [Skip]", `{"action":"accept","content":{}}`,
		},
		"a cancelled text": {form(`"s":{"type":"string"}`, `"s"`), []string{"press 1"}, "Tell me.", `{"action":"cancel"}`},
		"a cancelled list": {
			form(`"l":{"type":"array","items":{"type":"string","enum":["a","b"]}}`, `"l"`),
			[]string{"press 1", "press 3"},
			"Tell me. [a] [b] [Done]\n---\n**l**\n\nChosen: a [b] [Done]", `{"action":"cancel"}`,
		},
		"an enum with an option that is named like the button": {
			form(`"c":{"type":"string","enum":["cancel","go on"]}`, `"c"`), []string{"cancel"}, "Tell me. [cancel] [go on]", `{"action":"accept","content":{"c":"cancel"}}`,
		},
		"no fields":             {form(``, ``), []string{"press 1"}, "Tell me. [Yes] [No]", `{"action":"accept","content":{}}`},
		"no fields and a no":    {form(``, ``), []string{"press 2"}, "Tell me. [Yes] [No]", `{"action":"decline"}`},
		"an unknown type":       {form(`"x":{"type":"_map"},"ok":{"type":"boolean"}`, `"ok"`), []string{"press 1"}, "Tell me. [Yes] [No]", `{"action":"accept","content":{"ok":true}}`},
		"a field without chat":  {form(`"x":{"type":"_map"}`, `"x"`), nil, "", `{"action":"cancel"}`},
		"many values of a list": {form(`"e":{"type":"string","enum":[`+strings.TrimSuffix(strings.Repeat(`"v",`, 20), ",")+`,"w"]}`, `"e"`), []string{"21"}, "Tell me.\n\n" + numbered(), `{"action":"accept","content":{"e":"w"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, "").person("a")
			asked := answering(t, p, c.answers...)
			got := p.send(c.form).text(terminal.Message)
			if !strings.HasSuffix(strings.TrimSpace(got), "`"+c.want+"`") {
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
			if got := render(*asked); got != c.asked {
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
	p := newFixture(t, "").person("a")
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
		p.words = words.New(words.Settings{}).For(c.language)
		answering(t, p, c.written)
		got := p.send(form(`"n":{"type":"`+c.kind+`"}`, `"n"`)).text(terminal.Message)
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

const link = `call elicitation/create {"sessionId":"SESSION","mode":"url","message":"Sign in.","elicitationId":"e1","url":"https://example.com/a_b?c=d_e"}`

func TestFormsAndLinksAreAnnounced(t *testing.T) {
	t.Parallel()
	got := newFixture(t, "").person("a").send("announced").text(terminal.Message)
	if !strings.Contains(got, `"elicitation":{"form":{},"url":{}}`) {
		t.Errorf("announced %s", got)
	}
}

func TestALinkIsAcceptedOrCancelled(t *testing.T) {
	for answer, want := range map[string]string{"press 1": `{"action":"accept"}`, "press 2": `{"action":"cancel"}`, "something else": `{"action":"cancel"}`} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, "").person("a")
			asked := answering(t, p, answer)
			p.send(link).expect(terminal.Done, "`"+want+"`")
			if got := render(*asked); got != "Sign in.\n\n<https://example.com/a_b?c=d_e> [Done] [Cancel]" || (*asked)[0].OtherText != terminal.OtherTextDismisses {
				t.Errorf("asked %q", got)
			}
		})
	}
}

func TestALinkIsShownWhileASessionIsOpened(t *testing.T) {
	const request = `send '{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"requestId":2,"mode":"url","message":"Sign in.","elicitationId":"e1","url":"https://example.com/a"}}'; receive; `
	for answer, want := range map[string]string{"press 1": `"result":{"action":"accept"}`, "press 2": `"result":{"action":"cancel"}`} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			d := newShellAgent(t, strings.Replace(untilPrompt, `receive; send '{"jsonrpc":"2.0","id":2`, "receive; "+request+`send '{"jsonrpc":"2.0","id":2`, 1)+"chunk hello"+endTurn)
			p := d.person("a")
			asked := answering(t, p, answer)
			p.send("hi").expect(terminal.Done, "hello")
			if got := render(*asked); got != "Sign in.\n\n<https://example.com/a> [Done] [Cancel]" {
				t.Errorf("asked %q", got)
			}
			if got := d.receivedLines(); !strings.Contains(got, want) {
				t.Errorf("the agent got %s", got)
			}
		})
	}
	t.Run("a stop cancels it", func(t *testing.T) {
		t.Parallel()
		d := newShellAgent(t, strings.Replace(untilPrompt, `receive; send '{"jsonrpc":"2.0","id":2`, "receive; "+request+`send '{"jsonrpc":"2.0","id":2`, 1))
		p := d.person("a")
		ctx, stop := context.WithCancel(t.Context())
		p.ask = func(ctx context.Context, _ terminal.Question) (terminal.Answer, error) {
			stop()
			<-ctx.Done()
			return terminal.Answer{}, ctx.Err()
		}
		if h := p.sendUntil(ctx, "hi"); h.out.Status != terminal.Stopped {
			t.Errorf("status %s", h.out.Status)
		}
	})
}

func TestALinkMustBeAWebAddress(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	answering(t, p)
	for _, bad := range []string{"javascript:alert(1)", "file:///etc/passwd", "example.com"} {
		got := p.send(strings.ReplaceAll(link, "https://example.com/a_b?c=d_e", bad)).text(terminal.Message)
		if !strings.Contains(got, "is no web address") {
			t.Errorf("%s: the agent got %s", bad, got)
		}
	}
}

func TestACompletedLinkNeedsNoAnswer(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	var cause error
	shown := filepath.Join(t.TempDir(), "shown")
	p.ask = func(ctx context.Context, _ terminal.Question) (terminal.Answer, error) {
		if err := os.WriteFile(shown, nil, 0o600); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		cause = context.Cause(ctx)
		return terminal.Answer{}, cause
	}
	p.send("complete e1 "+shown+"\n"+link).expect(terminal.Done, "`"+`{"action":"accept"}`+"`")
	if !errors.Is(cause, terminal.ErrDoneElsewhere) {
		t.Errorf("the question ended because of %v", cause)
	}
}

func TestAnElicitationThatNobodyAnswersIsCancelled(t *testing.T) {
	t.Parallel()
	nobody := newFixture(t, "").person("a")
	nobody.send(form(`"s":{"type":"string"}`, `"s"`)).expect(terminal.Done, "There is nobody here to ask, so the agent gets no answer.\n`"+`{"action":"cancel"}`+"`")
	late := newFixture(t, "", func(c *config.Terminal) { settings(c).AskTimeout = 1 }).person("a")
	late.ask = func(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
		ctx, cancel := context.WithTimeout(ctx, q.Timeout)
		defer cancel()
		<-ctx.Done()
		return terminal.Answer{}, ctx.Err()
	}
	late.send(link).expect(terminal.Done, "Nobody answered within 1 s, so the agent gets no answer.\n`"+`{"action":"cancel"}`+"`")
	// The end of the turn cancels it, too.
	stopped := newFixture(t, "").person("a")
	ctx, stop := context.WithCancel(t.Context())
	stopped.ask = func(ctx context.Context, _ terminal.Question) (terminal.Answer, error) {
		stop()
		<-ctx.Done()
		return terminal.Answer{}, ctx.Err()
	}
	if h := stopped.sendUntil(ctx, link); h.out.Status != terminal.Stopped || !strings.Contains(h.text(terminal.Log), "elicitation: cancel") {
		t.Errorf("status %s, log %s", h.out.Status, h.text(terminal.Log))
	}
}

func TestAGermanPersonIsAskedInGerman(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	p.words = words.New(words.Settings{}).For("de")
	asked := answering(t, p, "press 1", "drei", "3")
	p.send(form(`"ok":{"type":"boolean","title":"Sure?"},"n":{"type":"integer"}`, `"ok","n"`))
	const want = "Tell me.\n\n**Sure?** (1 von 2) [Ja] [Nein] [Abbrechen]\n---\n**n** (2 von 2) [Abbrechen]\n---\n⚠ Bitte schreibe eine ganze Zahl.\n\n**n** (2 von 2) [Abbrechen]"
	if got := render(*asked); got != want {
		t.Errorf("asked %q\nnot   %q", got, want)
	}
}
