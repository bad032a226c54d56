package acp_test

import (
	"context"
	"testing"

	"nanobot/config"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

func TestAnEarlierSessionIsDeletedByAButtonAfterAQuestion(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "-list -load -close -delete").person("a").recordPickers()
	p.send("say one")
	p.send("/sessions")
	wanttest.Equal(t, "offered alone", p.last(), "Which conversation? [✓ say one]")
	p.memory.forget()
	p.send("say two")
	p.send("/sessions").expect(terminal.Done, "")
	all := p.offered[len(p.offered)-1]
	wanttest.Equal(t, "last button", all.Options[2], "🗑 Delete one…")
	p.choose(2).expect(terminal.Done, "")
	wanttest.Equal(t, "offered", p.last(), "Which conversation is to be deleted? [say one]")

	answer := "No"
	var asked []terminal.Question
	p.ask = func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
		asked = append(asked, q)
		return terminal.Answer{Text: answer}, nil
	}
	p.choose(0).expect(terminal.Done, "The conversation was not deleted.")
	answer = "Yes"
	p.choose(0).expect(terminal.Done, "Deleted: say one")
	if len(asked) != 2 || !asked[0].Approval || asked[0].Text != "🗑 Delete the conversation `say one` for good?" {
		t.Errorf("asked %+v", asked)
	}
	p.send("/sessions")
	wanttest.Equal(t, "left", p.last(), "Which conversation? [✓ say two]")
}

func TestOnlySessionsOfTheChatAreDeleted(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-list -load -close -delete", func(c *config.Terminal) { c.Approvers = []string{"cli:8"} })
	alice, bob := d.person("alice"), d.person("bob")
	alice.send("say my salary")
	bob.send("say hello")
	bob.memory.forget()
	bob.send("say bye")
	const list = "\n\n1. say hello\n\nChoose with /sessions delete and a number or a name."
	bob.send("/sessions delete my salary").expect(terminal.Done, `There is no conversation "my salary".`+list)
	bob.send("/sessions delete say bye").expect(terminal.Done, `There is no conversation "say bye".`+list)
	bob.send("/sessions delete 1").expect(terminal.Done, "The conversation was not deleted.") // nobody can be asked
}

func TestAnAgentThatCannotDeleteSessionsIsNotToldTo(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "-list -load -close").person("a").recordPickers()
	p.send("say one")
	p.memory.forget()
	p.send("say two")
	p.send("/sessions")
	wanttest.Equal(t, "buttons", len(p.offered[0].Options), 2)
	if text := p.send("/sessions delete say one").text(terminal.Message); text == "" || text[:8] != "There is" {
		t.Errorf("said %q", text)
	}
}
