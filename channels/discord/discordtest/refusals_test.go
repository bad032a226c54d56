package discordtest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func button(id string) object { return object{"type": 2, "style": 1, "label": "b", "custom_id": id} }

func rowOf(parts ...object) object { return object{"type": 1, "components": parts} }

func generate[T any](n int, make func(i int) T) (out []T) {
	for i := range n {
		out = append(out, make(i))
	}
	return out
}

func TestMessagesThatDiscordRefuses(t *testing.T) {
	bot := newTestBot(t)
	long := func(n int) string { return strings.Repeat("😀", n) }
	option := func(i int) object { return object{"label": "o", "value": fmt.Sprint(i)} }
	selects := func(options []object) object {
		return object{"components": []object{rowOf(object{"type": 3, "custom_id": "s", "options": options})}}
	}
	for name, c := range map[string]struct {
		body object
		says string
	}{
		"empty":                   {object{"content": " \n "}, "empty message"},
		"long":                    {object{"content": long(2001)}, "content"},
		"a label of 81":           {object{"components": []object{rowOf(object{"type": 2, "style": 1, "custom_id": "a", "label": long(81)})}}, "label"},
		"a custom_id of 101":      {object{"components": []object{rowOf(button(long(101)))}}, "custom_id"},
		"two of a custom_id":      {object{"components": []object{rowOf(button("a"), button("a"))}}, "duplicated"},
		"six rows":                {object{"components": generate(6, func(i int) object { return rowOf(button(fmt.Sprint(i))) })}, "components"},
		"six buttons in a row":    {object{"components": []object{rowOf(generate(6, func(i int) object { return button(fmt.Sprint(i)) })...)}}, "components.0.components"},
		"a button outside a row":  {object{"components": []object{button("a")}}, "components.0.type"},
		"a button without a name": {object{"components": []object{rowOf(object{"type": 2, "style": 1, "custom_id": "a"})}}, "label"},
		"a link with a custom_id": {object{"components": []object{rowOf(object{"type": 2, "style": 5, "label": "l", "url": "https://x.y", "custom_id": "a"})}}, "custom_id"},
		"26 options":              {selects(generate(26, option)), "options"},
		"two of an option":        {selects([]object{option(1), option(1)}), "already used"},
		"a select beside another": {object{"components": []object{rowOf(object{"type": 3, "custom_id": "s", "options": []object{option(1)}}, button("a"))}}, "width"},
		"eleven embeds":           {object{"embeds": generate(11, func(int) object { return object{"title": "t"} })}, "embeds"},
		"a title of 257":          {object{"embeds": []object{{"title": long(257)}}}, "title"},
		"embeds of 6001":          {object{"embeds": generate(2, func(int) object { return object{"description": long(3001)} })}, "6000"},
		"an unknown mention":      {object{"content": "x", "allowed_mentions": object{"parse": []string{"all"}}}, "parse"},
		"users twice allowed":     {object{"content": "x", "allowed_mentions": object{"parse": []string{"users"}, "users": []string{"1"}}}, "exclusive"},
		"an ephemeral message":    {object{"content": "x", "flags": 64}, "flags"},
		"a file that is not sent": {object{"content": "x", "attachments": []object{{"id": 0}}}, "attachments.0"},
		"content of another type": {object{"content": 1}, "content"},
		"a poll":                  {object{"poll": object{}}, "poll"},
	} {
		got := bot.sendMessage(c.body)
		if got.status != 400 || got.Code != 50035 && got.Code != 50006 {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		bot.expectViolation(c.says)
	}
	wanttest.Equal(t, "messages were sent all the same:", len(bot.BotMessages("")), 0)
	for name, body := range map[string]object{
		"2000 emoji": {"content": long(2000)},
		"25 buttons": {"components": generate(5, func(i int) object {
			return rowOf(generate(5, func(j int) object { return button(fmt.Sprint(i, j)) })...)
		})},
		"25 options":      selects(generate(25, option)),
		"a nonce of 25":   {"content": "x", "nonce": strings.Repeat("n", 25)},
		"a number nonce":  {"content": "x", "nonce": 1234},
		"an embed's text": {"embeds": []object{{"description": long(4096)}}},
	} {
		if got := bot.sendMessage(body); got.status != 200 {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

func TestReplyingToADeletedMessage(t *testing.T) {
	bot := newTestBot(t)
	asked := bot.UserSends(bot.channel, bot.user, "hm?")
	bot.UserDeletes(bot.channel, asked.ID)
	got := bot.sendMessage(object{"content": "x", "message_reference": object{"message_id": asked.ID}})
	bot.expectError(got, 400, 50035)
	if !strings.Contains(string(got.Errors), "REPLIES_UNKNOWN_MESSAGE") {
		t.Errorf("errors: %s", got.Errors)
	}
	bot.mustCall("POST", "/channels/"+bot.channel+"/messages", object{
		"content": "x", "message_reference": object{"message_id": asked.ID, "fail_if_not_exists": false},
	})
}

func TestSystemMessagesCannotBeRepliedTo(t *testing.T) {
	bot := newTestBot(t)
	reply := func(to object) {
		bot.expectError(bot.sendMessage(object{"content": "x", "message_reference": to}), 400, 50035)
	}
	dm := bot.DM(bot.user).ID
	reply(object{"message_id": bot.UserSends(dm, bot.user, "hm?").ID, "channel_id": dm})
	bot.expectViolation("different channel")
	reply(object{"message_id": bot.UserPosts(bot.channel, bot.user, discordtest.Message{Type: 7}).ID})
	bot.expectViolation("system message")
}

func TestTheTokenIsRequiredButNotForTheCDN(t *testing.T) {
	bot := newTestBot(t)
	said := bot.UserSends(bot.channel, bot.user, "see", discordtest.File{Name: "a", Content: []byte("A")})
	file := decodeJSON[discordtest.Message](t, bot.mustCall("GET", "/channels/"+bot.channel+"/messages/"+said.ID, nil).body).Attachments[0].URL
	for url, words := range map[string]string{bot.URL + "/api/v10/users/@me": "User-Agent", file: "gets to see the token"} {
		req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
		req.Header.Set("Authorization", bot.token)
		resp := musttest.Get(bot.client.Do(req))(t)
		_ = resp.Body.Close()
		bot.expectViolation(words)
	}
}

func TestUnknownNamesAreViolations(t *testing.T) {
	bot := newTestBot(t)
	bot.sendMessage(object{"content": "x", "contents": "y"})
	bot.expectViolation(`unknown field "contents"`)
	bot.mustCall("GET", "/channels/"+bot.channel+"/messages?since=1", nil)
	bot.expectViolation(`unknown parameter "since"`)
	bot.expectError(bot.callMultipart("POST", "/channels/"+bot.channel+"/messages", object{"content": "x"}, upload{"file", "a", []byte("x")}), 400, 50109)
	bot.expectViolation("payload_json")
}

func TestCommandsAreCheckedAndKeepTheirIDs(t *testing.T) {
	bot := newTestBot(t)
	path := "/applications/" + bot.ApplicationID + "/commands"
	bot.mustCall("PUT", path, []object{{"name": "ask", "description": "it"}})
	id := bot.Commands("")[0].ID
	bot.mustCall("PUT", path, []object{{"name": "stop", "description": "it"}, {"name": "ask", "description": "more"}})
	if c := bot.Commands(""); c[1].ID != id || c[0].ID == id || c[1].Description != "more" {
		t.Errorf("commands: %+v, was %s", c, id)
	}
	bot.mustCall("PUT", "/applications/"+bot.ApplicationID+"/guilds/"+bot.guild+"/commands", []object{{"name": "here", "description": "x"}})
	if len(bot.Commands(bot.guild)) != 1 || len(bot.Commands("")) != 2 {
		t.Error("the guild's commands are not its own")
	}
	text := func(name string, required bool) object {
		return object{"type": 3, "name": name, "description": "d", "required": required}
	}
	for _, c := range []object{
		{"name": "Upper", "description": "d"},
		{"name": "two words", "description": "d"},
		{"name": strings.Repeat("a", 33), "description": "d"},
		{"name": "a"},
		{"name": "a", "description": strings.Repeat("d", 101)},
		{"name": "a", "description": "d", "options": []object{text("x", false), text("y", true)}},
		{"name": "a", "description": "d", "options": []object{text("x", true), text("x", true)}},
	} {
		bot.expectError(bot.callJSON("PUT", path, []object{c}), 400, 50035)
		bot.expectViolation("PUT")
	}
	bot.expectError(bot.callJSON("PUT", "/applications/1/commands", []object{}), 403, 20012)
}
