package discord_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"nanobot/channels"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
)

// bodyOf is what was asked with a call.
func bodyOf(t *testing.T, c discordtest.Call) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(c.Body, &body); err != nil {
		t.Fatalf("%s: %v", c.Body, err)
	}
	return body
}

func (r *rig) creates() []discordtest.Call { return r.server.Calls(discordtest.CreateMessage) }

func TestNobodyIsPingedByWhatAnAgentSays(t *testing.T) {
	r := newRig(t)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	m := r.server.Say(ch, ada, "hello")
	id := r.tell(channels.Message{Chat: chatOf(ch), Text: "@everyone <@" + ada + "> <@&" + g.BotRole + ">", ReplyTo: m.ID})[0].ID
	if err := r.Edit(t.Context(), id, r.plan(channels.Message{Chat: chatOf(ch), Text: "@here <@" + ada + ">"})[0]); err != nil {
		t.Fatal(err)
	}
	for _, m := range r.server.Shown(ch) {
		if m.Pinged || m.MentionEveryone {
			t.Errorf("somebody was pinged: %+v", m)
		}
	}
	for _, c := range slices.Concat(r.creates(), r.server.Calls(discordtest.EditMessage)) {
		if got, _ := json.Marshal(bodyOf(t, c)["allowed_mentions"]); string(got) != `{"parse":[],"replied_user":false}` {
			t.Errorf("allowed are %s", got)
		}
	}
}

func TestAReplyRefersToTheQuestionOnce(t *testing.T) {
	r := newRig(t)
	m := r.server.Say(r.dm, ada, "hello")
	r.tell(channels.Message{Text: strings.Repeat("word ", 800), ReplyTo: m.ID})
	shown := r.server.Shown(r.dm)
	if len(shown) < 2 || shown[0].Reference == nil || shown[0].Reference.MessageID != m.ID || shown[1].Reference != nil {
		t.Errorf("shown is %+v", shown)
	}
}

func TestAReplyToSomethingThatIsGoneIsSentWithout(t *testing.T) {
	r := newRig(t)
	m := r.server.Say(r.dm, ada, "hello")
	r.server.Delete(r.dm, m.ID)
	r.tell(channels.Message{Text: "an answer", ReplyTo: m.ID})
	r.tell(channels.Message{Text: "to a press", ReplyTo: "press-123"})
	r.server.FailNext(discordtest.CreateMessage, discordtest.Refuse(403, 160002, "You cannot reply without permission to read message history"))
	r.tell(channels.Message{Text: "blind", ReplyTo: m.ID})
	for i, m := range r.server.Shown(r.dm) {
		if m.Reference != nil {
			t.Errorf("message %d refers to %+v", i, m.Reference)
		}
	}
	if n := len(r.server.Shown(r.dm)); n != 3 {
		t.Errorf("%d messages are shown", n)
	}
}

func TestProgressMakesNoSound(t *testing.T) {
	r := newRig(t)
	r.tell(channels.Message{Kind: channels.Progress, Text: "⏳ working", Buttons: []channels.Button{{Label: "Stop", Data: "/stop"}}})
	r.tell(channels.Message{Text: "done"})
	calls := r.creates()
	if f := bodyOf(t, calls[0])["flags"]; f != float64(1<<12) {
		t.Errorf("progress has the flags %v", f)
	}
	if f := bodyOf(t, calls[1])["flags"]; f != nil {
		t.Errorf("an answer has the flags %v", f)
	}
	if b := r.server.Shown(r.dm)[0].Buttons(); len(b) != 1 || b[0].CustomID != "/stop" {
		t.Errorf("the buttons are %+v", b)
	}
}

