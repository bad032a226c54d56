package discord_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// bodyOf returns the body of a call.
func bodyOf(t *testing.T, c discordtest.Call) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(c.Body, &body); err != nil {
		t.Fatalf("%s: %v", c.Body, err)
	}
	return body
}

func (r *testChannel) createCalls() []discordtest.Call {
	return r.server.Calls(discordtest.CreateMessage)
}

func TestAnswersOfAnAgentNotifyNobody(t *testing.T) {
	r := newTestChannel(t)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	m := r.server.UserSends(ch, ada, "hello")
	id := r.SendAnswer(channels.Message{Chat: chatOf(ch), Text: "@everyone <@" + ada + "> <@&" + g.BotRole + ">", ReplyTo: m.ID})[0].ID
	musttest.Do(t, r.Edit(t.Context(), id, r.MustPlan(channels.Message{Chat: chatOf(ch), Text: "@here <@" + ada + ">"})[0]))
	for _, m := range r.server.BotMessages(ch) {
		if m.Pinged || m.MentionEveryone {
			t.Errorf("somebody was pinged: %+v", m)
		}
	}
	for _, c := range slices.Concat(r.createCalls(), r.server.Calls(discordtest.EditMessage)) {
		if got, _ := json.Marshal(bodyOf(t, c)["allowed_mentions"]); string(got) != `{"parse":[],"replied_user":false}` {
			t.Errorf("allowed are %s", got)
		}
	}
}

func TestAReplyRefersToTheQuestionOnce(t *testing.T) {
	r := newTestChannel(t)
	m := r.server.UserSends(r.dm, ada, "hello")
	r.SendAnswer(channels.Message{Text: strings.Repeat("word ", 800), ReplyTo: m.ID})
	shown := r.server.BotMessages(r.dm)
	if len(shown) < 2 || shown[0].Reference == nil || shown[0].Reference.MessageID != m.ID || shown[1].Reference != nil {
		t.Errorf("shown is %+v", shown)
	}
}

func TestAReplyToSomethingThatIsGoneIsSentWithout(t *testing.T) {
	r := newTestChannel(t)
	m := r.server.UserSends(r.dm, ada, "hello")
	r.server.UserDeletes(r.dm, m.ID)
	r.SendAnswer(channels.Message{Text: "an answer", ReplyTo: m.ID})
	r.SendAnswer(channels.Message{Text: "to a press", ReplyTo: "press-123"})
	r.server.FailNext(discordtest.CreateMessage, discordtest.ErrorResponse(403, 160002, "You cannot reply without permission to read message history"))
	r.SendAnswer(channels.Message{Text: "blind", ReplyTo: m.ID})
	for i, m := range r.server.BotMessages(r.dm) {
		if m.Reference != nil {
			t.Errorf("message %d refers to %+v", i, m.Reference)
		}
	}
	wanttest.Equal(t, "messages are shown:", len(r.server.BotMessages(r.dm)), 3)
}

func TestProgressMakesNoSound(t *testing.T) {
	r := newTestChannel(t)
	r.SendAnswer(channels.Message{Kind: channels.Progress, Text: "⏳ working", Buttons: []channels.Button{{Label: "Stop", Data: "/stop"}}})
	r.SendAnswer(channels.Message{Text: "done"})
	calls := r.createCalls()
	if f := bodyOf(t, calls[0])["flags"]; f != float64(1<<12) {
		t.Errorf("progress has the flags %v", f)
	}
	if f := bodyOf(t, calls[1])["flags"]; f != nil {
		t.Errorf("an answer has the flags %v", f)
	}
	if b := r.server.BotMessages(r.dm)[0].Buttons(); len(b) != 1 || b[0].CustomID != "/stop" {
		t.Errorf("the buttons are %+v", b)
	}
}

