package acp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
)

// answering has a person give these answers, as acptest.Answer says, and returns the questions.
func answering(t *testing.T, p *person, answers ...string) *[]terminal.Question {
	t.Helper()
	var asked *[]terminal.Question
	p.ask, asked = acptest.Answer(t, answers...)
	return asked
}

// form returns the step of the scripted agent that sends a form.
func form(properties, required string) string {
	return `call elicitation/create {"sessionId":"SESSION","mode":"form","message":"Tell me.","requestedSchema":{"type":"object","properties":{` + properties + `},"required":[` + required + `]}}`
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
			if got := acptest.RenderQuestions(*asked); got != "Sign in.\n\n<https://example.com/a_b?c=d_e> [Done] [Cancel]" || (*asked)[0].OtherText != terminal.OtherTextDismisses {
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
			wanttest.Equal(t, "asked", acptest.RenderQuestions(*asked), "Sign in.\n\n<https://example.com/a> [Done] [Cancel]")
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
	const want = "Tell me.\n\n**Sure?** (1 von 2) [Ja] [Nein] [Abbrechen]\n---\nTell me.\n\n**n** (2 von 2) [Abbrechen]\n---\n⚠ Bitte schreibe eine ganze Zahl.\n\nTell me.\n\n**n** (2 von 2) [Abbrechen]"
	if got := acptest.RenderQuestions(*asked); got != want {
		t.Errorf("asked %q\nnot   %q", got, want)
	}
}
