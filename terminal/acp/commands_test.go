package acp_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"nanobot/config"
	"nanobot/internal/role"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

func TestModeAndModel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ flags, command, answer, want string }{
		{"-modes", "/mode plan", "Mode: Plan first", "mode plan, model small"},
		{"-modes", "/mode 2", "Mode: Plan first", "mode plan, model small"},
		{"-modes", "/mode Plan first", "Mode: Plan first", "mode plan, model small"},
		{"-configs", "/model large", "Model: Large", "mode code, model large"},
		{"-models", "/model LARGE", "Model: Large", "mode code, model large"},
		{"-models", "/model huge", "There is no model \"huge\".\n\n1. ✓ Small\n2. Large\n\nChoose with /model and a number or a name.", "mode code, model small"},
		{"-modes", "/model large", "This agent has no model to choose.", "mode code, model small"},
		{"-modes", "/mode", "Which mode?\n\n1. ✓ Code\n2. Plan first\n\nChoose with /mode and a number or a name.", "mode code, model small"},
	} {
		t.Run(c.flags+" "+c.command, func(t *testing.T) {
			p := newFixture(t, c.flags).person("a")
			p.send(c.command).expect(terminal.Done, c.answer)
			p.send("state").expect(terminal.Done, c.want)
		})
	}
}

// pickers records what a person is offered, and can choose from it.
type pickers struct {
	*person
	offered []terminal.Question
}

func (p *person) recordPickers() *pickers {
	r := &pickers{person: p}
	p.offer = func(q terminal.Question) { r.offered = append(r.offered, q) }
	return r
}

// askOrOffer is the Ask of the chat.
func (p *person) askOrOffer(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
	switch {
	case len(q.Commands) > 0 && p.offer != nil:
		p.offer(q)
		return terminal.Answer{}, nil
	case len(q.Commands) == 0 && p.ask != nil:
		return p.ask(ctx, q)
	}
	return terminal.Answer{}, terminal.ErrNobodyToAsk
}

// last returns the newest picker as text.
func (r *pickers) last() string {
	if len(r.offered) == 0 {
		return ""
	}
	k := r.offered[len(r.offered)-1]
	text := k.Text
	for _, o := range k.Options {
		text += " [" + o + "]"
	}
	return text
}

// choose sends the command of an option of the newest picker.
func (r *pickers) choose(i int) *turnResult {
	r.t.Helper()
	return r.send(r.offered[len(r.offered)-1].Commands[i])
}

func TestModeModelAndSessionsOfferAPickerAndEndTheirTurn(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "-modes -configs -list -load").person("a").recordPickers()
	p.ask = func(context.Context, terminal.Question) (terminal.Answer, error) {
		t.Error("a turn waits for an answer")
		return terminal.Answer{}, terminal.ErrNobodyToAsk
	}
	p.send("/model").expect(terminal.Done, "")
	wanttest.Equal(t, "offered", p.last(), "Which model? [✓ Small] [Large]")
	p.choose(1).expect(terminal.Done, "Model: Large")
	p.send("/mode").expect(terminal.Done, "")
	p.choose(1).expect(terminal.Done, "Mode: Plan first")
	p.send("state").expect(terminal.Done, "mode plan, model large")
	wanttest.Equal(t, "about", p.agentInfo.Line, "acptest · Large · Plan first")
	p.memory.forget()
	p.send("say two")
	p.send("/sessions").expect(terminal.Done, "")
	// Both sessions may have been used at the same time, so that either can be the first.
	at := 0
	switch got := p.last(); got {
	case "Which conversation? [state] [✓ say two]":
	case "Which conversation? [✓ say two] [state]":
		at = 1
	default:
		t.Errorf("offered %q", got)
	}
	if text := p.choose(at).text(terminal.Message); !strings.HasPrefix(text, "Conversation: state") {
		t.Errorf("said %q", text)
	}
	if k := p.offered; k[0].Approval || !k[1].Approval || k[2].Approval {
		t.Errorf("approvers must choose the mode, and only that: %+v", k)
	}
}

