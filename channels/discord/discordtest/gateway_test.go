package discordtest_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"nanobot/channels/discord/discordtest"
)

const (
	guilds   = 1 << 0
	messages = 1 << 9
	dms      = 1 << 12
	content  = 1 << 15
	usual    = guilds | messages | dms | content
)

// packet is a frame of the gateway.
type packet struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int             `json:"s"`
	Type string          `json:"t"`
}

// wire is the bot's side of a connection.
type wire struct {
	*websocket.Conn
	t *testing.T
}

// dial connects and takes the HELLO.
func (r *rig) dial() *wire {
	r.t.Helper()
	w := r.dialOnly("?v=10&encoding=json")
	if p := w.next(); p.Op != 10 {
		r.t.Fatalf("the first packet is %+v", p)
	}
	return w
}

func (r *rig) dialOnly(query string) *wire {
	r.t.Helper()
	url := into[struct{ URL string }](r.t, r.must("GET", "/gateway", nil).body).URL
	ws, resp, err := websocket.DefaultDialer.Dial(url+query, nil)
	if err != nil {
		r.t.Fatalf("dial: %v", err)
	}
	_ = resp.Body.Close()
	r.t.Cleanup(func() { _ = ws.Close() })
	return &wire{ws, r.t}
}

func (w *wire) say(op int, data any) {
	w.t.Helper()
	if err := w.WriteJSON(object{"op": op, "d": data}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) next() (p packet) {
	w.t.Helper()
	_ = w.SetReadDeadline(time.Now().Add(discordtest.WaitLimit))
	if err := w.ReadJSON(&p); err != nil {
		w.t.Fatalf("read: %v", err)
	}
	return p
}

// until reads to the next event of a type.
func (w *wire) until(event string) packet {
	w.t.Helper()
	for {
		if p := w.next(); p.Type == event {
			return p
		}
	}
}

// closed reads to the end and fails the test unless that is this code; 0 is a cut.
func (w *wire) closed(code int) {
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

func (r *rig) identify(w *wire, intents int) string {
	r.t.Helper()
	w.say(2, object{"token": r.Token, "intents": intents, "properties": object{}})
	return into[struct {
		ID string `json:"session_id"`
	}](r.t, w.until("READY").Data).ID
}

func (r *rig) resume(w *wire, session string, seq int) {
	r.t.Helper()
	w.say(6, object{"token": r.Token, "session_id": session, "seq": seq})
}

func text(t *testing.T, p packet) string {
	t.Helper()
	return into[discordtest.Message](t, p.Data).Content
}

func TestASessionIsToldOfTheWorldAndOfWhatIsSaid(t *testing.T) {
	r := newRig(t)
	thread := r.AddThread(r.channel, "talk")
	w := r.dial()
	r.identify(w, usual)
	g := w.next()
	world := into[struct{ Channels, Threads []discordtest.Channel }](t, g.Data)
	if g.Type != "GUILD_CREATE" || g.Seq != 2 || len(world.Channels) != 1 || world.Threads[0].ID != thread.ID {
		t.Errorf("%+v: %+v", g, world)
	}
	r.UserSends(r.channel, r.user, "hello")
	m := w.next()
	if got := into[discordtest.Message](t, m.Data); m.Seq != 3 || got.Content != "hello" || got.GuildID != r.guild {
		t.Errorf("%+v", m)
	}
	r.send(object{"content": "mine", "nonce": "n"})
	if got := into[discordtest.Message](t, w.next().Data); got.Content != "mine" || got.Nonce != "n" || got.Author != r.Bot {
		t.Errorf("%+v", got)
	}
	w.say(1, 4)
	if p := w.next(); p.Op != 11 {
		t.Errorf("in answer to a heartbeat: %+v", p)
	}
	r.RequestHeartbeat()
	if p := w.next(); p.Op != 1 {
		t.Errorf("%+v", p)
	}
}

func TestContentNeedsItsIntent(t *testing.T) {
	r := newRig(t)
	w := r.dial()
	r.identify(w, usual&^content)
	r.UserSends(r.channel, r.user, "secret", discordtest.File{Name: "a"})
	if got := into[discordtest.Message](t, w.until("MESSAGE_CREATE").Data); got.Content != "" || len(got.Attachments) != 0 {
		t.Errorf("%+v", got)
	}
	r.UserSends(r.channel, r.user, "<@"+r.Bot.ID+"> hi")
	r.UserSends(r.DM(r.user).ID, r.user, "direct")
	for _, want := range []string{"<@" + r.Bot.ID + "> hi", "direct"} {
		if got := text(t, w.next()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	without := r.dial()
	r.identify(without, guilds|dms)
	r.UserSends(r.channel, r.user, "not for you")
	r.UserSends(r.DM(r.user).ID, r.user, "for you")
	if got := text(t, without.until("MESSAGE_CREATE")); got != "for you" {
		t.Errorf("got %q", got)
	}
}

func TestTheGatewayHangsUpOnWhatIsWrong(t *testing.T) {
	for code, wrong := range map[int]func(*rig, *wire){
		4001: func(_ *rig, w *wire) { w.say(99, nil) },
		4002: func(_ *rig, w *wire) { _ = w.WriteMessage(websocket.TextMessage, []byte("{")) },
		4003: func(_ *rig, w *wire) { w.say(3, object{}) },
		4004: func(_ *rig, w *wire) { w.say(2, object{"token": "wrong", "intents": 1}) },
		4005: func(r *rig, w *wire) { r.identify(w, 1); w.say(2, object{"token": r.Token, "intents": 1}) },
		4007: func(r *rig, w *wire) { id := r.identify(r.dial(), 1); r.resume(w, id, 100) },
		4008: func(_ *rig, w *wire) {
			for range 121 {
				w.say(1, nil)
			}
		},
		4009: func(r *rig, _ *wire) { r.CloseConnections(4009) },
		4010: func(r *rig, w *wire) { w.say(2, object{"token": r.Token, "intents": 1, "shard": []int{1, 1}}) },
		4013: func(r *rig, w *wire) { w.say(2, object{"token": r.Token, "intents": 1 << 30}) },
		4014: func(r *rig, w *wire) {
			r.SetPrivilegedIntents(0)
			w.say(2, object{"token": r.Token, "intents": content})
		},
	} {
		r := newRig(t)
		w := r.dial()
		wrong(r, w)
		w.closed(code)
	}
	r := newRig(t)
	r.dialOnly("?v=6&encoding=json").closed(4012)
}

func TestResumeReplaysWhatWasMissed(t *testing.T) {
	r := newRig(t)
	w := r.dial()
	session := r.identify(w, usual)
	r.UserSends(r.channel, r.user, "one")
	seq := w.until("MESSAGE_CREATE").Seq
	r.CutConnections()
	w.closed(0)
	r.UserSends(r.channel, r.user, "two")
	r.UserSends(r.channel, r.user, "three")

	again := r.dial()
	r.resume(again, session, seq)
	for i, want := range []string{"two", "three"} {
		if p := again.next(); text(t, p) != want || p.Seq != seq+1+i {
			t.Errorf("got %+v, want %s", p, want)
		}
	}
	if p := again.next(); p.Type != "RESUMED" || p.Seq != seq+3 {
		t.Errorf("%+v", p)
	}
	r.UserSends(r.channel, r.user, "four")
	if p := again.next(); text(t, p) != "four" || p.Seq != seq+4 {
		t.Errorf("%+v", p)
	}
	third := r.dial()
	r.resume(third, session, seq+4)
	third.until("RESUMED")
	again.closed(0) // given up for the third
	if now := r.Stats(); now.Resumes != 2 || now.Resumed != 2 || now.Readies != 1 || now.Connected != 1 {
		t.Errorf("%+v", now)
	}
}

func TestSessionsThatCannotBeResumed(t *testing.T) {
	for name, end := range map[string]func(*rig, *wire){
		"op 9":        func(r *rig, _ *wire) { r.InvalidateSessions(false) },
		"expired":     func(r *rig, _ *wire) { r.ExpireSessions() },
		"closed 4009": func(r *rig, _ *wire) { r.CloseConnections(4009) },
		"a goodbye": func(r *rig, w *wire) {
			_ = w.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""))
			r.AwaitStats(r.t, func(s discordtest.Stats) bool { return len(s.Closes) == 1 && s.Connected == 0 })
		},
	} {
		r := newRig(t)
		w := r.dial()
		session := r.identify(w, usual)
		end(r, w)
		r.UserSends(r.channel, r.user, "lost")
		again := r.dial()
		r.resume(again, session, 1)
		if p := again.next(); p.Op != 9 || string(p.Data) != "false" {
			t.Errorf("%s: %+v", name, p)
		}
		r.identify(again, messages|content) // on the same connection
		r.UserSends(r.channel, r.user, "heard")
		if got := text(t, again.until("MESSAGE_CREATE")); got != "heard" {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
