package telegram_test

import (
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/entities"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

const report = "# Report\n\n| a | b |\n|---|--:|\n| **1** | `2` |\n\n- [x] done\n- [ ] open"

func TestTablesHeadingsAndTaskListsAreSentAsARichMessage(t *testing.T) {
	r := newTestChannel(t)
	for text, want := range map[string]string{
		"# Title\ntext":                  "<h1>Title</h1><p>text</p>",
		"- [x] a\n- [ ] b\n  1. c":       `<ul><li><input type="checkbox" checked>a</li><li><input type="checkbox">b<ol><li>c</li></ol></li></ul>`,
		"| a | b |\n|:-:|--|\n| 1 | < |": `<table bordered striped><tr><th align="center">a</th><th>b</th></tr><tr><td align="center">1</td><td>&lt;</td></tr></table>`,
		"> # a\n\n# b\n\n```go\nx\n```":  `<blockquote><p><b>a</b></p></blockquote><h1>b</h1><pre><code class="language-go">x</code></pre>`,
		"# [](https://example.org) [![x](y.png)](https://example.org) [https://good.org](https://evil.org)": `<h1><a href="https://example.org">https://example.org</a> <a href="https://example.org">x</a> ` +
			`<a href="https://evil.org">https://good.org</a> (leads to evil.org)</h1>`,
		"# [a](https://example.org) [b](c)\n1\n2\n\n---": `<h1><a href="https://example.org">a</a> b (c)</h1><p>1<br>2</p><hr/>`,
	} {
		before := len(r.server.BotMessages(person))
		r.SendAnswer(channels.Message{Text: text, Buttons: []channels.Button{{Label: "OK", Data: "ok"}}})
		shown := r.server.BotMessages(person)[before:]
		if len(shown) != 1 || shown[0].Rich != want || len(shown[0].Buttons()) != 1 || shown[0].Silent {
			t.Errorf("%q is shown as %+v", text, shown)
		}
	}
}

func TestOtherMessagesAreNotRich(t *testing.T) {
	r := newTestChannel(t)
	off := newTestChannel(t, func(o *telegram.Options) { o.NoRich = true })
	r.SendAnswer(channels.Message{Text: "a **plain** text\n- with\n- a list"})
	r.SendAnswer(channels.Message{Text: report, Kind: channels.Progress})
	r.SendAnswer(channels.Message{Text: report, Details: "more"})
	r.SendAnswer(channels.Message{Text: report, Media: []channels.File{r.WriteFile("a.pdf", []byte("x"))}})
	r.SendAnswer(channels.Message{Text: strings.Repeat(report+"\n\n", 200)})
	off.SendAnswer(channels.Message{Text: report})
	for _, m := range append(r.server.BotMessages(person), off.server.BotMessages(person)...) {
		wanttest.Equal(t, "rich is", m.Rich, "")
	}
}

func TestAServerWithoutRichMessagesGetsThePlainOneAndIsAskedOnce(t *testing.T) {
	r := newTestChannel(t)
	r.server.ForgetMethods("sendRichMessage")
	r.SendAnswer(channels.Message{Text: "# one"})
	r.SendAnswer(channels.Message{Text: "# two"})
	shown := r.server.BotMessages(person)
	if len(shown) != 2 || shown[0].Text != "one" || shown[1].Text != "two" || len(r.server.Calls("sendRichMessage")) != 1 {
		t.Errorf("shown are %q after %d calls", captions(shown), len(r.server.Calls("sendRichMessage")))
	}
}

func TestARefusedRichMessageIsSentPlainAndTheNextOneRich(t *testing.T) {
	r := newTestChannel(t)
	r.server.FailNext("sendRichMessage", telegramtest.ErrorResponse(400, "Bad Request: RICH_MESSAGE_INVALID"))
	r.SendAnswer(channels.Message{Text: "# one"})
	r.SendAnswer(channels.Message{Text: "# two"})
	shown := r.server.BotMessages(person)
	if len(shown) != 2 || shown[0].Text != "one" || shown[1].Rich != "<h1>two</h1>" {
		t.Errorf("shown are %+v", shown)
	}
}

func TestAServerThatFailsTwiceWithRichMessagesGetsPlainOnes(t *testing.T) {
	r := newTestChannel(t)
	r.server.SetFault(func(c telegramtest.Call) telegramtest.Fault {
		if c.Method == "sendRichMessage" {
			return telegramtest.ErrorResponse(500, "Internal Server Error")
		}
		return telegramtest.Fault{}
	})
	one := r.PlanText("# one")
	for range 2 { // nothing else is sent by a call whose outcome is unknown
		if se := r.MustFailSend(t.Context(), one); !se.Unknown || len(r.server.Calls("sendMessage")) > 0 {
			t.Errorf("it means %+v", se)
		}
	}
	one.Repeat = true
	musttest.Get(r.Send(t.Context(), one))(t)
	r.SendAnswer(channels.Message{Text: "# two"})
	shown := r.server.BotMessages(person)
	if len(shown) != 2 || shown[0].Text != "↻ one" || shown[1].Text != "two" || len(r.server.Calls("sendRichMessage")) != 2 {
		t.Errorf("shown are %q after %d calls", captions(shown), len(r.server.Calls("sendRichMessage")))
	}
}

func TestFailuresOfRichMessagesAreForgottenAfterASuccess(t *testing.T) {
	r := newTestChannel(t)
	for range 3 {
		r.server.FailNext("sendRichMessage", telegramtest.ErrorResponse(500, "Internal Server Error"))
		one := r.PlanText("# one")
		r.MustFailSend(t.Context(), one)
		musttest.Get(r.Send(t.Context(), one))(t)
	}
	if n := len(r.server.Calls("sendRichMessage")); n != 6 {
		t.Errorf("%d were rich", n)
	}
}

func TestAServerThatFailsWithEveryMethodGetsRichMessagesAgain(t *testing.T) {
	r := newTestChannel(t)
	r.server.FailNext("", telegramtest.BadGateway(), telegramtest.BadGateway(), telegramtest.BadGateway())
	for range 3 {
		r.MustFailSend(t.Context(), r.PlanText("# one"))
	}
	r.SendAnswer(channels.Message{Text: "# one"})
	if n := len(r.server.Calls("sendMessage")); n != 1 || r.server.BotMessages(person)[0].Rich == "" {
		t.Errorf("%d were plain", n)
	}
}

func TestARichMessageWhoseOutcomeIsUnknownIsNotSentTwice(t *testing.T) {
	r := newTestChannel(t)
	r.server.FailNext("sendRichMessage", telegramtest.ErrorAfterEffect(502))
	o := r.PlanText(report)
	if se := r.MustFailSend(t.Context(), o); !se.Unknown {
		t.Errorf("the error is %+v", se)
	}
	if shown := r.server.BotMessages(person); len(shown) != 1 {
		t.Errorf("shown are %q", captions(shown))
	}
	o.Repeat = true
	musttest.Get(r.Send(t.Context(), o))(t)
	if shown := r.server.BotMessages(person); !strings.HasPrefix(shown[1].RichText, "↻\n") {
		t.Errorf("the repetition is %q", shown[1].RichText)
	}
}

func TestAStreamedTextIsEditedIntoARichMessageAndBack(t *testing.T) {
	r := newTestChannel(t)
	id := r.SendAnswer(channels.Message{Text: "Report"})[0].ID
	for range 2 { // a repetition changes nothing
		musttest.Get(r.Replace(t.Context(), id, r.PlanText(report)))(t)
	}
	m := r.server.BotMessages(person)[0]
	if m.Text != "" || !strings.HasPrefix(m.Rich, "<h1>Report</h1><table") || m.Edits != 1 {
		t.Errorf("shown is %+v", m)
	}
	if err := r.Edit(t.Context(), id, r.PlanText("plain")); err != nil || r.server.BotMessages(person)[0].Text != "plain" {
		t.Errorf("shown is %+v: %v", r.server.BotMessages(person)[0], err)
	}
	r.server.FailNext("editMessageText", telegramtest.ErrorResponse(400, "Bad Request: message text is empty"))
	if err := r.Edit(t.Context(), id, r.PlanText("# title")); err != nil || r.server.BotMessages(person)[0].Text != "title" {
		t.Errorf("after a refusal shown is %+v: %v", r.server.BotMessages(person)[0], err)
	}
}

// The test server refuses every rich message that is outside the limits.
func TestRichMessagesOfNastyMarkdownAreAccepted(t *testing.T) {
	r := newTestChannel(t)
	for name, text := range channelstest.PathologicalMarkdown {
		source := "# heading\n\n" + text(3000)
		r.SendAnswer(channels.Message{Text: source})
		if v := r.server.TakeViolations(); v != nil {
			code, _ := entities.Rich(source)
			t.Errorf("%s: %q\n%.300s", name, v, code)
		}
	}
}
