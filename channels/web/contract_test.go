package web_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/web"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
)

// TestTheChannelKeepsItsContract observes the channel as a browser does, through the event stream.
func TestTheChannelKeepsItsContract(t *testing.T) {
	testContract(t, newFixture)
}

func TestTheChannelKeepsItsContractOnAServer(t *testing.T) {
	testContract(t, func(t *testing.T) *fixture { return newMember(t, t.TempDir(), postgrestest.Lend(t)) })
}

func testContract(t *testing.T, newFixture func(*testing.T) *fixture) {
	channelstest.Run(t, func(t *testing.T) channelstest.Subject {
		r := newFixture(t)
		r.openStream("somebody", "0").next("ready")
		tab := &operatorPage{fixture: r}
		return channelstest.Subject{
			Channel:              r.ch,
			Chat:                 testChat,
			Sent:                 tab.sentCalls,
			UserSends:            func(text string) { r.postText("operator", testChat.ID, text) },
			PressButton:          tab.press,
			Redelivers:           true,
			CloseIdleConnections: r.client.CloseIdleConnections,
			// An idle connection of the store reads beside a write that took longer than 15 ms.
			OutlivesRun: "github.com/jackc/pgx/v5/pgconn/internal/bgreader.(*BGReader).bgRead",
			Optional:    tab.optional(),
		}
	})
}

var testChat = channels.Chat{Channel: web.Name, ID: "web-test"}

// operatorPage is an operator's page, which opens its stream at first use.
type operatorPage struct {
	*fixture
	tab *stream
}

// events returns all events until now. An event that is published now marks the end.
func (p *operatorPage) events() []event {
	p.t.Helper()
	if p.tab == nil {
		p.tab = p.openStream("operator", "0")
		p.tab.next("ready")
	}
	p.ch.Publish("now", object{})
	p.tab.next("now")
	return p.tab.all
}

// sentCalls returns the messages of the bot.
func (p *operatorPage) sentCalls() (out []channelstest.SentCall) {
	p.t.Helper()
	for _, e := range p.events() {
		if e.name != "progress" && (e.name != "message" || e.data["from"] != "bot") {
			continue
		}
		one := channelstest.SentCall{Text: e.data["text"].(string)}
		media, _ := e.data["media"].([]any)
		for _, m := range media {
			f := m.(object)
			one.Files = append(one.Files, channelstest.SentFile{Name: f["name"].(string), Content: p.getFile(f["id"].(string))})
		}
		out = append(out, one)
	}
	return out
}

// press presses a button under the newest message of the bot.
func (p *operatorPage) press(label string) error {
	p.t.Helper()
	all := p.events()
	for _, e := range slices.Backward(all) {
		if e.name != "message" || e.data["from"] != "bot" {
			continue
		}
		for _, b := range e.data["buttons"].([]any) {
			if b.(object)["label"] != label {
				continue
			}
			if status, answer := p.postJSON("operator", "/api/chats/"+testChat.ID+"/press", object{"message": e.data["id"], "data": b.(object)["data"]}); status != http.StatusAccepted {
				return fmt.Errorf("the press is answered %d %v", status, answer)
			}
			return nil
		}
	}
	return fmt.Errorf("there is no button %s", label)
}

// visibleTexts returns the messages of the bot that a page shows.
func (p *operatorPage) visibleTexts() (out []string) {
	p.t.Helper()
	var ids []string
	texts := map[string]string{}
	for _, e := range p.events() {
		id, _ := e.data["id"].(string)
		switch {
		case e.name == "gone":
			ids = slices.DeleteFunc(ids, func(s string) bool { return s == id })
		case e.name == "progress", e.name == "message" && e.data["from"] == "bot":
			if texts[id] = e.data["text"].(string); !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	for _, id := range ids {
		out = append(out, texts[id])
	}
	return out
}

// optional observes the optional interfaces through the stream.
func (p *operatorPage) optional() channelstest.Optional {
	return channelstest.Optional{
		VisibleTexts: p.visibleTexts,
		TypingCount: func() (n int) {
			for _, e := range p.events() {
				if e.name == "typing" {
					n++
				}
			}
			return n
		},
		Restart: func() channels.Channel {
			p.restart()
			p.tab = nil
			return p.ch
		},
		BreakReceiving: func() func() { // what was received cannot be recorded as such
			breakIt, mend := `CREATE TRIGGER stuck BEFORE UPDATE OF taken ON events BEGIN SELECT RAISE(FAIL, 'stuck'); END`, "DROP TRIGGER stuck"
			if p.database != nil {
				breakIt = "ALTER TABLE web_events ADD CONSTRAINT stuck CHECK (taken = 0) NOT VALID"
				mend = "ALTER TABLE web_events DROP CONSTRAINT stuck"
			}
			p.execSQL(breakIt)
			p.postText("operator", testChat.ID, "while receiving fails")
			return func() { p.execSQL(mend) }
		},
		OpenStream: func() channelstest.OperatorStream {
			s := p.openStream("operator", "")
			s.next("ready")
			return channelstest.OperatorStream{Next: s.nextOrEnd, Close: s.cancel}
		},
	}
}

// nextOrEnd is like next for a stream that may end.
func (s *stream) nextOrEnd(name string) (object, bool) {
	s.t.Helper()
	timeout := time.After(eventTimeout)
	for {
		select {
		case e, ok := <-s.events:
			if !ok || e.name == name {
				return e.data, ok
			}
		case <-timeout:
			s.t.Errorf("neither %s nor the end came", name)
			return nil, true
		}
	}
}

func (r *fixture) getFile(id string) string {
	r.t.Helper()
	req := musttest.Get(http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.server.URL+"/api/media/"+id, nil))(r.t)
	req.Header.Set("X-User", "operator")
	resp := musttest.Get(r.client.Do(req))(r.t)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		r.t.Fatalf("file %s: %s, %v", id, resp.Status, err)
	}
	return string(b)
}
