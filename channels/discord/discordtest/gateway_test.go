package discordtest_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

const (
	guilds   = 1 << 0
	messages = 1 << 9
	dms      = 1 << 12
	content  = 1 << 15
	usual    = guilds | messages | dms | content
)

// packet is a packet of the gateway.
type packet struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int             `json:"s"`
	Type string          `json:"t"`
}

// gatewayConn is the bot's end of a connection.
type gatewayConn struct {
	*websocket.Conn
	t *testing.T
}

// dial connects and reads HELLO.
func (bot *testBot) dial() *gatewayConn {
	bot.t.Helper()
	w := bot.dialWithoutHello("?v=10&encoding=json")
	if p := w.next(); p.Op != 10 {
		bot.t.Fatalf("the first packet is %+v", p)
	}
	return w
}

func (bot *testBot) dialWithoutHello(query string) *gatewayConn {
	bot.t.Helper()
	url := decodeJSON[struct{ URL string }](bot.t, bot.mustCall("GET", "/gateway", nil).body).URL
	ws, resp, err := websocket.DefaultDialer.Dial(url+query, nil)
	if err != nil {
		bot.t.Fatalf("dial: %v", err)
	}
	_ = resp.Body.Close()
	bot.t.Cleanup(func() { _ = ws.Close() })
	return &gatewayConn{ws, bot.t}
}

func (w *gatewayConn) send(op int, data any) {
	w.t.Helper()
	musttest.Do(w.t, w.WriteJSON(object{"op": op, "d": data}))
}

func (w *gatewayConn) next() (p packet) {
	w.t.Helper()
	_ = w.SetReadDeadline(time.Now().Add(discordtest.WaitLimit))
	if err := w.ReadJSON(&p); err != nil {
		w.t.Fatalf("read: %v", err)
	}
	return p
}

// waitForEvent reads until the next event of a type.
func (w *gatewayConn) waitForEvent(event string) packet {
	w.t.Helper()
	for {
		if p := w.next(); p.Type == event {
			return p
		}
	}
}

// expectClose reads to the end, and fails the test unless the close code is this one; 0 means that
// the connection is cut.
func (w *gatewayConn) expectClose(code int) {
	w.t.Helper()
	for {
		_ = w.SetReadDeadline(time.Now().Add(discordtest.WaitLimit))
		if _, _, err := w.ReadMessage(); err != nil {
			var end *websocket.CloseError
			switch {
			case strings.Contains(err.Error(), "timeout"):
				w.t.Fatal("it is not closed")
			case errors.As(err, &end) && end.Code != code && (code != 0 || end.Code != websocket.CloseAbnormalClosure):
				w.t.Errorf("closed with %d, want %d", end.Code, code)
			case end == nil && code != 0:
				w.t.Errorf("cut, want %d: %v", code, err)
			}
			return
		}
	}
}

func (bot *testBot) identify(w *gatewayConn, intents int) string {
	bot.t.Helper()
	w.send(2, object{"token": bot.Token, "intents": intents, "properties": object{}})
	return decodeJSON[struct {
		ID string `json:"session_id"`
	}](bot.t, w.waitForEvent("READY").Data).ID
}

func (bot *testBot) resume(w *gatewayConn, session string, seq int) {
	bot.t.Helper()
	w.send(6, object{"token": bot.Token, "session_id": session, "seq": seq})
}

func contentOf(t *testing.T, p packet) string {
	t.Helper()
	return decodeJSON[discordtest.Message](t, p.Data).Content
}

func TestASessionGetsGuildsAndMessages(t *testing.T) {
	bot := newTestBot(t)
	thread := bot.AddThread(bot.channel, "talk")
	w := bot.dial()
	bot.identify(w, usual)
	g := w.next()
	event := decodeJSON[struct{ Channels, Threads []discordtest.Channel }](t, g.Data)
	if g.Type != "GUILD_CREATE" || g.Seq != 2 || len(event.Channels) != 1 || event.Threads[0].ID != thread.ID {
		t.Errorf("%+v: %+v", g, event)
	}
	bot.UserSends(bot.channel, bot.user, "hello")
	m := w.next()
	if got := decodeJSON[discordtest.Message](t, m.Data); m.Seq != 3 || got.Content != "hello" || got.GuildID != bot.guild {
		t.Errorf("%+v", m)
	}
	bot.sendMessage(object{"content": "mine", "nonce": "n"})
	if got := decodeJSON[discordtest.Message](t, w.next().Data); got.Content != "mine" || got.Nonce != "n" || got.Author != bot.Bot {
		t.Errorf("%+v", got)
	}
	w.send(1, 4)
	if p := w.next(); p.Op != 11 {
		t.Errorf("in answer to a heartbeat: %+v", p)
	}
	bot.RequestHeartbeat()
	if p := w.next(); p.Op != 1 {
		t.Errorf("%+v", p)
	}
}

