package acp_test

import (
	"strings"
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

func TestWhatWasChosenIsSetAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, flags string }{
		{"after resume", "-resume"},
		{"after load", "-load"},
		{"after load with a late replay", "-load -behind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newFixture(t, "-forgetful -modes -models "+c.flags)
			p := d.person("a")
			p.send("/mode plan").expect(terminal.Done, "Mode: Plan first")
			p.send("/model large").expect(terminal.Done, "Model: Large")
			d.restart()
			p.send("state").expect(terminal.Done, "mode plan, model large")
			wanttest.Equal(t, "about", p.agentInfo.Line, "acptest · Large · Plan first")
		})
	}
}

func TestWhatWasChosenIsSetInNewConversations(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-modes -configs -close")
	p := d.person("a")
	p.send("/mode plan").expect(terminal.Done, "Mode: Plan first")
	p.send("/model large").expect(terminal.Done, "Model: Large")
	p.memory.forget() // by /new, in the same process
	p.send("state").expect(terminal.Done, "mode plan, model large")
	d.restart() // the agent can restore no session
	p.send("state").expect(terminal.Done, newSessionNotice+"\n\nmode plan, model large")
	d.person("b").send("state").expect(terminal.Done, "mode code, model small")
}

func TestASessionHasItsOwnChosenSettings(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-modes -list -load -close -forgetful")
	p := d.person("a")
	p.send("say one")
	p.send("/mode plan").expect(terminal.Done, "Mode: Plan first")
	p.memory.forget()
	p.send("say two")
	p.send("/mode code").expect(terminal.Done, "Mode: Code")
	p.send("/sessions say one").expect(terminal.Done, "Conversation: say one")
	p.send("state").expect(terminal.Done, "mode plan, model small")
	p.send("/sessions say two").expect(terminal.Done, "Conversation: say two")
	p.send("state").expect(terminal.Done, "mode code, model small")
}

func TestARefusalOfAChosenSettingIsSaid(t *testing.T) {
	d := newFixture(t, "-forgetful -resume -modes -models")
	p := d.person("a")
	p.send("/mode plan").expect(terminal.Done, "Mode: Plan first")
	p.send("/model large").expect(terminal.Done, "Model: Large")
	// The same agent, which refuses the mode now: its command must stay the same.
	t.Setenv("ACPTEST_REFUSE", "mode")
	d.restart()
	const refusal = "The agent refuses the setting that you had chosen, “Mode: Plan first”: mode is not available today.\n\n"
	p.send("state").expect(terminal.Done, refusal+"mode code, model large")
	p.send("state").expect(terminal.Done, "mode code, model large") // it is said once in a process
	d.restart()
	p.send("state").expect(terminal.Done, refusal+"mode code, model large")
	t.Setenv("ACPTEST_REFUSE", "")
	d.restart()
	p.send("state").expect(terminal.Done, "mode plan, model large")
}

func TestAChangeByTheAgentReplacesARefusedSetting(t *testing.T) {
	d := newFixture(t, "-forgetful -resume -options")
	p := d.person("a")
	p.send("/model large").expect(terminal.Done, "Model: Large")
	p.send("/config effort high").expect(terminal.Done, "Reasoning effort: High")
	t.Setenv("ACPTEST_REFUSE", "model")
	d.restart()
	p.send("say ok") // the effort needs the model
	t.Setenv("ACPTEST_REFUSE", "")
	d.restart()
	p.send("options").expect(terminal.Done, "effort high, thinking false")
	t.Setenv("ACPTEST_REFUSE", "model")
	d.restart()
	p.send("say ok")
	p.send(`raw {"sessionUpdate":"config_option_update","configOptions":[{"id":"model","name":"Model","type":"select","category":"model","currentValue":"medium","options":[{"value":"medium","name":"Medium"}]}]}`)
	if !strings.Contains(p.memory.lasting, `"medium"`) || strings.Contains(p.memory.lasting, `"large"`) {
		t.Errorf("remembered %s", p.memory.lasting)
	}
}