func TestABubbleIsEditedAndRemoved(t *testing.T) {
	r := newRig(t)
	button := []channels.Button{{Label: "Stop", Data: "/stop"}}
	id := r.tell(channels.Message{Kind: channels.Progress, Text: "one", Buttons: button})[0].ID
	edit := func(text string, buttons []channels.Button) {
		t.Helper()
		o := r.plan(channels.Message{Chat: chatOf(r.dm), Kind: channels.Progress, Text: text, Buttons: buttons})[0]
		if err := r.Edit(t.Context(), id, o); err != nil {
			t.Fatal(err)
		}
	}
	edit("two", button)
	edit("two", button)
	if m := r.server.Shown(r.dm)[0]; m.Content != "two" || len(m.Buttons()) != 1 {
		t.Errorf("shown is %+v", m)
	}
	edit("three", nil)
	if m := r.server.Shown(r.dm)[0]; m.Content != "three" || len(m.Buttons()) != 0 {
		t.Errorf("shown is %+v", m)
	}
	for range 2 { // the second time it is gone, which is what was wanted
		if err := r.Remove(t.Context(), chatOf(r.dm), id); err != nil {
			t.Fatal(err)
		}
	}
	if shown := r.server.Shown(r.dm); len(shown) != 0 {
		t.Errorf("shown is %+v", shown)
	}
	if err := r.Edit(t.Context(), id, r.hello("four")); err == nil {
		t.Error("a message that is gone was edited")
	}
}

func TestTypingIsShown(t *testing.T) {
	r := newRig(t)
	if err := r.Typing(t.Context(), chatOf(r.dm)); err != nil {
		t.Fatal(err)
	}
	if n := r.server.Typing(r.dm); n != 1 {
		t.Errorf("the bot has typed %d times", n)
	}
}

// A send may be cut off at any point, by the network or because we die. Its repetition must not be a second message.
func TestARepeatedSendIsOneMessage(t *testing.T) {
	r := newRig(t)
	for i, fault := range []discordtest.Fault{{CutAfter: true}, {CutBefore: true}, discordtest.Garbage(), discordtest.BadGateway(), {}} {
		o := r.plan(channels.Message{Chat: chatOf(r.dm), Kind: channels.Answer, Text: "hello", Media: []channels.File{r.file("a.txt", []byte("a"))}})[0]
		o.Key = []string{"1", "2", "3", "4", "9223372036854775807"}[i]
		r.server.FailNext(discordtest.CreateMessage, fault)
		first, err := r.Send(t.Context(), o)
		later := newRigOn(t, r.server, r.dir) // another process, with what was stored
		second, again := later.Send(t.Context(), o)
		if again != nil || err == nil && first != second || second.ID == "" {
			t.Errorf("sent as %v, %v, then as %v, %v", first, err, second, again)
		}
		if n := len(r.server.Shown(r.dm)); n != i+1 {
			t.Errorf("after %d messages %d are shown", i+1, n)
		}
	}
	for _, c := range r.creates() {
		body := bodyOf(t, c)
		if nonce, ok := body["nonce"].(string); !ok || nonce == "" || len(nonce) > 25 || body["enforce_nonce"] != true {
			t.Errorf("the nonce is %v, %v", body["nonce"], body["enforce_nonce"])
		}
	}
	if !r.Repeatable() {
		t.Error("the gateway is not told")
	}
}

// Keys begin anew with a new state, soon after which Discord may still remember the old ones.
func TestTheSameKeyWithOtherWordsIsAnotherMessage(t *testing.T) {
	r := newRig(t)
	one, two := r.hello("one"), r.hello("two")
	one.Key, two.Key = "1", "1"
	for _, o := range []channels.Outgoing{one, two} {
		if _, err := r.Send(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.server.Shown(r.dm)); n != 2 {
		t.Errorf("%d messages are shown", n)
	}
}

func TestWhatARefusalMeansIsToldToTheGateway(t *testing.T) {
	type want struct {
		permanent, unknown bool
		after              time.Duration
	}
	for name, c := range map[string]struct {
		fault discordtest.Fault
		want  want
	}{
		"missing permission":  {discordtest.Refuse(403, 50013, "Missing Permissions"), want{permanent: true}},
		"no direct messages":  {discordtest.Refuse(403, 50007, "Cannot send messages to this user"), want{permanent: true}},
		"unknown channel":     {discordtest.Refuse(404, 10003, "Unknown Channel"), want{permanent: true}},
		"invalid":             {discordtest.Refuse(400, 50035, "Invalid Form Body"), want{permanent: true}},
		"not our token":       {discordtest.Refuse(401, 0, "401: Unauthorized"), want{}},
		"an error":            {discordtest.Refuse(500, 0, "oops"), want{unknown: true}},
		"a proxy's error":     {discordtest.BadGateway(), want{unknown: true}},
		"a proxy's refusal":   {discordtest.Fault{Status: 403, Body: "<html>error 1020</html>"}, want{}},
		"too many":            {discordtest.RateLimited(20 * time.Second), want{after: 20 * time.Second}},
		"all too many":        {discordtest.GlobalLimit(20 * time.Second), want{after: 20 * time.Second}},
		"cut before":          {discordtest.Fault{CutBefore: true}, want{unknown: true}},
		"cut after":           {discordtest.Fault{CutAfter: true}, want{unknown: true}},
		"not Discord's words": {discordtest.Garbage(), want{unknown: true}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.server.FailNext(discordtest.CreateMessage, c.fault)
			got := r.sendError(t.Context(), r.hello("hello"))
			if got.Permanent != c.want.permanent || got.Unknown != c.want.unknown || got.After < c.want.after || got.After > c.want.after+time.Second {
				t.Errorf("it means %+v", got)
			}
		})
	}
}

