package discordtest_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
)

func TestWhatTheBotSendsIsShownAndRecorded(t *testing.T) {
	r := newRig(t)
	sent := into[discordtest.Message](t, r.send(object{"content": " one ", "nonce": "n1"}).body)
	path := "/channels/" + r.channel + "/messages/" + sent.ID
	r.must("PATCH", path, object{"content": "two"})
	other := r.send(object{"content": "kept"})
	r.must("DELETE", path, nil)

	same(t, "shown", contents(r.BotMessages(r.channel)), []string{"kept"})
	var kinds, texts []string
	for _, c := range r.Changes(r.channel) {
		kinds, texts = append(kinds, c.Kind), append(texts, c.Message.Content)
	}
	same(t, "changes", kinds, []string{"create", "edit", "create", "delete"})
	same(t, "texts at the time", texts, []string{"one", "two", "kept", "two"})
	if sent.Nonce != "n1" || r.Changes(r.channel)[0].Nonce != "n1" {
		t.Errorf("the nonce is gone: %+v", sent)
	}
	if got := into[discordtest.Message](t, r.must("GET", "/channels/"+r.channel+"/messages/"+other.ID, nil).body); got.Nonce != "" {
		t.Error("the history tells the nonce")
	}
	if calls := r.Calls(discordtest.CreateMessage); len(calls) != 2 || calls[0].Message != sent.ID || calls[0].Status != 200 {
		t.Errorf("calls: %+v", calls)
	}
}

func TestHistoryIsNewestFirstAndAtMostAHundred(t *testing.T) {
	r := newRig(t)
	var ids []string
	for i := range 150 {
		ids = append(ids, r.UserSends(r.channel, r.user, fmt.Sprint(i)).ID)
	}
	get := func(query string) (out []string) {
		body := r.must("GET", "/channels/"+r.channel+"/messages?"+query, nil).body
		return contents(into[[]discordtest.Message](t, body))
	}
	same(t, "latest", get("limit=2"), []string{"149", "148"})
	same(t, "after", get("limit=3&after="+ids[10]), []string{"13", "12", "11"})
	same(t, "after the start", get("limit=2&after=0"), []string{"1", "0"})
	same(t, "before", get("limit=2&before="+ids[10]), []string{"9", "8"})
	same(t, "around", get("limit=3&around="+ids[10]), []string{"11", "10", "9"})
	if n := len(get("limit=100&after=0")); n != 100 {
		t.Errorf("%d messages", n)
	}
	if n := len(get("")); n != 50 {
		t.Errorf("%d messages without a limit", n)
	}
	r.refused(r.call("GET", "/channels/"+r.channel+"/messages?limit=101", nil), 400, 50035)
	r.violated("limit")
}

func TestAnEnforcedNonceIsOneMessage(t *testing.T) {
	r := newRig(t)
	body := object{"content": "once", "nonce": "key", "enforce_nonce": true}
	first, again := r.send(body), r.send(body)
	if first.ID == "" || first.ID != again.ID || len(r.BotMessages(r.channel)) != 1 {
		t.Errorf("%q and %q: %d messages", first.ID, again.ID, len(r.BotMessages(r.channel)))
	}
	r.send(object{"content": "free", "nonce": "key"}) // not enforced
	r.AdvanceClock(6 * time.Minute)
	if r.send(body); len(r.BotMessages(r.channel)) != 3 {
		t.Errorf("%d messages", len(r.BotMessages(r.channel)))
	}
	r.call("POST", "/channels/"+r.DM(r.user).ID+"/messages", body)
	r.violated("was used in the channel")
	r.refused(r.send(object{"content": "x", "nonce": "12345678901234567890123456"}), 400, 50035)
	r.violated("nonce")
}

func TestPlacesThatCannotBeReached(t *testing.T) {
	r := newRig(t)
	m := r.UserSends(r.channel, r.user, "mine")
	gone := r.AddChannel(r.guild, "gone")
	r.DeleteChannel(gone.ID)
	r.refused(r.call("POST", "/channels/"+gone.ID+"/messages", object{"content": "x"}), 404, 10003)
	r.refused(r.call("PATCH", "/channels/"+r.channel+"/messages/"+m.ID, object{"content": "x"}), 403, 50005)
	r.refused(r.call("DELETE", "/channels/"+r.channel+"/messages/"+m.ID, nil), 403, 50013)
	r.refused(r.call("GET", "/channels/"+r.channel+"/messages/1", nil), 404, 10008)
	r.DenyAccess(r.guild)
	r.refused(r.send(object{"content": "x"}), 403, 50001)
	r.AllowAccess(r.guild)
	dm := r.must("POST", "/users/@me/channels", object{"recipient_id": r.user})
	if dm.ID != r.DM(r.user).ID {
		t.Errorf("the DM is %q and %q", dm.ID, r.DM(r.user).ID)
	}
	r.DenyAccess(r.user)
	r.refused(r.call("POST", "/channels/"+dm.ID+"/messages", object{"content": "x"}), 403, 50007)
	r.AllowAccess(r.user)
	r.must("POST", "/channels/"+dm.ID+"/typing", nil)
	if r.TypingCount(dm.ID) != 1 {
		t.Error("nobody typed")
	}
	r.token = "Bot wrong"
	r.refused(r.send(object{"content": "x"}), 401, 0)
	if n := r.InvalidRequests(); n != 5 {
		t.Errorf("%d invalid requests", n)
	}
}