func TestAModeIsSetAgainInAnAgentThatReportsAnother(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-misreports -resume -modes")
	p := d.person("a")
	p.send("/mode plan").expect(terminal.Done, "Mode: Plan first")
	d.restart()
	p.send("state").expect(terminal.Done, "mode plan, model small")
	p.send("/mode code").expect(terminal.Done, "Mode: Code")
	p.send("state").expect(terminal.Done, "mode code, model small")
}

// A value may depend on another one that was chosen before or after it.
func TestChosenSettingsThatDependOnEachOtherAreSetAgain(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-forgetful -resume -options")
	p := d.person("a")
	p.send("/config model large").expect(terminal.Done, "Model: Large")
	p.send("/config effort high").expect(terminal.Done, "Reasoning effort: High")
	p.send("/config thinking on").expect(terminal.Done, "Extended thinking: on")
	d.restart()
	p.send("state\noptions").expect(terminal.Done, "mode code, model largeeffort high, thinking true")
	p.send("/config model small").expect(terminal.Done, "Model: Small") // resets the effort
	p.send("/config model large").expect(terminal.Done, "Model: Large")
	d.restart()
	p.send("options").expect(terminal.Done, "effort low, thinking true")
	p.send("/config effort high").expect(terminal.Done, "Reasoning effort: High")
	p.send("/config model large").expect(terminal.Done, "Model: Large")
	p.send("/config effort high").expect(terminal.Done, "Reasoning effort: High")
	d.restart()
	p.send("options").expect(terminal.Done, "effort high, thinking true")
}

// A person approves a plan, for example: the agent then leaves the mode that was chosen.
func TestAModeThatTheAgentHasLeftIsNotSetAgain(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-forgetful -resume -modes")
	p := d.person("a")
	p.send("/mode plan").expect(terminal.Done, "Mode: Plan first")
	p.send(`raw {"sessionUpdate":"current_mode_update","currentModeId":"code"}`+"\nsay ok").expect(terminal.Done, "ok")
	d.restart()
	p.send("state").expect(terminal.Done, "mode code, model small")
}

// Agents have modes in which they ask for no permission.
func TestAModeThatNobodyHasChosenIsNotSet(t *testing.T) {
	t.Parallel()
	for name, report := range map[string]string{
		"update":              `{"sessionUpdate":"current_mode_update","currentModeId":"plan"}`,
		"message as Gemini's": geminiReport,
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t, "-name gemini-cli -forgetful -resume -modes")
			p := d.person("a")
			p.send("/mode code").expect(terminal.Done, "Mode: Code")
			p.send("raw "+report+"\nsay ok").expect(terminal.Done, "ok")
			d.restart()
			p.send("state").expect(terminal.Done, "mode code, model small")
			p.memory.forget()
			p.send("state").expect(terminal.Done, "mode code, model small")
		})
	}
}

// geminiReport is the message in which Gemini CLI reports its mode.
const geminiReport = `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"[MODE_UPDATE] plan"}}`

func TestAMessageOfGeminiAboutItsModeIsNotShown(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "-name gemini-cli -modes").person("a")
	p.send("hello")
	p.send("raw "+geminiReport+"\nsay ok").expect(terminal.Done, "ok")
	p.send("/mode").expect(terminal.Done, "Which mode?\n\n1. Code\n2. ✓ Plan first\n\nChoose with /mode and a number or a name.")
}

func TestOnlyGeminiReportsItsModeInAMessage(t *testing.T) {
	t.Parallel()
	const inCode = "Which mode?\n\n1. ✓ Code\n2. Plan first\n\nChoose with /mode and a number or a name."
	for _, c := range []struct{ name, flags, mode string }{
		{"another agent", "-modes", "plan"},
		{"an unknown mode", "-modes -name gemini-cli", "yolo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newFixture(t, c.flags).person("a")
			p.send("raw "+strings.Replace(geminiReport, "plan", c.mode, 1)).expect(terminal.Done, "[MODE_UPDATE] "+c.mode)
			p.send("/mode").expect(terminal.Done, inCode)
		})
	}
}

func TestNothingIsSetUnlessItWasChosen(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-resume -modes -options -refuse mode")
	p := d.person("a")
	p.send("hello")
	d.restart()
	p.send("say hello").expect(terminal.Done, "hello")
	if strings.Contains(p.memory.lasting, "chosen") {
		t.Errorf("remembered %s", p.memory.lasting)
	}
}
