package discord_test

import (
	"net/http"
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

var (
	silent = channels.Notification{Silent: true}
	loud   = channels.Notification{Mention: true}
	secret = channels.Notification{Private: true}
)

func TestASilentMessageNotifiesNobody(t *testing.T) {
	r := newTestChannel(t)
	r.SendAnswer(channels.Message{Text: "quiet", Notification: silent})
	r.SendAnswer(channels.Message{Text: "quiet file", Media: []channels.File{r.WriteFile("a.txt", []byte("a"))}, Notification: silent})
	id := r.SendAnswer(channels.Message{Text: "heard"})[0].ID
	if err := r.Edit(t.Context(), id, r.MustPlan(channels.Message{Chat: chatOf(r.dm), Text: "changed", Notification: silent})[0]); err != nil {
		t.Fatal(err) // the server refuses this flag in an edit
	}
	shown := r.server.BotMessages(r.dm)
	if len(shown[0].Notified)+len(shown[1].Notified) != 0 || !slices.Equal(shown[2].Notified, []string{ada}) {
		t.Errorf("notified are %q, %q, %q", shown[0].Notified, shown[1].Notified, shown[2].Notified)
	}
}

func TestALongAnswerNotifiesOnce(t *testing.T) {
	r := newTestChannel(t)
	r.SendAnswer(channels.Message{Text: strings.Repeat("A sentence of some length. ", 200)})
	shown := r.server.BotMessages(r.dm)
	for i, m := range shown {
		if notifies := len(m.Notified) > 0; notifies != (i == len(shown)-1) {
			t.Errorf("part %d of %d notifies %q", i, len(shown), m.Notified)
		}
	}
	if len(shown) < 3 {
		t.Errorf("%d parts", len(shown))
	}
}

func TestAReplyNotifiesTheAskerIfItMentions(t *testing.T) {
	r := newTestChannel(t)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	asked := r.server.UserSends(ch, ada, "hello").ID
	r.SendAnswer(channels.Message{Chat: chatOf(ch), Text: "no mention", ReplyTo: asked})
	r.SendAnswer(channels.Message{Chat: chatOf(ch), Text: strings.Repeat("<@"+bob+"> word ", 200), ReplyTo: asked, Notification: loud})
	r.SendAnswer(channels.Message{Chat: chatOf(ch), Text: "no reply", Notification: loud})
	shown := r.server.BotMessages(ch)
	if len(shown) < 4 || !slices.Equal(shown[1].Notified, []string{ada}) {
		t.Fatalf("shown is %+v", shown)
	}
	for i, m := range shown {
		if i != 1 && len(m.Notified) != 0 {
			t.Errorf("message %d notifies %q", i, m.Notified)
		}
	}
}

// The message that shows a command is the bot's own, and the first message of a thread is in
// another channel: a reply would notify nobody.
func TestTheAnswerToACommandOrInTheAskersThreadMentionsTheAskerInItsText(t *testing.T) {
	r := withCommands(t, func(o *discord.Options) { o.Thread, o.Groups = true, "all" })
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	r.server.UserSends(ch, ada, "open a thread")
	thread := r.WaitForMessages(1)[0]
	long := strings.TrimSpace(strings.Repeat("word ", 399)) + "."
	r.SendAnswer(channels.Message{Chat: thread.Chat, Text: long + "\n\nthe end", ReplyTo: thread.ID, Notification: loud})
	shown := r.server.WaitForCount(t, thread.Chat.ID, 2)
	if len(shown[0].Notified) != 0 || !slices.Equal(shown[1].Notified, []string{ada}) || shown[1].Content != "the end\n<@"+ada+">" {
		t.Errorf("shown is %+v", shown)
	}
	i := r.runCommand(ch, ada, "ask", map[string]any{"text": "hello"})
	r.server.AwaitInteraction(t, i.ID)
	r.SendAnswer(channels.Message{Chat: chatOf(ch), Text: "<@" + bob + ">", ReplyTo: "slash-" + i.ID, Notification: loud})
	if m := r.server.WaitForText(t, ch, "<@"+bob+">\n<@"+ada+">"); !slices.Equal(m.Notified, []string{ada}) || m.Reference == nil {
		t.Errorf("shown is %+v", m)
	}
}

// privateMenu has a command whose answer only its user sees.
var privateMenu = []channels.Command{{Name: "status", Help: "show it", Private: true}}

func withPrivateCommand(t *testing.T, change ...func(*discord.Options)) (r *testChannel, channel string) {
	t.Helper()
	r = newTestChannel(t, change...)
	r.SetMenu(privateMenu)
	g := r.server.AddGuild("home")
	channel = r.server.AddChannel(g.ID, "general").ID
	r.startConnected()
	r.server.WaitForCalls(r.t, discordtest.PutCommands, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	return r, channel
}

func TestThePrivateAnswerToACommandIsSeenByItsUserOnly(t *testing.T) {
	r, ch := withPrivateCommand(t)
	r.runCommand(ch, ada, "status", nil)
	in := r.WaitForMessages(1)[0]
	m := channels.Message{Chat: chatOf(ch), Text: "all is well", ReplyTo: in.ID, Notification: secret, Buttons: []channels.Button{{Label: "Again", Data: "/again"}}}
	r.SendAnswer(m)
	r.SendAnswer(channels.Message{Chat: chatOf(ch), Text: strings.Repeat("word ", 700), ReplyTo: in.ID, Notification: secret, Media: []channels.File{r.WriteFile("a.txt", []byte("a"))}})
	shown := r.server.BotMessages(ch)
	if len(shown) != 3 || shown[0].Content != "all is well" || len(shown[0].Buttons()) != 1 || len(shown[2].Attachments) != 1 {
		t.Fatalf("shown is %+v", shown)
	}
	for i, m := range shown {
		if m.VisibleTo != ada || len(m.Notified) != 0 || m.VisibleAt.IsZero() {
			t.Errorf("message %d is seen by %q since %v and notifies %q", i, m.VisibleTo, m.VisibleAt, m.Notified)
		}
	}
	wanttest.Equal(t, "messages were sent to all:", len(r.createCalls()), 0)
	if _, err := r.server.UserPresses(ada, shown[0].ID, "/again"); err != nil { // only the token of the press can edit it
		t.Fatal(err)
	}
	if _, ok := r.server.AwaitMessages(ch, waitLimit, func(m []discordtest.Message) bool { return len(m[0].Buttons()) == 0 }); !ok {
		t.Error("the buttons stay")
	}
}

func TestAnAnswerThatIsNotPrivateAlsoEndsTheThinkingOfAPrivateCommand(t *testing.T) {
	r, ch := withPrivateCommand(t)
	r.runCommand(ch, ada, "status", nil)
	in := r.WaitForMessages(1)[0]
	r.SendAnswer(channels.Message{Chat: chatOf(ch), Kind: channels.Progress, Text: "working", ReplyTo: in.ID})
	r.SendAnswer(channels.Message{Chat: chatOf(ch), Kind: channels.Failure, Text: "that failed", ReplyTo: in.ID})
	r.SendAnswer(channels.Message{Chat: chatOf(ch), Text: "to all", ReplyTo: in.ID})
	for text, to := range map[string]string{"working": "", "that failed": ada, "to all": ""} {
		if m := r.server.WaitForText(t, ch, text); m.VisibleTo != to || m.Flags&discordtest.FlagLoading != 0 {
			t.Errorf("%q is seen by %q", text, m.VisibleTo)
		}
	}
}

func TestAPrivateAnswerIsSentToAllWhenItsTokenHasExpired(t *testing.T) {
	r, ch := withPrivateCommand(t)
	r.runCommand(ch, ada, "status", nil)
	in := r.WaitForMessages(1)[0]
	r.server.AdvanceClock(20 * time.Minute)
	m := channels.Message{Chat: chatOf(ch), Text: "late", ReplyTo: in.ID, Notification: secret}
	r.SendAnswer(m)
	m.Text = "after a restart"
	r.restartWithoutCursor().SendAnswer(m)
	for _, text := range []string{"late", "after a restart"} {
		if m := r.server.WaitForText(t, ch, text); m.VisibleTo != "" {
			t.Errorf("%q is seen by %q", text, m.VisibleTo)
		}
	}
}

func TestTheExpiredTokenOfAnInteractionIsNotTheBots(t *testing.T) {
	r, ch := withPrivateCommand(t)
	r.runCommand(ch, ada, "status", nil)
	in := r.WaitForMessages(1)[0]
	r.server.FailNext(discordtest.EditOriginal, discordtest.ErrorResponse(http.StatusUnauthorized, 50027, "Invalid Webhook Token"))
	r.SendAnswer(channels.Message{Chat: chatOf(ch), Text: "late", ReplyTo: in.ID, Notification: secret})
	if m := r.server.WaitForText(t, ch, "late"); m.VisibleTo != "" {
		t.Errorf("it is seen by %q", m.VisibleTo)
	}
}

func TestAPrivateAnswerIsShownOnceWhenItIsRepeated(t *testing.T) {
	r, ch := withPrivateCommand(t)
	r.runCommand(ch, ada, "status", nil)
	in := r.WaitForMessages(1)[0]
	for i, route := range []string{discordtest.EditOriginal, discordtest.Followup} {
		o := r.MustPlan(channels.Message{Chat: chatOf(ch), Text: "answer " + string(rune('1'+i)), ReplyTo: in.ID, Notification: secret})[0]
		o.Key = o.Text
		r.server.FailNext(route, discordtest.Fault{CutAfter: true})
		if err := r.MustFailSend(t.Context(), o); !err.Unknown {
			t.Errorf("the error is %v", err)
		}
		musttest.Get(r.Send(t.Context(), o))(t)
	}
	var texts []string
	for _, m := range r.server.BotMessages(ch) {
		texts = append(texts, m.Content)
	}
	// A followup has no idempotency key, so its repetition is marked.
	wanttest.EqualSlices(t, "shown is", texts, []string{"answer 1", "answer 2", "↻ answer 2"})
}

func TestAPrivateCommandOfAStrangerIsQuotedToThemOnly(t *testing.T) {
	r, ch := withPrivateCommand(t, func(o *discord.Options) { o.Admitted = func(string) bool { return false } })
	r.runCommand(ch, bob, "status", nil)
	in := r.WaitForMessages(1)[0]
	if m := r.server.WaitForText(t, ch, "> /status"); m.VisibleTo != bob {
		t.Errorf("it is seen by %q", m.VisibleTo)
	}
	r.SendAnswer(channels.Message{Chat: chatOf(ch), Text: "Ask the operator.", ReplyTo: in.ID, Notification: secret})
	if m := r.server.WaitForText(t, ch, "Ask the operator."); m.VisibleTo != bob {
		t.Errorf("the answer is seen by %q", m.VisibleTo)
	}
}

func TestDetailsAreAButtonThatIsAnsweredPrivately(t *testing.T) {
	r := newTestChannel(t)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	r.startConnected()
	id := r.SendAnswer(channels.Message{Chat: chatOf(ch), Kind: channels.Progress, Text: "⏳ working", Buttons: []channels.Button{{Label: "Stop", Data: "/stop"}}})[0].ID
	folded := r.MustPlan(channels.Message{
		Chat: chatOf(ch), Kind: channels.Progress, Text: "✓ 20 steps", Details: strings.Repeat("- a step\n", 1000), DetailsPress: "/details 7",
	})
	if len(folded) != 1 {
		t.Fatalf("planned is %+v", folded)
	}
	musttest.Do(t, r.Edit(t.Context(), id, folded[0]))
	board := r.server.WaitForText(t, ch, "✓ 20 steps")
	if b := board.Buttons(); len(b) != 1 || b[0].Label != "Details" {
		t.Fatalf("the buttons are %+v", b)
	}
	for n, user := range []string{ada, bob} {
		musttest.Get(r.server.UserPresses(user, id, board.Buttons()[0].CustomID))(t)
		in := r.WaitForMessages(n + 1)[n]
		if in.Press != "/details 7" || in.User.ID != user {
			t.Errorf("received %+v", in)
		}
		r.SendAnswer(channels.Message{Chat: chatOf(ch), Text: "steps for " + user, ReplyTo: in.ID, Notification: secret})
		if m := r.server.WaitForText(t, ch, "steps for "+user); m.VisibleTo != user || len(m.Notified) != 0 {
			t.Errorf("shown is %+v", m)
		}
	}
	if b := r.server.BotMessages(ch)[0].Buttons(); len(b) != 1 {
		t.Errorf("after a press the buttons are %+v", b)
	}
	wanttest.Equal(t, "messages were sent to all:", len(r.createCalls()), 1)
}

func TestThePrivateAnswerToAnotherPressIsSeenByItsUserOnly(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	r.SendAnswer(channels.Message{Text: "which?", Buttons: []channels.Button{{Label: "Yes", Data: "y"}}})
	musttest.Get(r.server.UserPresses(ada, r.server.WaitForCount(t, r.dm, 1)[0].ID, "y"))(t)
	in := r.WaitForMessages(1)[0]
	r.SendAnswer(channels.Message{Text: "too late", ReplyTo: in.ID, Notification: secret})
	if m := r.server.WaitForText(t, r.dm, "too late"); m.VisibleTo != ada {
		t.Errorf("shown is %+v", m)
	}
}
