package discordtest_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/internal/wanttest"
)

func TestBotMessagesAreShownAndRecorded(t *testing.T) {
	bot := newTestBot(t)
	sent := decodeJSON[discordtest.Message](t, bot.sendMessage(object{"content": " one ", "nonce": "n1"}).body)
	path := "/channels/" + bot.channel + "/messages/" + sent.ID
	bot.mustCall("PATCH", path, object{"content": "two"})
	other := bot.sendMessage(object{"content": "kept"})
	bot.mustCall("DELETE", path, nil)

	expectEqual(t, "shown", contents(bot.BotMessages(bot.channel)), []string{"kept"})
	var kinds, texts []string
	for _, c := range bot.Changes(bot.channel) {
		kinds, texts = append(kinds, c.Kind), append(texts, c.Message.Content)
	}
	expectEqual(t, "changes", kinds, []string{"create", "edit", "create", "delete"})
	expectEqual(t, "texts at the time", texts, []string{"one", "two", "kept", "two"})
	if sent.Nonce != "n1" || bot.Changes(bot.channel)[0].Nonce != "n1" {
		t.Errorf("the nonce is gone: %+v", sent)
	}
	if got := decodeJSON[discordtest.Message](t, bot.mustCall("GET", "/channels/"+bot.channel+"/messages/"+other.ID, nil).body); got.Nonce != "" {
		t.Error("the history tells the nonce")
	}
	if calls := bot.Calls(discordtest.CreateMessage); len(calls) != 2 || calls[0].Message != sent.ID || calls[0].Status != 200 {
		t.Errorf("calls: %+v", calls)
	}
}

func TestHistoryIsNewestFirstAndAtMostAHundred(t *testing.T) {
	bot := newTestBot(t)
	var ids []string
	for i := range 150 {
		ids = append(ids, bot.UserSends(bot.channel, bot.user, fmt.Sprint(i)).ID)
	}
	get := func(query string) (out []string) {
		body := bot.mustCall("GET", "/channels/"+bot.channel+"/messages?"+query, nil).body
		return contents(decodeJSON[[]discordtest.Message](t, body))
	}
	expectEqual(t, "latest", get("limit=2"), []string{"149", "148"})
	expectEqual(t, "after", get("limit=3&after="+ids[10]), []string{"13", "12", "11"})
	expectEqual(t, "after the start", get("limit=2&after=0"), []string{"1", "0"})
	expectEqual(t, "before", get("limit=2&before="+ids[10]), []string{"9", "8"})
	expectEqual(t, "around", get("limit=3&around="+ids[10]), []string{"11", "10", "9"})
	wanttest.Equal(t, "messages:", len(get("limit=100&after=0")), 100)
	wanttest.Equal(t, "messages without a limit:", len(get("")), 50)
	bot.expectError(bot.callJSON("GET", "/channels/"+bot.channel+"/messages?limit=101", nil), 400, 50035)
	bot.expectViolation("limit")
}

func TestAnEnforcedNonceIsOneMessage(t *testing.T) {
	bot := newTestBot(t)
	body := object{"content": "once", "nonce": "key", "enforce_nonce": true}
	first, again := bot.sendMessage(body), bot.sendMessage(body)
	if first.ID == "" || first.ID != again.ID || len(bot.BotMessages(bot.channel)) != 1 {
		t.Errorf("%q and %q: %d messages", first.ID, again.ID, len(bot.BotMessages(bot.channel)))
	}
	bot.sendMessage(object{"content": "free", "nonce": "key"}) // not enforced
	bot.AdvanceClock(6 * time.Minute)
	if bot.sendMessage(body); len(bot.BotMessages(bot.channel)) != 3 {
		t.Errorf("%d messages", len(bot.BotMessages(bot.channel)))
	}
	bot.callJSON("POST", "/channels/"+bot.DM(bot.user).ID+"/messages", body)
	bot.expectViolation("was used in the channel")
	bot.expectError(bot.sendMessage(object{"content": "x", "nonce": "12345678901234567890123456"}), 400, 50035)
	bot.expectViolation("nonce")
}

func TestInaccessibleChannels(t *testing.T) {
	bot := newTestBot(t)
	m := bot.UserSends(bot.channel, bot.user, "mine")
	gone := bot.AddChannel(bot.guild, "gone")
	bot.DeleteChannel(gone.ID)
	bot.expectError(bot.callJSON("POST", "/channels/"+gone.ID+"/messages", object{"content": "x"}), 404, 10003)
	bot.expectError(bot.callJSON("PATCH", "/channels/"+bot.channel+"/messages/"+m.ID, object{"content": "x"}), 403, 50005)
	bot.expectError(bot.callJSON("DELETE", "/channels/"+bot.channel+"/messages/"+m.ID, nil), 403, 50013)
	bot.expectError(bot.callJSON("GET", "/channels/"+bot.channel+"/messages/1", nil), 404, 10008)
	bot.DenyAccess(bot.guild)
	bot.expectError(bot.sendMessage(object{"content": "x"}), 403, 50001)
	bot.AllowAccess(bot.guild)
	dm := bot.mustCall("POST", "/users/@me/channels", object{"recipient_id": bot.user})
	if dm.ID != bot.DM(bot.user).ID {
		t.Errorf("the DM is %q and %q", dm.ID, bot.DM(bot.user).ID)
	}
	bot.DenyAccess(bot.user)
	bot.expectError(bot.callJSON("POST", "/channels/"+dm.ID+"/messages", object{"content": "x"}), 403, 50007)
	bot.AllowAccess(bot.user)
	bot.mustCall("POST", "/channels/"+dm.ID+"/typing", nil)
	if bot.TypingCount(dm.ID) != 1 {
		t.Error("nobody typed")
	}
	bot.token = "Bot wrong"
	bot.expectError(bot.sendMessage(object{"content": "x"}), 401, 0)
	wanttest.Equal(t, "invalid requests:", bot.InvalidRequests(), 5)
}

