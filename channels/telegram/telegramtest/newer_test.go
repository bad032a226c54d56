package telegramtest_test

import (
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
)

func TestWhatTelegramRefusesOfNewerMethods(t *testing.T) {
	s := telegramtest.New(t)
	s.AddUser(telegramtest.User{ID: 42})
	s.AddChat(telegramtest.Chat{ID: -77})
	in, private := s.UserSends(-77, "hello").ID, s.UserSends(42, "hello").ID
	rich := func(html string) params {
		return params{"chat_id": 42, "rich_message": params{"html": html}}
	}
	for name, tt := range map[string]struct {
		method string
		params params
	}{
		"a reaction that is not among the emoji": {"setMessageReaction", params{
			"chat_id": -77, "message_id": in, "reaction": []map[string]string{{"type": "emoji", "emoji": "✅"}},
		}},
		"two reactions": {"setMessageReaction", params{
			"chat_id": 42, "message_id": private, "reaction": []map[string]string{{"type": "emoji", "emoji": "👀"}, {"type": "emoji", "emoji": "👌"}},
		}},
		"a draft in a group":       {"sendMessageDraft", params{"chat_id": -77, "draft_id": 1, "text": "x"}},
		"a draft without an ID":    {"sendMessageDraft", params{"chat_id": 42, "draft_id": 0, "text": "x"}},
		"a draft with buttons":     {"sendMessageDraft", params{"chat_id": 42, "draft_id": 0, "text": "x", "reply_markup": params{}}},
		"a long draft":             {"sendMessageDraft", params{"chat_id": 42, "draft_id": 1, "text": strings.Repeat("x", 4097)}},
		"a rich draft in a group":  {"sendRichMessageDraft", params{"chat_id": -77, "draft_id": 1, "rich_message": params{"html": "<p>x</p>"}}},
		"an empty rich message":    {"sendRichMessage", rich("<p></p>")},
		"an unknown tag":           {"sendRichMessage", rich("<p><font>x</font></p>")},
		"an open tag":              {"sendRichMessage", rich("<p>x")},
		"text outside of a block":  {"sendRichMessage", rich("x")},
		"a block in a paragraph":   {"sendRichMessage", rich("<p>x<ul><li>y</li></ul></p>")},
		"a cell without a row":     {"sendRichMessage", rich("<table><td>x</td></table>")},
		"too much text":            {"sendRichMessage", rich("<p>" + strings.Repeat("x", 32769) + "</p>")},
		"too many blocks":          {"sendRichMessage", rich(strings.Repeat("<p>x</p>", 501))},
		"too deep":                 {"sendRichMessage", rich(strings.Repeat("<blockquote>", 17) + "<p>x</p>" + strings.Repeat("</blockquote>", 17))},
		"too many columns":         {"sendRichMessage", rich("<table><tr>" + strings.Repeat("<td>x</td>", 21) + "</tr></table>")},
		"html and markdown":        {"sendRichMessage", params{"chat_id": 42, "rich_message": params{"html": "<p>x</p>", "markdown": "x"}}},
		"an unknown rich field":    {"sendRichMessage", params{"chat_id": 42, "rich_message": params{"html": "<p>x</p>", "blocks": []any{}}}},
		"an unsupported attribute": {"sendRichMessage", rich(`<p class="x">x</p>`)},
	} {
		callJSON(t, s, tt.method, tt.params)
		if s.TakeViolations() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	mustCall(t, s, "sendRichMessage", rich("<h1>A</h1><ul><li><input type=\"checkbox\" checked>b</li></ul><table><tr><th>c</th><td>d</td></tr></table>"))
	if shown := s.BotMessages(42); len(shown) != 1 || shown[0].TextOrCaption() != "A\n☑ b\nc | d" || shown[0].Kind() != "rich" {
		t.Errorf("shown is %+v", shown)
	}
}
