package discordtest_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"nanobot/channels/discord/discordtest"
	"nanobot/internal/wanttest"
)

func TestPlannedHandshakeFaultsAreApplied(t *testing.T) {
	bot := newTestBot(t)
	identify := func(w *gatewayConn) { w.send(2, object{"token": bot.Token, "intents": usual}) }
	bot.QueueHandshakeFaults(discordtest.HandshakeFault{Reconnect: true}, discordtest.HandshakeFault{InvalidSession: true},
		discordtest.HandshakeFault{CloseCode: 4000}, discordtest.HandshakeFault{CutConnection: true})
	for _, op := range []int{7, 9} {
		w := bot.dial()
		identify(w)
		if p := w.next(); p.Op != op {
			t.Errorf("got %+v, want op %d", p, op)
		}
	}
	for _, code := range []int{4000, 0} {
		w := bot.dial()
		identify(w)
		w.expectClose(code)
	}
	bot.QueueHandshakeFaults(discordtest.HandshakeFault{OnlyResume: true, NoReply: true})
	w := bot.dial()
	session := bot.identify(w, usual)
	bot.CutConnections()
	silent := bot.dial()
	bot.resume(silent, session, 1)
	bot.AwaitStats(t, func(s discordtest.Stats) bool { return s.Resumes == 1 })
	bot.UserSends(bot.channel, bot.user, "unheard")
	again := bot.dial()
	bot.resume(again, session, 1)
	wanttest.Equal(t, "got", contentOf(t, again.waitForEvent("MESSAGE_CREATE")), "unheard")
	again.waitForEvent("RESUMED")
	bot.expectNoPacket(silent)

	bot.QueueHandshakeFaults(discordtest.HandshakeFault{RefuseStatus: http.StatusServiceUnavailable}, discordtest.HandshakeFault{NoHello: true})
	url := decodeJSON[struct{ URL string }](t, bot.mustCall("GET", "/gateway", nil).body).URL
	if ws, resp, err := websocket.DefaultDialer.Dial(url+"?v=10&encoding=json", nil); err == nil {
		_ = ws.Close()
		t.Error("the connection was not refused")
	} else if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d", resp.StatusCode)
	}
	bot.expectNoPacket(bot.dialWithoutHello("?v=10&encoding=json"))
}

// expectNoPacket cuts the connection, and fails the test if a packet arrives before.
func (bot *testBot) expectNoPacket(w *gatewayConn) {
	bot.t.Helper()
	bot.CutConnections()
	if _, body, err := w.ReadMessage(); err == nil {
		bot.t.Errorf("got %s", body)
	}
}

func TestAMutedGatewayKeepsItsEventsForAResume(t *testing.T) {
	bot := newTestBot(t)
	w := bot.dial()
	session := bot.identify(w, usual)
	seq := w.waitForEvent("GUILD_CREATE").Seq
	bot.SetMuted(true)
	w.send(1, seq)
	bot.AwaitStats(t, func(s discordtest.Stats) bool { return s.Heartbeats == 1 })
	bot.UserSends(bot.channel, bot.user, "kept")
	bot.expectNoPacket(w)
	bot.SetMuted(false)
	again := bot.dial()
	bot.resume(again, session, seq)
	wanttest.Equal(t, "got", contentOf(t, again.next()), "kept")
}

func TestHeartbeatsAreRequiredAndTheirACKIsOptional(t *testing.T) {
	bot := newTestBot(t)
	bot.SetHeartbeatACK(false)
	w := bot.dial()
	bot.identify(w, usual)
	w.waitForEvent("GUILD_CREATE")
	w.send(1, 2)
	bot.AwaitStats(t, func(s discordtest.Stats) bool { return s.Heartbeats == 1 })
	bot.RequestReconnect()
	if p := w.next(); p.Op != 7 {
		t.Errorf("got %+v, want op 7", p)
	}
	late := bot.dial()
	session := bot.identify(late, usual)
	bot.SetReadTimeout(200 * time.Millisecond)
	late.send(1, 2)
	late.expectClose(4009)
	bot.SetReadTimeout(0)
	again := bot.dial()
	bot.resume(again, session, 1)
	if p := again.next(); p.Op != 9 {
		t.Errorf("after 4009: %+v", p)
	}
}

func TestEventsAreDroppedAndRepeatedOnDemand(t *testing.T) {
	bot := newTestBot(t)
	w := bot.dial()
	bot.identify(w, messages|content)
	bot.SetEventCopies(func(event string, data json.RawMessage) int {
		var m discordtest.Message
		if json.Unmarshal(data, &m); event != "MESSAGE_CREATE" {
			return 1
		}
		return map[string]int{"dropped": 0, "doubled": 2}[m.Content]
	})
	bot.UserSends(bot.channel, bot.user, "dropped")
	bot.UserSends(bot.channel, bot.user, "doubled")
	for i := range 2 {
		if p := w.next(); contentOf(t, p) != "doubled" || p.Seq != 2+i {
			t.Errorf("%+v", p)
		}
	}
	expectEqual(t, "history", contents(bot.History(bot.channel)), []string{"dropped", "doubled"})
}

func TestTooManyStartsAreInvalidSessions(t *testing.T) {
	bot := newTestBot(t)
	bot.SetStartLimit(discordtest.StartLimit{Total: 1000, Remaining: 10, MaxConcurrency: 1, Window: time.Hour})
	bot.identify(bot.dial(), usual)
	w := bot.dial()
	w.send(2, object{"token": bot.Token, "intents": usual})
	if p := w.next(); p.Op != 9 || string(p.Data) != "false" {
		t.Errorf("%+v", p)
	}
	limits := decodeJSON[struct {
		Limit struct {
			Remaining int
			Max       int `json:"max_concurrency"`
		} `json:"session_start_limit"`
	}](t, bot.mustCall("GET", "/gateway/bot", nil).body)
	if limits.Limit.Remaining != 9 || limits.Limit.Max != 1 {
		t.Errorf("%+v", limits)
	}
}

func TestChangesOfGuildsAndChannelsAreEvents(t *testing.T) {
	bot := newTestBot(t)
	w := bot.dial()
	bot.identify(w, usual)
	m := bot.UserSends(bot.channel, bot.user, "a")
	bot.UserEdits(bot.channel, m.ID, "b")
	bot.UserDeletes(bot.channel, m.ID)
	forum := bot.AddForum(bot.guild, "forum")
	post, _ := bot.AddPost(forum.ID, bot.user, "title", "text")
	bot.DeleteChannel(post.ID)
	bot.DeleteChannel(forum.ID)
	bot.UserReplies(bot.channel, bot.user, bot.UserSends(bot.channel, bot.user, "q").ID, "a")
	var got []string
	for range 11 {
		got = append(got, w.next().Type)
	}
	expectEqual(t, "events", got, []string{
		"GUILD_CREATE", "MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "CHANNEL_CREATE", "THREAD_CREATE",
		"MESSAGE_CREATE", "THREAD_DELETE", "CHANNEL_DELETE", "MESSAGE_CREATE", "MESSAGE_CREATE",
	})
}

func TestOnlyTheNewestDetachedSessionsAreKept(t *testing.T) {
	bot := newTestBot(t)
	var sessions []string
	for range 18 {
		sessions = append(sessions, bot.identify(bot.dial(), messages))
		bot.CutConnections()
	}
	bot.identify(bot.dial(), messages)
	for session, op := range map[string]int{sessions[0]: 9, sessions[17]: 0} {
		w := bot.dial()
		bot.resume(w, session, 1)
		if p := w.next(); p.Op != op {
			t.Errorf("got %+v, want op %d", p, op)
		}
	}
}
