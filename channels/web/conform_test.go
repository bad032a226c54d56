package web_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/web"
)

// TestTheChannelKeepsItsContract looks at the channel as a browser does: what arrives is what the stream tells.
func TestTheChannelKeepsItsContract(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.Subject {
		r := newRig(t)
		tab := r.watch("operator", "0")
		tab.next("ready")
		return channelstest.Subject{
			Channel:    r.ch,
			Chat:       channels.Chat{Channel: web.Name, ID: "web-test"},
			Sent:       func() []channelstest.Sent { return r.sent(tab) },
			Say:        func(text string) { r.say("operator", "web-test", text) },
			Redelivers: true,
			CloseIdle:  r.client.CloseIdleConnections,
		}
	})
}

// sent is what the bot said, of all that came until now: until a sign that is given now has come.
func (r *rig) sent(tab *stream) (out []channelstest.Sent) {
	r.t.Helper()
	if err := r.ch.Typing(context.Background(), channels.Chat{Channel: web.Name, ID: "web-test"}); err != nil {
		r.t.Fatal(err)
	}
	tab.next("typing")
	for _, e := range tab.all {
		if e.name != "progress" && (e.name != "message" || e.data["from"] != "bot") {
			continue
		}
		one := channelstest.Sent{Text: e.data["text"].(string)}
		media, _ := e.data["media"].([]any)
		for _, m := range media {
			f := m.(obj)
			one.Files = append(one.Files, channelstest.SentFile{Name: f["name"].(string), Content: r.file(f["id"].(string))})
		}
		out = append(out, one)
	}
	return out
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
