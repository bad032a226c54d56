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
)

// TestTheChannelKeepsItsContract looks at the channel as a browser does: what arrives is what the
// stream tells.
func TestTheChannelKeepsItsContract(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.Subject {
		r := newRig(t)
		r.watch("a guest", "0").next("ready")
		tab := &page{rig: r}
		return channelstest.Subject{
			Channel:              r.ch,
			Chat:                 testChat,
			Sent:                 tab.sent,
			UserSends:            func(text string) { r.say("operator", testChat.ID, text) },
			PressButton:          tab.press,
			Redelivers:           true,
			CloseIdleConnections: r.client.CloseIdleConnections,
			Optional:             tab.optional(),
		}
	})
}

var testChat = channels.Chat{Channel: web.Name, ID: "web-test"}

// page is an operator's page, open from the first look at it.
type page struct {
	*rig
	tab *stream
}

// events are all that came until now: until an event that is published now has come.
func (p *page) events() []event {
	p.t.Helper()
	if p.tab == nil {
		p.tab = p.watch("operator", "0")
		p.tab.next("ready")
	}
	p.ch.Publish("now", obj{})
	p.tab.next("now")
	return p.tab.all
}

// sent is what the bot said.
func (p *page) sent() (out []channelstest.SentCall) {
	p.t.Helper()
	for _, e := range p.events() {
		if e.name != "progress" && (e.name != "message" || e.data["from"] != "bot") {
			continue
		}
		one := channelstest.SentCall{Text: e.data["text"].(string)}
		media, _ := e.data["media"].([]any)
		for _, m := range media {
			f := m.(obj)
			one.Files = append(one.Files, channelstest.SentFile{Name: f["name"].(string), Content: p.file(f["id"].(string))})
		}
		out = append(out, one)
	}
	return out
}

// press presses a button under the newest message of the bot.
func (p *page) press(label string) error {
	p.t.Helper()
	all := p.events()
	for _, e := range slices.Backward(all) {
		if e.name != "message" || e.data["from"] != "bot" {
			continue
		}
		for _, b := range e.data["buttons"].([]any) {
			if b.(obj)["label"] != label {
				continue
			}
			if status, answer := p.post("operator", "/api/chats/"+testChat.ID+"/press", obj{"message": e.data["id"], "data": b.(obj)["data"]}); status != http.StatusAccepted {
				return fmt.Errorf("the press is answered %d %v", status, answer)
			}
			return nil
		}
	}
	return fmt.Errorf("there is no button %s", label)
}

// shown is what a page shows of the bot's messages.
func (p *page) shown() (out []string) {
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

// optional is what a browser sees of the optional interfaces.
func (p *page) optional() channelstest.Optional {
	return channelstest.Optional{
		VisibleTexts: p.shown,
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
			p.tamper(`CREATE TRIGGER stuck BEFORE UPDATE OF taken ON events BEGIN SELECT RAISE(FAIL, 'stuck'); END`)
			p.say("operator", testChat.ID, "during the trouble")
			return func() { p.tamper("DROP TRIGGER stuck") }
		},
		OpenStream: func() channelstest.OperatorStream {
			s := p.watch("operator", "")
			s.next("ready")
			return channelstest.OperatorStream{Next: s.until, Close: s.cancel}
		},
	}
}

// until is next for a stream that may end.
func (s *stream) until(name string) (obj, bool) {
	s.t.Helper()
	timeout := time.After(patience)
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

func (r *rig) file(id string) string {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.server.URL+"/api/media/"+id, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("X-User", "operator")
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		r.t.Fatalf("file %s: %s, %v", id, resp.Status, err)
	}
	return string(b)
}