func TestAMessageIsEditedAndRemoved(t *testing.T) {
	r := newTestChannel(t)
	button := []channels.Button{{Label: "Stop", Data: "/stop"}}
	id := r.SendAnswer(channels.Message{Kind: channels.Progress, Text: "one", Buttons: button})[0].ID
	edit := func(text string, buttons []channels.Button) {
		t.Helper()
		o := r.MustPlan(channels.Message{Chat: chatOf(r.dm), Kind: channels.Progress, Text: text, Buttons: buttons})[0]
		musttest.Do(t, r.Edit(t.Context(), id, o))
	}
	edit("two", button)
	edit("two", button)
	if m := r.server.BotMessages(r.dm)[0]; m.Content != "two" || len(m.Buttons()) != 1 {
		t.Errorf("shown is %+v", m)
	}
	edit("three", nil)
	if m := r.server.BotMessages(r.dm)[0]; m.Content != "three" || len(m.Buttons()) != 0 {
		t.Errorf("shown is %+v", m)
	}
	for range 2 { // the second time it is gone, which is what was wanted
		musttest.Do(t, r.Remove(t.Context(), chatOf(r.dm), id))
	}
	if shown := r.server.BotMessages(r.dm); len(shown) != 0 {
		t.Errorf("shown is %+v", shown)
	}
	if err := r.Edit(t.Context(), id, r.PlanText("four")); err == nil {
		t.Error("a message that is gone was edited")
	}
}

func TestTypingIsShown(t *testing.T) {
	r := newTestChannel(t)
	musttest.Do(t, r.Typing(t.Context(), chatOf(r.dm)))
	wanttest.Equal(t, "the bot has typed … times:", r.server.TypingCount(r.dm), 1)
}

func TestTextIsSplitAtDiscordsLimit(t *testing.T) {
	r := newTestChannel(t)
	text := "Intro\n\n```go\n" + strings.Repeat("fmt.Println(\"hello\") // 👍🏽\n", 150) + "```\n\nThe end."
	plan := r.MustPlan(channels.Message{Chat: chatOf(r.dm), Kind: channels.Answer, Text: text})
	if len(plan) < 2 || len(plan) > 5 {
		t.Fatalf("it is cut into %d parts", len(plan))
	}
	for i, o := range plan {
		if n := utf8.RuneCountInString(o.Text); n > 2000 || strings.Count(o.Text, "```")%2 != 0 {
			t.Errorf("part %d has %d letters and %d fences", i, n, strings.Count(o.Text, "```"))
		}
	}
	if !strings.HasPrefix(plan[1].Text, "```go\n") {
		t.Errorf("the second part begins with %.20q", plan[1].Text)
	}
	r.SendAnswer(channels.Message{Text: text})
}

func TestALongTextIsADocument(t *testing.T) {
	r := newTestChannel(t)
	text := "# Title\n\n" + strings.Repeat("A line of **text**.\n", 1000)
	r.SendAnswer(channels.Message{Text: text})
	shown := r.server.BotMessages(r.dm)
	if len(shown) != 1 || len(shown[0].Attachments) != 1 || string(shown[0].Attachments[0].Content) != text || shown[0].Attachments[0].Filename != "answer.md" {
		t.Errorf("shown is %.500v", shown)
	}
}

func TestTwoBotsInOneProcessDoNotDisturbEachOther(t *testing.T) {
	one, two := newTestChannel(t), newTestChannel(t)
	two.server.Token = "MTE1.other.bot" // before anything is asked
	two = newTestChannelOn(t, two.server, two.dir)
	one.startConnected()
	two.startConnected()
	one.server.UserSends(one.dm, ada, "to one")
	two.server.UserSends(two.dm, ada, "to two")
	if got := one.onlyMessage(); got.Text != "to one" {
		t.Errorf("got %+v", got)
	}
	if got := two.onlyMessage(); got.Text != "to two" {
		t.Errorf("got %+v", got)
	}
	one.SendAnswer(channels.Message{Text: "from one"})
	two.SendAnswer(channels.Message{Text: "from two"})
	one.server.WaitForText(t, one.dm, "from one")
	two.server.WaitForText(t, two.dm, "from two")
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	good := discord.Options{Token: "MTE.abc.def", Folder: channelstest.ChatFolders("")}
	for name, change := range map[string]func(*discord.Options){
		"token":   func(o *discord.Options) { o.Token = " " },
		"like":    func(o *discord.Options) { o.Token = "MTE.a/../b" },
		"apiBase": func(o *discord.Options) { o.APIBase = "discord.com" },
		"groups":  func(o *discord.Options) { o.Groups = "sometimes" },
		"folder":  func(o *discord.Options) { o.Folder = nil },
	} {
		o := good
		change(&o)
		if _, err := discord.New(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: New returned %v", name, err)
		}
	}
	good.Token = "Bot MTE.abc.def\n" // as people copy it
	if _, err := discord.New(good); err != nil {
		t.Error(err)
	}
}