func TestMentionsNotifyOnlyWhomTheyMay(t *testing.T) {
	r := newRig(t)
	text := "@everyone <@" + r.user + ">"
	for _, c := range []struct {
		allowed any
		users   int
		all     bool
	}{
		{nil, 1, true},
		{object{"parse": []string{}}, 0, false},
		{object{"parse": []string{"everyone"}}, 0, true},
		{object{"parse": []string{}, "users": []string{r.user}}, 1, false},
	} {
		m := into[discordtest.Message](t, r.send(object{"content": text, "allowed_mentions": c.allowed}).body)
		if len(m.Mentions) != c.users || m.MentionEveryone != c.all {
			t.Errorf("%v: %d users, everyone %v", c.allowed, len(m.Mentions), m.MentionEveryone)
		}
	}
	asked := r.UserSends(r.channel, r.user, "hm?")
	ref := object{"message_id": asked.ID}
	loud := r.send(object{"content": "loud", "message_reference": ref})
	quiet := r.send(object{"content": "quiet", "message_reference": ref, "allowed_mentions": object{"parse": []string{}}})
	for _, m := range r.BotMessages(r.channel) {
		if m.ID == loud.ID && (!m.Pinged || m.Type != discordtest.TypeReply || m.Referenced.ID != asked.ID) {
			t.Errorf("the reply is %+v", m)
		}
		if m.ID == quiet.ID && m.Pinged {
			t.Error("the quiet reply pings")
		}
	}
}

func TestThreadsAndPosts(t *testing.T) {
	r := newRig(t)
	m := r.UserSends(r.channel, r.user, "question")
	path := "/channels/" + r.channel + "/messages/" + m.ID + "/threads"
	thread := into[discordtest.Channel](t, r.must("POST", path, object{"name": "talk", "auto_archive_duration": 60}).body)
	if thread.ID != m.ID || thread.ParentID != r.channel || thread.Type != discordtest.PublicThread {
		t.Errorf("thread: %+v", thread)
	}
	r.refused(r.call("POST", path, object{"name": "talk"}), 400, 160004)
	r.must("POST", "/channels/"+thread.ID+"/messages", object{"content": "inside"})
	same(t, "thread", contents(r.History(thread.ID)), []string{"", "inside"})

	loose := r.must("POST", "/channels/"+r.channel+"/threads", object{"name": "loose", "type": 11})
	forum := r.AddForum(r.guild, "forum")
	post, first := r.AddPost(forum.ID, r.user, "title", "body")
	if post.ID != first.ID {
		t.Errorf("the post is %s and begins with %s", post.ID, first.ID)
	}
	own := r.must("POST", "/channels/"+forum.ID+"/threads", object{"name": "mine", "message": object{"content": "hello"}})
	r.WaitForText(t, own.ID, "hello")
	r.refused(r.call("POST", "/channels/"+forum.ID+"/messages", object{"content": "x"}), 400, 50008)
	r.violated("non-text channel")
	for _, c := range []discordtest.Channel{{ID: loose.ID, ParentID: r.channel}, {ID: post.ID, ParentID: forum.ID}, {ID: own.ID, ParentID: forum.ID}} {
		got := into[discordtest.Channel](t, r.must("GET", "/channels/"+c.ID, nil).body)
		if got.ParentID != c.ParentID || got.Type != discordtest.PublicThread {
			t.Errorf("%+v", got)
		}
	}
}

func TestAnswersHaveTheStatusThatDiscordGives(t *testing.T) {
	r := newRig(t)
	m := r.send(object{"content": "x"})
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
		{"GET", "/channels/" + r.channel, nil, http.StatusOK},
		{"POST", "/channels/" + r.channel + "/typing", nil, http.StatusNoContent},
		{"POST", "/channels/" + r.channel + "/threads", object{"name": "t"}, http.StatusCreated},
		{"DELETE", "/channels/" + r.channel + "/messages/" + m.ID, nil, http.StatusNoContent},
		{"DELETE", "/channels/" + r.channel + "/messages/" + m.ID, nil, http.StatusNotFound},
	} {
		got := r.call(c.method, c.path, c.body)
		if got.status != c.status || got.header.Get("X-RateLimit-Bucket") == "" {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.body)
		}
	}
	if got := r.call("GET", "/nowhere", nil); got.status != http.StatusNotFound {
		t.Errorf("an unknown route: %d", got.status)
	}
	r.violated("unknown to discordtest")
}