// An agent may have a mode in which it asks for no permission.
func TestAChangeOfTheModeNeedsApproval(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-modes", func(c *config.Terminal) { c.Approvers = []string{"telegram:7", "cli:8"} })
	p := d.person("a")
	p.send("/mode plan").expect(terminal.Done, "The mode was not changed.") // nobody can be asked
	answer := "No"
	var asked []terminal.Question
	p.ask = func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
		asked = append(asked, q)
		return terminal.Answer{Text: answer}, nil
	}
	p.send("/mode plan").expect(terminal.Done, "The mode was not changed.")
	p.send("state").expect(terminal.Done, "mode code, model small")
	answer = "Yes"
	p.send("/mode plan").expect(terminal.Done, "Mode: Plan first")
	const text = "🔐 Change the mode to `Plan first`?"
	if len(asked) != 2 || asked[0].Text != text || !asked[0].Approval || asked[1].Text != text || !asked[1].Approval {
		t.Fatalf("asked %+v", asked)
	}
	if asked[0].ID == "" || asked[0].ID == asked[1].ID { // an answer that was given before a crash would answer it, too
		t.Errorf("both questions have the ID %q", asked[0].ID)
	}
	p.user = &terminal.User{ID: "7"} // of another channel
	p.send("/mode code")
	p.user = &terminal.User{ID: "8"}
	p.forwarded = &terminal.Forwarded{}
	p.send("/mode code")
	if len(asked) != 4 {
		t.Fatalf("asked %+v", asked)
	}
	p.forwarded = nil
	p.send("/mode plan").expect(terminal.Done, "Mode: Plan first") // an approver has decided by writing it
	if len(asked) != 4 {
		t.Errorf("an approver was asked: %+v", asked[4:])
	}
}

func TestTheRoleOfThePersonDecidesAboutSettings(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-modes -options -list -load")
	p := d.person("a")
	p.user, p.role = &terminal.User{ID: "7"}, role.Guest
	for _, command := range []string{"/mode plan", "/model big", "/config", "/sessions"} {
		p.send(command).expect(terminal.Done, "Your role here is guest, which does not include this.")
	}
	p.role = role.User
	p.send("/mode plan").expect(terminal.Done, "The mode was not changed.") // nobody can be asked
	p.send("/model large").expect(terminal.Done, "Model: Large")
	p.role = role.Approver
	p.forwarded = &terminal.Forwarded{}
	p.send("/mode plan").expect(terminal.Done, "The mode was not changed.")
	p.forwarded = nil
	p.send("/mode plan").expect(terminal.Done, "Mode: Plan first")
}

func TestAnApproverOfOneAccountIsNoneOfAnother(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-modes", func(c *config.Terminal) { c.Approvers = []string{"telegram.work:7", "telegram:8"} })
	for channel, approver := range map[string]string{"telegram": "8", "telegram.work": "7"} {
		for _, user := range []string{"7", "8"} {
			p := d.person(channel + user)
			p.channel, p.user = channel, &terminal.User{ID: user}
			want := "The mode was not changed." // nobody can be asked
			if user == approver {
				want = "Mode: Plan first"
			}
			p.send("/mode plan").expect(terminal.Done, want)
		}
	}
}

func TestSessionsAreListedAndSwitched(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "-list -load -close").person("a")
	p.send("say one")
	p.memory.forget()
	p.send("say two")
	if text := p.send("/sessions").text(terminal.Message); !strings.Contains(text, "say one") || !strings.Contains(text, "✓ say two") {
		t.Errorf("listed %q", text)
	}
	p.send("/sessions say one").expect(terminal.Done, "Conversation: say one")
	p.send("history").expect(terminal.Done, "prompts so far: 2")
	p.send("/sessions say one").expect(terminal.Done, "This is the conversation that you are in.")
	if text := p.send("/sessions three").text(terminal.Message); !strings.HasPrefix(text, "There is no conversation \"three\".\n\n1. ") || !strings.Contains(text, "✓ say one") {
		t.Errorf("said %q", text)
	}
}

func TestSessionsOfOtherChatsAreNotOffered(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-list -load -close")
	alice, bob := d.person("alice"), d.person("bob")
	alice.send("say my salary")
	bob.send("say hello")
	if text := bob.send("/sessions").text(terminal.Message); strings.Contains(text, "salary") || !strings.Contains(text, "1. ✓ say hello") {
		t.Errorf("listed %q", text)
	}
	for _, wanted := range []string{"2", "say my salary", "salary"} {
		if text := bob.send("/sessions " + wanted).text(terminal.Message); !strings.HasPrefix(text, "There is no conversation") {
			t.Errorf("%s: said %q", wanted, text)
		}
	}
	bob.send("history").expect(terminal.Done, "prompts so far: 2")

	var known struct{ Session string }
	if err := json.Unmarshal([]byte(alice.memory.s), &known); err != nil || known.Session == "" {
		t.Fatal(alice.memory.s, err)
	}
	bob.send("/sessions "+known.Session).expect(terminal.Done, "This conversation is open in another chat.")
	bob.send("history").expect(terminal.Done, "prompts so far: 3")
	d.restart() // no agent is kept now
	bob.send("/sessions "+known.Session).expect(terminal.Done, "Conversation: say my salary")
	bob.send("history").expect(terminal.Done, "prompts so far: 2")
	alice.send("history").expect(terminal.Done, newSessionNotice+"\n\nprompts so far: 1")
	if text := bob.send("/sessions").text(terminal.Message); !strings.Contains(text, "✓ say my salary") || !strings.Contains(text, "say hello") {
		t.Errorf("listed %q", text)
	}
}

