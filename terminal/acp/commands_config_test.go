package acp_test

import (
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
	"nanobot/terminal"
)

func TestConfigOffersEveryOptionAndItsValues(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "-modes -options").person("a").recordPickers()
	p.send("/config").expect(terminal.Done, "")
	wanttest.Equal(t, "offered", p.last(), "Which setting? [Mode: Code] [Model: Small] [Reasoning effort: Low] [Extended thinking: off]")
	p.choose(3).expect(terminal.Done, "")
	wanttest.Equal(t, "offered", p.last(), "Extended thinking? [on] [✓ off]")
	p.choose(0).expect(terminal.Done, "Extended thinking: on")
	p.send("/config").expect(terminal.Done, "")
	p.choose(0).expect(terminal.Done, "")
	p.choose(1).expect(terminal.Done, "Mode: Plan first")
	p.send("state\noptions").expect(terminal.Done, "mode plan, model smalleffort low, thinking true")
}

func TestConfigSetsAnOptionByItsIDAndValue(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "-options").person("a")
	for _, c := range []struct{ command, answer string }{
		{"/config model large", "Model: Large"},
		{"/config effort high", "Reasoning effort: High"},
		{"/config reasoning effort low", "Reasoning effort: Low"},
		{"/config EFFORT 2", "Reasoning effort: High"},
		{"/config thinking on", "Extended thinking: on"},
		{"/config thinking off", "Extended thinking: off"},
		{"/config extended thinking ON", "Extended thinking: on"},
		{"/config thinking maybe", "Extended thinking has no value \"maybe\".\n\n1. ✓ on\n2. off\n\nChoose with /config thinking and a number or a name."},
		{"/config colour red", "There is no setting \"colour red\".\n\n1. Model: Large\n2. Reasoning effort: High\n3. Extended thinking: on\n\nChoose with /config and a number or a name."},
		{"/config 2", "Reasoning effort?\n\n1. Low\n2. ✓ High\n\nChoose with /config effort and a number or a name."},
	} {
		p.send(c.command).expect(terminal.Done, c.answer)
	}
	p.send("options").expect(terminal.Done, "effort high, thinking true")
}

func TestConfigSpeaksGerman(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "-modes -options").person("a")
	p.words = (*words.Catalogue)(nil).For("de")
	p.send("/config thinking an").expect(terminal.Done, "Extended thinking: an")
	p.send("/config").expect(terminal.Done, "Welche Einstellung?\n\n1. Modus: Code\n2. Model: Small\n3. Reasoning effort: Low\n4. Extended thinking: an\n\nWähle mit /config und einer Nummer oder einem Namen.")
	p.send("/mode plan").expect(terminal.Done, "Modus: Plan first")
}

func TestARefusedOptionIsAnError(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "-options -refuse effort").person("a")
	p.send("/config effort low").expectError(terminal.Failed, "Effort is not available today.")
	if strings.Contains(p.memory.lasting, "chosen") {
		t.Errorf("remembered %s", p.memory.lasting)
	}
}

func TestConfigOfAnAgentWithoutOptions(t *testing.T) {
	t.Parallel()
	newFixture(t, "").person("a").send("/config").expect(terminal.Done, "This agent has no settings to choose.")
	p := newFixture(t, "").person("a")
	p.send(`raw {"sessionUpdate":"available_commands_update","availableCommands":[{"name":"config","description":"its own"}]}`)
	p.send("/config x").expect(terminal.Done, "You said: /config x")
}

// An option may let the agent ask for no permission. The model and its effort do not.
func TestAChangeOfAnOptionNeedsApproval(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-modes -options", func(c *config.Terminal) { c.Approvers = []string{"telegram:7"} })
	p := d.person("a")
	p.send("/config thinking on").expect(terminal.Done, "The setting was not changed.") // nobody can be asked
	p.send("/config mode plan").expect(terminal.Done, "The mode was not changed.")
	p.send("/config model large").expect(terminal.Done, "Model: Large")
	p.send("/config effort high").expect(terminal.Done, "Reasoning effort: High")
	p.send("options").expect(terminal.Done, "effort high, thinking false")
}