func TestAServerThatCannotBeReachedHasSeenNothing(t *testing.T) {
	r := newRig(t)
	r.server.Close()
	if got := r.sendError(t.Context(), r.hello("hello")); got.Permanent || got.Unknown {
		t.Errorf("it means %+v", got)
	}
}

func TestASendThatIsCutOffByItsContextIsUnknown(t *testing.T) {
	r := newRig(t)
	hang := make(chan struct{})
	defer close(hang)
	r.server.FailNext(discordtest.CreateMessage, discordtest.Fault{Hang: hang})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		r.until(discordtest.CreateMessage, func(c []discordtest.Call) bool { return len(c) > 0 })
		cancel()
	}()
	if got := r.sendError(ctx, r.hello("hello")); !got.Unknown || got.Permanent {
		t.Errorf("it means %+v", got)
	}
}

func TestAChatThatIsNoneIsRefused(t *testing.T) {
	r := newRig(t)
	if _, err := r.Plan(channels.Message{Chat: chatOf("general"), Text: "x"}); err == nil {
		t.Error("it is planned")
	}
	if got := r.sendError(t.Context(), channels.Outgoing{Chat: chatOf("general"), Text: "x"}); !got.Permanent {
		t.Errorf("it means %+v", got)
	}
	if r.Edit(t.Context(), "x", r.hello("x")) == nil || r.Remove(t.Context(), chatOf(r.dm), "") == nil || r.Typing(t.Context(), chatOf("")) == nil {
		t.Error("it is taken")
	}
	if _, err := r.Plan(channels.Message{Chat: chatOf(r.dm), Text: "x", Buttons: []channels.Button{{Label: "x", Data: strings.Repeat("x", 101)}}}); err == nil {
		t.Error("a button that carries too much is planned")
	}
}

func TestTextIsCutWhereDiscordMust(t *testing.T) {
	r := newRig(t)
	text := "Intro\n\n```go\n" + strings.Repeat("fmt.Println(\"hello\") // 👍🏽\n", 150) + "```\n\nThe end."
	plan := r.plan(channels.Message{Chat: chatOf(r.dm), Kind: channels.Answer, Text: text})
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
	r.tell(channels.Message{Text: text})
}

func TestALongTextIsADocument(t *testing.T) {
	r := newRig(t)
	text := "# Title\n\n" + strings.Repeat("A line of **text**.\n", 1000)
	r.tell(channels.Message{Text: text})
	shown := r.server.Shown(r.dm)
	if len(shown) != 1 || len(shown[0].Attachments) != 1 || string(shown[0].Attachments[0].Content) != text || shown[0].Attachments[0].Filename != "answer.md" {
		t.Errorf("shown is %.500v", shown)
	}
}

func TestTwoBotsInOneProcessDoNotDisturbEachOther(t *testing.T) {
	one, two := newRig(t), newRig(t)
	two.server.Token = "MTE1.other.bot" // before anything is asked
	two = newRigOn(t, two.server, two.dir)
	one.connected()
	two.connected()
	one.server.Say(one.dm, ada, "to one")
	two.server.Say(two.dm, ada, "to two")
	if got := one.only(); got.Text != "to one" {
		t.Errorf("got %+v", got)
	}
	if got := two.only(); got.Text != "to two" {
		t.Errorf("got %+v", got)
	}
	one.tell(channels.Message{Text: "from one"})
	two.tell(channels.Message{Text: "from two"})
	one.server.WaitFor(t, one.dm, "from one")
	two.server.WaitFor(t, two.dm, "from two")
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	good := discord.Options{Token: "MTE.abc.def", Folder: func(string) (string, error) { return "", nil }}
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
