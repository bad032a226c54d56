package discordtest_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"nanobot/channels/discord/discordtest"
)

func TestHandshakesGoAsPlanned(t *testing.T) {
	r := newRig(t)
	identify := func(w *wire) { w.say(2, object{"token": r.Token, "intents": usual}) }
	r.PlanHandshakes(discordtest.Handshake{Reconnect: true}, discordtest.Handshake{InvalidSession: true},
		discordtest.Handshake{CloseCode: 4000}, discordtest.Handshake{CutConnection: true})
	for _, op := range []int{7, 9} {
		w := r.dial()
		identify(w)
		if p := w.next(); p.Op != op {
			t.Errorf("got %+v, want op %d", p, op)
		}
	}
	for _, code := range []int{4000, 0} {
		w := r.dial()
		identify(w)
		w.closed(code)
	}
	r.PlanHandshakes(discordtest.Handshake{OnlyResume: true, NoReply: true})
	w := r.dial()
	session := r.identify(w, usual)
	r.CutConnections()
	silent := r.dial()
	r.resume(silent, session, 1)
	r.AwaitStats(t, func(s discordtest.Stats) bool { return s.Resumes == 1 })
	r.UserSends(r.channel, r.user, "unheard")
	again := r.dial()
	r.resume(again, session, 1)
	if got := text(t, again.until("MESSAGE_CREATE")); got != "unheard" {
		t.Errorf("got %q", got)
	}
	again.until("RESUMED")
	r.nothing(silent)

	r.PlanHandshakes(discordtest.Handshake{RefuseStatus: http.StatusServiceUnavailable}, discordtest.Handshake{NoHello: true})
	url := into[struct{ URL string }](t, r.must("GET", "/gateway", nil).body).URL
	if ws, resp, err := websocket.DefaultDialer.Dial(url+"?v=10&encoding=json", nil); err == nil {
		_ = ws.Close()
		t.Error("the connection was not refused")
	} else if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d", resp.StatusCode)
	}
	r.nothing(r.dialOnly("?v=10&encoding=json"))
}

// nothing fails the test if anything comes before the connection is cut by the test.
func (r *rig) nothing(w *wire) {
	r.t.Helper()
	r.CutConnections()
	if _, body, err := w.ReadMessage(); err == nil {
		r.t.Errorf("got %s", body)
	}
}

func TestASilentGatewayHearsAndKeepsWhatItDoesNotSay(t *testing.T) {
	r := newRig(t)
	w := r.dial()
	session := r.identify(w, usual)
	seq := w.until("GUILD_CREATE").Seq
	r.SetMuted(true)
	w.say(1, seq)
	r.AwaitStats(t, func(s discordtest.Stats) bool { return s.Heartbeats == 1 })
	r.UserSends(r.channel, r.user, "kept")
	r.nothing(w)
	r.SetMuted(false)
	again := r.dial()
	r.resume(again, session, seq)
	if got := text(t, again.next()); got != "kept" {
		t.Errorf("got %q", got)
	}
}

func TestHeartbeatsAreExpectedAndMayGoUnanswered(t *testing.T) {
	r := newRig(t)
	r.SetHeartbeatACK(false)
	w := r.dial()
	r.identify(w, usual)
	w.until("GUILD_CREATE")
	w.say(1, 2)
	r.AwaitStats(t, func(s discordtest.Stats) bool { return s.Heartbeats == 1 })
	r.RequestReconnect()
	if p := w.next(); p.Op != 7 {
		t.Errorf("got %+v, want op 7", p)
	}
	r.SetHeartbeatInterval(200 * time.Millisecond)
	late := r.dial()
	session := r.identify(late, usual)
	late.closed(4009)
	r.SetHeartbeatInterval(time.Minute)
	again := r.dial()
	r.resume(again, session, 1)
	if p := again.next(); p.Op != 9 {
		t.Errorf("after 4009: %+v", p)
	}
}

func TestEventsAreDroppedAndDoubledOnDemand(t *testing.T) {
	r := newRig(t)
	w := r.dial()
	r.identify(w, messages|content)
	r.SetEventCopies(func(event string, data json.RawMessage) int {
		var m discordtest.Message
		if json.Unmarshal(data, &m); event != "MESSAGE_CREATE" {
			return 1
		}
		return map[string]int{"dropped": 0, "doubled": 2}[m.Content]
	})
	r.UserSends(r.channel, r.user, "dropped")
	r.UserSends(r.channel, r.user, "doubled")
	for i := range 2 {
		if p := w.next(); text(t, p) != "doubled" || p.Seq != 2+i {
			t.Errorf("%+v", p)
		}
	}
	same(t, "history", contents(r.History(r.channel)), []string{"dropped", "doubled"})
}

func TestTooManyStartsAreInvalidSessions(t *testing.T) {
	r := newRig(t)
	r.SetStartLimit(discordtest.StartLimit{Total: 1000, Remaining: 10, MaxConcurrency: 1, Window: time.Hour})
	r.identify(r.dial(), usual)
	w := r.dial()
	w.say(2, object{"token": r.Token, "intents": usual})
	if p := w.next(); p.Op != 9 || string(p.Data) != "false" {
		t.Errorf("%+v", p)
	}
	bot := into[struct {
		Limit struct {
			Remaining int
			Max       int `json:"max_concurrency"`
		} `json:"session_start_limit"`
	}](t, r.must("GET", "/gateway/bot", nil).body)
	if bot.Limit.Remaining != 9 || bot.Limit.Max != 1 {
		t.Errorf("%+v", bot)
	}
}

func TestChangesInTheWorldAreTold(t *testing.T) {
	r := newRig(t)
	w := r.dial()
	r.identify(w, usual)
	m := r.UserSends(r.channel, r.user, "a")
	r.UserEdits(r.channel, m.ID, "b")
	r.UserDeletes(r.channel, m.ID)
	forum := r.AddForum(r.guild, "forum")
	post, _ := r.AddPost(forum.ID, r.user, "title", "text")
	r.DeleteChannel(post.ID)
	r.DeleteChannel(forum.ID)
	r.UserReplies(r.channel, r.user, r.UserSends(r.channel, r.user, "q").ID, "a")
	var got []string
	for range 11 {
		got = append(got, w.next().Type)
	}
	same(t, "events", got, []string{
		"GUILD_CREATE", "MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "CHANNEL_CREATE", "THREAD_CREATE",
		"MESSAGE_CREATE", "THREAD_DELETE", "CHANNEL_DELETE", "MESSAGE_CREATE", "MESSAGE_CREATE",
	})
}

func TestOnlySomeSessionsThatWereLeftAreKept(t *testing.T) {
	r := newRig(t)
	var sessions []string
	for range 18 {
		sessions = append(sessions, r.identify(r.dial(), messages))
		r.CutConnections()
	}
	r.identify(r.dial(), messages)
	for session, op := range map[string]int{sessions[0]: 9, sessions[17]: 0} {
		w := r.dial()
		r.resume(w, session, 1)
		if p := w.next(); p.Op != op {
			t.Errorf("got %+v, want op %d", p, op)
		}
	}
}