func TestAChatsSessionsAreKnownAfterANewConversationAndARestart(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-list -load")
	p := d.person("a")
	for _, text := range []string{"say one", "say two", "say three"} {
		p.memory.forget()
		p.send(text)
	}
	d.restart()
	text := p.send("/sessions").text(terminal.Message)
	for _, want := range []string{"say one", "say two", "✓ say three"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	var past []any
	for range 50 {
		p.memory.forget()
		p.send("hello")
	}
	if err := json.Unmarshal([]byte(p.memory.lasting), &past); err != nil || len(past) != 50 {
		t.Errorf("%d are remembered, %v", len(past), err)
	}
}

func TestSessionsOfAnAgentThatCannotListThem(t *testing.T) {
	t.Parallel()
	newFixture(t, "").person("a").send("/sessions").expect(terminal.Done, "This agent does not list its conversations.")
}

func TestOtherCommandsGoToTheAgent(t *testing.T) {
	t.Parallel()
	newFixture(t, "").person("a").send("/review all of it").expect(terminal.Done, "You said: /review all of it")
}

func TestSessionDetailsAreReported(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "-list -models").person("a")
	p.send(`raw {"sessionUpdate":"session_info_update","title":"Fix the tests"}
raw {"sessionUpdate":"usage_update","used":12345,"size":200000,"cost":{"amount":0.3712,"currency":"USD"}}
raw {"sessionUpdate":"available_commands_update","availableCommands":[{"name":"review","description":"Look"},{"name":"model","description":"its own"}]}`)
	wanttest.Equal(t, "about", p.agentInfo.Line, "Fix the tests · Small · 12k of 200k tokens · 0.37 USD")
	var names []string
	for _, c := range p.agentInfo.Commands {
		names = append(names, c.Name)
	}
	if strings.Join(names, " ") != "sessions model config review" {
		t.Errorf("commands %q", names)
	}
}

func TestTheCostInTheStatus(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	for cost, want := range map[string]string{
		`{"amount":0.37,"currency":"USD"}`:  "acptest · 0.37 USD",
		`{"amount":0.37,"currency":""}`:     "acptest · 0.37",
		`{"amount":0.004,"currency":"EUR"}`: "acptest · <0.01 EUR",
		`{"amount":0,"currency":"USD"}`:     "acptest",
	} {
		p.send(`raw {"sessionUpdate":"usage_update","used":0,"size":0,"cost":` + cost + "}")
		wanttest.Equal(t, cost+":", p.agentInfo.Line, want)
	}
}

func TestWhoSeesWhichSessions(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-list -load -close")
	d.person("other").send("say of another chat")
	elsewhere := d.person("elsewhere")
	elsewhere.memory.ofChats = &sync.Map{} // it is no chat of the bot
	elsewhere.send("say from the terminal")
	d.restart() // both are open in no chat now
	p := d.person("a").recordPickers()
	p.send("say mine")
	for access, want := range map[terminal.SessionAccess]string{
		terminal.OwnSessions:       "[✓ say mine]",
		terminal.SessionsElsewhere: "[say from the terminal] [✓ say mine]",
		terminal.AllSessions:       "[say of another chat] [say from the terminal] [✓ say mine]",
	} {
		p.access = access
		p.send("/sessions").expect(terminal.Done, "")
		if got := p.last(); got != "Which conversation? "+want {
			t.Errorf("access %d: offered %q", access, got)
		}
	}
	p.access = terminal.SessionsElsewhere
	p.send("/sessions")
	p.choose(0).expect(terminal.Done, "Conversation: say from the terminal")
	p.send("history").expect(terminal.Done, "prompts so far: 2")
	d.restart()
	other := d.person("b").recordPickers() // now it is a session of a chat
	other.access = terminal.SessionsElsewhere
	other.send("say other")
	other.send("/sessions").expect(terminal.Done, "")
	wanttest.Equal(t, "offered", other.last(), "Which conversation? [✓ say other]")
}

func TestSessionsOfAnotherFolderAreNotOffered(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-list -load -close")
	d.person("other").send("say there")
	d.workspace = t.TempDir()
	d.restart()
	p := d.person("a").recordPickers()
	p.access = terminal.AllSessions
	p.send("say here")
	p.send("/sessions").expect(terminal.Done, "")
	wanttest.Equal(t, "offered", p.last(), "Which conversation? [✓ say here]")
}
