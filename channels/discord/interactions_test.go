package discord_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// menu is what the gateway has.
var menu = []channels.Command{{Name: "stop", Help: "stop it"}, {Name: "status", Help: strings.Repeat("what is going on ", 10)}, {Name: "Not a name!", Help: "x"}}

// withCommands returns a connected test channel that has registered its commands.
func withCommands(t *testing.T, change ...func(*discord.Options)) *testChannel {
	t.Helper()
	r := newTestChannel(t, change...)
	r.SetMenu(menu)
	r.startConnected()
	r.server.WaitForCalls(r.t, discordtest.PutCommands, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	return r
}

func (r *testChannel) runCommand(channel, user, command string, options map[string]any) discordtest.Interaction {
	r.t.Helper()
	i := musttest.Get(r.server.UserRunsCommand(channel, user, command, options))(r.t)
	return i
}

func TestCommandsAreRegisteredWhenTheyChange(t *testing.T) {
	r := withCommands(t)
	var names []string
	for _, c := range r.server.Commands("") {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	wanttest.EqualSlices(t, "registered are", names, []string{"ask", "status", "stop"})
	again := r.restartWithoutCursor()
	again.SetMenu(menu)
	again.start()
	r.server.WaitForCalls(r.t, discordtest.GetCommands, func(c []discordtest.Call) bool { return len(c) == 2 && c[1].Done })
	again.receivedSoFar()
	wanttest.Equal(t, "the same commands were registered … times:", len(r.server.Calls(discordtest.PutCommands)), 1)
	third := r.restartWithoutCursor()
	third.SetMenu(menu[:1])
	third.start()
	r.server.WaitForCalls(r.t, discordtest.PutCommands, func(c []discordtest.Call) bool { return len(c) == 2 && c[1].Done })
	wanttest.Equal(t, "commands are registered:", len(r.server.Commands("")), 2)
}

func TestCommandsThatAreRefusedAreOnlyLogged(t *testing.T) {
	r := newTestChannel(t)
	r.server.FailNext(discordtest.PutCommands, discordtest.ErrorResponse(403, 50001, "Missing Access"))
	r.startConnected()
	r.server.UserSends(r.dm, ada, "hello")
	r.WaitForMessages(1)
	r.server.WaitForCalls(r.t, discordtest.PutCommands, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
}

func TestFreeTextReachesTheAgentByACommand(t *testing.T) {
	r := withCommands(t)
	download := make(chan struct{})
	r.server.FailNext(discordtest.CDN, discordtest.Fault{HangUntil: download})
	i := r.runCommand(r.dm, ada, "ask", map[string]any{"text": "what is\nthis?", "file": discordtest.File{Name: "a.txt", Content: []byte("a")}})
	// Discord gives three seconds. Nothing that can take longer is waited for.
	if now := r.server.AwaitInteraction(t, i.ID); now.Type != discordtest.DeferredMessage {
		t.Errorf("it was answered with %d", now.Type)
	}
	close(download)
	got := r.WaitForMessages(1)[0]
	if got.Text != "what is\nthis?" || got.Chat.ID != r.dm || got.User.ID != ada || got.Press != "" || len(got.Media) != 1 {
		t.Fatalf("got %+v", got)
	}
	expectContent(t, got.Media[0], "a")
	asked := r.server.WaitForText(t, r.dm, "> what is\n> this?\n> 📎 a.txt")
	r.SendAnswer(channels.Message{Text: "an answer", ReplyTo: got.ID})
	shown := r.server.WaitForText(t, r.dm, "an answer")
	if shown.Reference == nil || shown.Reference.MessageID != asked.ID {
		t.Errorf("the answer refers to %+v and not to %s", shown.Reference, asked.ID)
	}
}

func TestTheGatewaysCommandsAreReceivedAsTheyWouldBeTyped(t *testing.T) {
	r := withCommands(t)
	r.runCommand(r.dm, ada, "stop", nil)
	if got := r.WaitForMessages(1)[0]; got.Text != "/stop" {
		t.Errorf("got %+v", got)
	}
	r.server.WaitForText(t, r.dm, "> /stop")
}

func TestTheTextAfterACommandIsReceivedWithIt(t *testing.T) {
	r := newTestChannel(t)
	r.SetMenu([]channels.Command{{Name: "key", Help: "send keys", Args: true}})
	r.startConnected()
	r.server.WaitForCalls(r.t, discordtest.PutCommands, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	r.runCommand(r.dm, ada, "key", map[string]any{"text": "Escape :wq Enter"})
	r.runCommand(r.dm, ada, "key", nil)
	if got := r.WaitForMessages(2); got[0].Text != "/key Escape :wq Enter" || got[1].Text != "/key" {
		t.Errorf("got %+v", got)
	}
}

func TestACommandOfTheGatewayNamedAskIsReceivedAsSuch(t *testing.T) {
	r := newTestChannel(t)
	many := []channels.Command{{Name: "Ask", Help: "ask writer", Args: true}}
	for i := range 120 { // more than Discord takes
		many = append(many, channels.Command{Name: fmt.Sprint("faq", i), Help: "ask writer", Args: true})
	}
	r.SetMenu(many)
	r.startConnected()
	r.server.WaitForCalls(r.t, discordtest.PutCommands, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	wanttest.Equal(t, "commands are registered:", len(r.server.Commands("")), 100)
	r.runCommand(r.dm, ada, "ask", map[string]any{"text": "why?"})
	wanttest.Equal(t, "received", r.WaitForMessages(1)[0].Text, "/ask why?")
}

// A turn may take longer than the token of the command that began it lives, and so may a restart.
func TestAnAnswerDoesNotNeedTheTokenOfItsCommand(t *testing.T) {
	r := withCommands(t)
	r.runCommand(r.dm, ada, "ask", map[string]any{"text": "think hard"})
	in := r.WaitForMessages(1)[0]
	r.server.WaitForText(t, r.dm, "> think hard")
	r.server.AdvanceClock(20 * time.Minute)
	r.SendAnswer(channels.Message{Text: "42", ReplyTo: in.ID})
	later := r.restartWithoutCursor()
	later.SendAnswer(channels.Message{Text: "still 42", ReplyTo: in.ID})
	if shown := r.server.WaitForText(t, r.dm, "still 42"); shown.Reference != nil {
		t.Errorf("it refers to %+v", shown.Reference)
	}
}

// Discord is told at once that a command has arrived, even if it cannot be received yet; what was
// asked is shown when it is.
func TestACommandIsShownAsAskedOnceItWasReceived(t *testing.T) {
	r := newTestChannel(t)
	release := make(chan struct{})
	r.Recorder.Reject = func(channels.Incoming) error {
		select {
		case <-release:
			return nil
		default:
			return errors.New("the disk is full")
		}
	}
	r.startConnected()
	r.server.WaitForCalls(r.t, discordtest.PutCommands, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	i := r.runCommand(r.dm, ada, "ask", map[string]any{"text": "hello"})
	r.server.AwaitInteraction(t, i.ID)
	if n := len(r.server.Calls(discordtest.EditOriginal)); n != 0 {
		t.Error("it is shown before it was received")
	}
	close(release)
	r.server.WaitForText(t, r.dm, "> hello")
}

func TestACommandWhoseAnswerIsLostIsAnsweredAgain(t *testing.T) {
	for name, fault := range map[string]discordtest.Fault{
		"before": {CutBefore: true}, "after": {CutAfter: true}, "an error": discordtest.ErrorResponse(500, 0, "oops"),
	} {
		t.Run(name, func(t *testing.T) {
			r := withCommands(t)
			r.server.FailNext(discordtest.Callback, fault)
			r.runCommand(r.dm, ada, "ask", map[string]any{"text": "hello"})
			r.WaitForMessages(1)
			r.server.WaitForText(t, r.dm, "> hello")
		})
	}
}

func TestWhereServersAreOffACommandIsDeclined(t *testing.T) {
	r := withCommands(t, func(o *discord.Options) { o.Groups = "off" })
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	i := r.runCommand(ch, ada, "ask", map[string]any{"text": "hello"})
	if now := r.server.AwaitInteraction(t, i.ID); now.Type != discordtest.AnswerMessage {
		t.Errorf("it was answered with %d", now.Type)
	}
	shown := r.server.WaitForCount(t, ch, 1)[0]
	if shown.Flags&discordtest.FlagEphemeral == 0 || !strings.Contains(shown.Content, "direct messages") {
		t.Errorf("shown is %+v", shown)
	}
	for _, c := range r.server.Commands("") {
		if !slices.Equal(c.Contexts, []int{1}) {
			t.Errorf("%s is offered in %v", c.Name, c.Contexts)
		}
	}
	if got := r.receivedSoFar(); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestEveryPressIsAnsweredAndTheTextStays(t *testing.T) {
	r := newTestChannel(t)
	twice := make(chan struct{}) // the buttons go when the first press was received: not before there are two
	r.Recorder.Reject = func(channels.Incoming) error { <-twice; return nil }
	r.startConnected()
	r.SendAnswer(channels.Message{Text: "which?", Buttons: []channels.Button{{Label: "No", Data: "answer:2"}}})
	m := r.server.WaitForCount(t, r.dm, 1)[0]
	first, err := r.server.UserPresses(ada, m.ID, "answer:2")
	again, errAgain := r.server.UserPresses(ada, m.ID, "answer:2")
	close(twice)
	if err != nil || errAgain != nil {
		t.Fatal(err, errAgain)
	}
	for _, i := range []string{first.ID, again.ID} {
		if now := r.server.AwaitInteraction(t, i); now.Type != discordtest.DeferredUpdate {
			t.Errorf("press %s was answered with %d", i, now.Type)
		}
	}
	if shown, ok := r.server.AwaitMessages(r.dm, waitLimit, func(m []discordtest.Message) bool { return len(m[0].Buttons()) == 0 }); !ok || shown[0].Content != "which?" {
		t.Errorf("shown is %+v", shown)
	}
}

func TestManyOrLongChoicesAreAList(t *testing.T) {
	for _, n := range []int{2, 11, 30, 200} {
		r := newTestChannel(t)
		r.startConnected()
		var buttons []channels.Button
		for i := range n {
			buttons = append(buttons, channels.Button{Label: fmt.Sprintf("choice %d %s", i, strings.Repeat("x", 100)), Data: fmt.Sprintf("answer:%d", i)})
		}
		buttons = append(buttons, buttons[0]) // which Discord would refuse
		r.SendAnswer(channels.Message{Text: "which?", Buttons: buttons})
		m := r.server.WaitForCount(t, r.dm, 1)[0]
		lists := m.Buttons()
		if want := min((n+24)/25, 5); len(lists) != want || lists[0].Type != discordtest.StringSelect {
			t.Fatalf("of %d choices there are %d lists: %+v", n, len(lists), lists)
		}
		last := lists[len(lists)-1]
		musttest.Get(r.server.UserPresses(ada, m.ID, last.CustomID, last.Options[len(last.Options)-1].Value))(t)
		if got := r.WaitForMessages(1)[0]; got.Press != fmt.Sprintf("answer:%d", min(n, 125)-1) {
			t.Errorf("got %+v", got)
		}
	}
}

func TestInteractionsAreReceivedInOrderWithMessages(t *testing.T) {
	r := withCommands(t)
	hang := make(chan struct{})
	r.server.FailNext(discordtest.CDN, discordtest.Fault{HangUntil: hang})
	r.server.UserSends(r.dm, ada, "one", discordtest.File{Name: "a.txt", Content: []byte("a")})
	i := r.runCommand(r.dm, ada, "ask", map[string]any{"text": "two"})
	r.server.UserSends(r.dm, ada, "three")
	r.server.AwaitInteraction(t, i.ID) // which does not wait
	close(hang)
	wanttest.EqualSlices(t, "got", textsOf(r.WaitForMessages(3)), []string{"one", "two", "three"})
}

func TestTheTokensOfInteractionsAreInNoLog(t *testing.T) {
	r := withCommands(t)
	r.server.FailNext(discordtest.Callback, discordtest.Fault{CutBefore: true}, discordtest.ErrorResponse(404, 10062, "Unknown interaction"))
	i := r.runCommand(r.dm, ada, "ask", map[string]any{"text": "hello"})
	r.WaitForMessages(1)
	r.server.WaitForCalls(r.t, discordtest.Callback, func(c []discordtest.Call) bool { return len(c) == 2 && c[1].Done })
	r.WaitForLog("interaction not acknowledged")
	if log := r.LogText(); strings.Contains(log, i.Token) {
		t.Errorf("the log is %s", log)
	}
}

func TestOnlyThePersonWhoHasPressedAButtonSeesTheResponse(t *testing.T) {
	r := newTestChannel(t)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	r.startConnected()
	o := r.PlanText("which?")
	o.Chat, o.Buttons = chatOf(ch), []channels.Button{{Label: "Yes", Data: "answer:1", Stays: true}}
	musttest.Get(r.Send(t.Context(), o))(t)
	m := r.server.WaitForCount(t, ch, 1)[0]
	musttest.Get(r.server.UserPresses(ada, m.ID, m.Buttons()[0].CustomID))(t)
	r.WaitForMessages(1)[0].Respond("Only *an approver* may answer.")
	shown := r.server.WaitForCount(t, ch, 2)[1]
	if shown.Flags&discordtest.FlagEphemeral == 0 || shown.Content != `Only \*an approver\* may answer.` {
		t.Errorf("shown is %+v", shown)
	}
}