func TestContentNeedsItsIntent(t *testing.T) {
	bot := newTestBot(t)
	w := bot.dial()
	bot.identify(w, usual&^content)
	bot.UserSends(bot.channel, bot.user, "secret", discordtest.File{Name: "a"})
	if got := decodeJSON[discordtest.Message](t, w.waitForEvent("MESSAGE_CREATE").Data); got.Content != "" || len(got.Attachments) != 0 {
		t.Errorf("%+v", got)
	}
	bot.UserSends(bot.channel, bot.user, "<@"+bot.Bot.ID+"> hi")
	bot.UserSends(bot.DM(bot.user).ID, bot.user, "direct")
	for _, want := range []string{"<@" + bot.Bot.ID + "> hi", "direct"} {
		wanttest.Equal(t, "got", contentOf(t, w.next()), want)
	}
	without := bot.dial()
	bot.identify(without, guilds|dms)
	bot.UserSends(bot.channel, bot.user, "not for you")
	bot.UserSends(bot.DM(bot.user).ID, bot.user, "for you")
	wanttest.Equal(t, "got", contentOf(t, without.waitForEvent("MESSAGE_CREATE")), "for you")
}

func TestTheGatewayClosesOnInvalidPackets(t *testing.T) {
	for code, wrong := range map[int]func(*testBot, *gatewayConn){
		4001: func(_ *testBot, w *gatewayConn) { w.send(99, nil) },
		4002: func(_ *testBot, w *gatewayConn) { _ = w.WriteMessage(websocket.TextMessage, []byte("{")) },
		4003: func(_ *testBot, w *gatewayConn) { w.send(3, object{}) },
		4004: func(_ *testBot, w *gatewayConn) { w.send(2, object{"token": "wrong", "intents": 1}) },
		4005: func(bot *testBot, w *gatewayConn) {
			bot.identify(w, 1)
			w.send(2, object{"token": bot.Token, "intents": 1})
		},
		4007: func(bot *testBot, w *gatewayConn) { id := bot.identify(bot.dial(), 1); bot.resume(w, id, 100) },
		4008: func(_ *testBot, w *gatewayConn) {
			for range 121 {
				w.send(1, nil)
			}
		},
		4009: func(bot *testBot, _ *gatewayConn) { bot.CloseConnections(4009) },
		4010: func(bot *testBot, w *gatewayConn) {
			w.send(2, object{"token": bot.Token, "intents": 1, "shard": []int{1, 1}})
		},
		4013: func(bot *testBot, w *gatewayConn) { w.send(2, object{"token": bot.Token, "intents": 1 << 30}) },
		4014: func(bot *testBot, w *gatewayConn) {
			bot.SetPrivilegedIntents(0)
			w.send(2, object{"token": bot.Token, "intents": content})
		},
	} {
		bot := newTestBot(t)
		w := bot.dial()
		wrong(bot, w)
		w.expectClose(code)
	}
	bot := newTestBot(t)
	bot.dialWithoutHello("?v=6&encoding=json").expectClose(4012)
}

func TestResumeReplaysMissedEvents(t *testing.T) {
	bot := newTestBot(t)
	w := bot.dial()
	session := bot.identify(w, usual)
	bot.UserSends(bot.channel, bot.user, "one")
	seq := w.waitForEvent("MESSAGE_CREATE").Seq
	bot.CutConnections()
	w.expectClose(0)
	bot.UserSends(bot.channel, bot.user, "two")
	bot.UserSends(bot.channel, bot.user, "three")

	again := bot.dial()
	bot.resume(again, session, seq)
	for i, want := range []string{"two", "three"} {
		if p := again.next(); contentOf(t, p) != want || p.Seq != seq+1+i {
			t.Errorf("got %+v, want %s", p, want)
		}
	}
	if p := again.next(); p.Type != "RESUMED" || p.Seq != seq+3 {
		t.Errorf("%+v", p)
	}
	bot.UserSends(bot.channel, bot.user, "four")
	if p := again.next(); contentOf(t, p) != "four" || p.Seq != seq+4 {
		t.Errorf("%+v", p)
	}
	third := bot.dial()
	bot.resume(third, session, seq+4)
	third.waitForEvent("RESUMED")
	again.expectClose(0) // replaced by the third connection
	if now := bot.Stats(); now.Resumes != 2 || now.Resumed != 2 || now.Readies != 1 || now.Connected != 1 {
		t.Errorf("%+v", now)
	}
}

func TestSessionsThatCannotBeResumed(t *testing.T) {
	for name, end := range map[string]func(*testBot, *gatewayConn){
		"op 9":        func(bot *testBot, _ *gatewayConn) { bot.InvalidateSessions(false) },
		"expired":     func(bot *testBot, _ *gatewayConn) { bot.ExpireSessions() },
		"closed 4009": func(bot *testBot, _ *gatewayConn) { bot.CloseConnections(4009) },
		"a goodbye": func(bot *testBot, w *gatewayConn) {
			_ = w.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""))
			bot.AwaitStats(bot.t, func(s discordtest.Stats) bool { return len(s.Closes) == 1 && s.Connected == 0 })
		},
	} {
		bot := newTestBot(t)
		w := bot.dial()
		session := bot.identify(w, usual)
		end(bot, w)
		bot.UserSends(bot.channel, bot.user, "lost")
		again := bot.dial()
		bot.resume(again, session, 1)
		if p := again.next(); p.Op != 9 || string(p.Data) != "false" {
			t.Errorf("%s: %+v", name, p)
		}
		bot.identify(again, messages|content) // on the same connection
		bot.UserSends(bot.channel, bot.user, "heard")
		wanttest.Equal(t, name+":", contentOf(t, again.waitForEvent("MESSAGE_CREATE")), "heard")
	}
}