func TestMentionsNotifyOnlyAllowedUsers(t *testing.T) {
	bot := newTestBot(t)
	text := "@everyone <@" + bot.user + ">"
	for _, c := range []struct {
		allowed any
		users   int
		all     bool
	}{
		{nil, 1, true},
		{object{"parse": []string{}}, 0, false},
		{object{"parse": []string{"everyone"}}, 0, true},
		{object{"parse": []string{}, "users": []string{bot.user}}, 1, false},
	} {
		m := decodeJSON[discordtest.Message](t, bot.sendMessage(object{"content": text, "allowed_mentions": c.allowed}).body)
		if len(m.Mentions) != c.users || m.MentionEveryone != c.all {
			t.Errorf("%v: %d users, everyone %v", c.allowed, len(m.Mentions), m.MentionEveryone)
		}
	}
	asked := bot.UserSends(bot.channel, bot.user, "hm?")
	ref := object{"message_id": asked.ID}
	loud := bot.sendMessage(object{"content": "loud", "message_reference": ref})
	quiet := bot.sendMessage(object{"content": "quiet", "message_reference": ref, "allowed_mentions": object{"parse": []string{}}})
	for _, m := range bot.BotMessages(bot.channel) {
		if m.ID == loud.ID && (!m.Pinged || m.Type != discordtest.TypeReply || m.Referenced.ID != asked.ID) {
			t.Errorf("the reply is %+v", m)
		}
		if m.ID == quiet.ID && m.Pinged {
			t.Error("the quiet reply pings")
		}
	}
}

func TestThreadsAndPosts(t *testing.T) {
	bot := newTestBot(t)
	m := bot.UserSends(bot.channel, bot.user, "question")
	path := "/channels/" + bot.channel + "/messages/" + m.ID + "/threads"
	thread := decodeJSON[discordtest.Channel](t, bot.mustCall("POST", path, object{"name": "talk", "auto_archive_duration": 60}).body)
	if thread.ID != m.ID || thread.ParentID != bot.channel || thread.Type != discordtest.PublicThread {
		t.Errorf("thread: %+v", thread)
	}
	bot.expectError(bot.callJSON("POST", path, object{"name": "talk"}), 400, 160004)
	bot.mustCall("POST", "/channels/"+thread.ID+"/messages", object{"content": "inside"})
	expectEqual(t, "thread", contents(bot.History(thread.ID)), []string{"", "inside"})

	loose := bot.mustCall("POST", "/channels/"+bot.channel+"/threads", object{"name": "loose", "type": 11})
	forum := bot.AddForum(bot.guild, "forum")
	post, first := bot.AddPost(forum.ID, bot.user, "title", "body")
	if post.ID != first.ID {
		t.Errorf("the post is %s and begins with %s", post.ID, first.ID)
	}
	own := bot.mustCall("POST", "/channels/"+forum.ID+"/threads", object{"name": "mine", "message": object{"content": "hello"}})
	bot.WaitForText(t, own.ID, "hello")
	bot.expectError(bot.callJSON("POST", "/channels/"+forum.ID+"/messages", object{"content": "x"}), 400, 50008)
	bot.expectViolation("non-text channel")
	for _, c := range []discordtest.Channel{{ID: loose.ID, ParentID: bot.channel}, {ID: post.ID, ParentID: forum.ID}, {ID: own.ID, ParentID: forum.ID}} {
		got := decodeJSON[discordtest.Channel](t, bot.mustCall("GET", "/channels/"+c.ID, nil).body)
		if got.ParentID != c.ParentID || got.Type != discordtest.PublicThread {
			t.Errorf("%+v", got)
		}
	}
}

func TestResponsesHaveDiscordsStatus(t *testing.T) {
	bot := newTestBot(t)
	m := bot.sendMessage(object{"content": "x"})
	for _, c := range []struct {
		method, path string
		body         any
		status       int
	}{
		{"GET", "/gateway", nil, http.StatusOK},
		{"GET", "/gateway/bot", nil, http.StatusOK},
		{"GET", "/users/@me", nil, http.StatusOK},
		{"GET", "/applications/@me", nil, http.StatusOK},
		{"GET", "/oauth2/applications/@me", nil, http.StatusOK},
		{"GET", "/channels/" + bot.channel, nil, http.StatusOK},
		{"POST", "/channels/" + bot.channel + "/typing", nil, http.StatusNoContent},
		{"POST", "/channels/" + bot.channel + "/threads", object{"name": "t"}, http.StatusCreated},
		{"DELETE", "/channels/" + bot.channel + "/messages/" + m.ID, nil, http.StatusNoContent},
		{"DELETE", "/channels/" + bot.channel + "/messages/" + m.ID, nil, http.StatusNotFound},
	} {
		got := bot.callJSON(c.method, c.path, c.body)
		if got.status != c.status || got.header.Get("X-RateLimit-Bucket") == "" {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.body)
		}
	}
	if got := bot.callJSON("GET", "/nowhere", nil); got.status != http.StatusNotFound {
		t.Errorf("an unknown route: %d", got.status)
	}
	bot.expectViolation("unknown to discordtest")
}
