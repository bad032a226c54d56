package main

import (
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// change makes a request that must succeed.
func (p *browser) change(method, path, body string) {
	p.b.t.Helper()
	if status, answer := p.request(method, path, isJSON, strings.NewReader(body)); status != http.StatusOK && status != http.StatusNoContent {
		p.b.t.Fatalf("%s %s is answered %d %s", method, path, status, answer)
	}
}

// read decodes the response to a GET request.
func (p *browser) read(path string, into any) {
	p.b.t.Helper()
	status, answer := p.request("GET", path, "", nil)
	if err := json.Unmarshal([]byte(answer), into); status != http.StatusOK || err != nil {
		p.b.t.Fatalf("%s is answered %d %s", path, status, answer)
	}
}

// TestWhatPeopleHaveSetOnThePageSurvivesAKillAndARestore has everything that the page's history
// stores beside messages: names, pins, deleted chats, keys and subscriptions of notifications.
func TestWhatPeopleHaveSetOnThePageSurvivesAKillAndARestore(t *testing.T) {
	b, service := newPushingBot(t)
	ann, bob := b.signIn("--user", "ann"), b.signIn("--user", "bob")
	const chat, gone = "web-a-known-to-nobody-else", "web-g-known-to-nobody-else"
	ann.sendMessage(chat, "hello")
	ann.awaitAnswer(chat, "re **hello**")
	ann.sendMessage(gone, "bye")
	device := service.NewBrowser()
	ann.change("PATCH", "/api/me", `{"name": "Ann Öst"}`)
	ann.change("PATCH", "/api/chats/"+chat, `{"title": "The plan", "pinned": true}`)
	ann.change("DELETE", "/api/chats/"+gone, "")
	ann.change("POST", "/api/push", device.JSON(true))
	key := ""
	check := func(when string) {
		t.Helper()
		var me struct{ Name string }
		ann.read("/api/me", &me)
		wanttest.Equal(t, "name "+when, me.Name, "Ann Öst")
		if status, _ := bob.request("PATCH", "/api/me", isJSON, strings.NewReader(`{"name": "ANN ÖST"}`)); status != http.StatusConflict {
			t.Errorf("%s, bob can have her name: %d", when, status)
		}
		var chats []struct {
			ID, Title string
			Pinned    bool
		}
		ann.read("/api/chats", &chats)
		if len(chats) != 1 || chats[0].ID != chat || chats[0].Title != "The plan" || !chats[0].Pinned {
			t.Errorf("%s, her chats are %+v", when, chats)
		}
		for p, want := range map[*browser]int{ann: http.StatusGone, bob: http.StatusNotFound} {
			status, _ := p.request("GET", "/api/chats/"+gone+"/messages", "", nil)
			wanttest.Equal(t, "status of the deleted chat "+when, status, want)
		}
		var now struct{ Key string }
		ann.read("/api/push", &now)
		if key = cmp.Or(key, now.Key); key != now.Key || key == "" {
			t.Errorf("%s, the key is %q instead of %q", when, now.Key, key)
		}
		ann.sendMessage(chat, "and "+when)
		for { // there may be others of the deleted chat and from before
			p := service.Next()
			wanttest.Equal(t, "browser "+when, service.URL+p.Path, device.Endpoint)
			if strings.Contains(p.Payload, `re and `+when) && strings.Contains(p.Payload, `"title":"The plan"`) {
				return
			}
		}
	}
	check("at first")
	b.kill()
	b.start()
	check("after a kill")
	state, file := filepath.Join(filepath.Dir(b.cfg), ".nanobot"), filepath.Join(t.TempDir(), "backup.tar.gz")
	mustRunProgram(t, "backup", "--config", b.cfg, file)
	ann.change("PATCH", "/api/me", `{"name": "Later"}`)
	ann.change("PATCH", "/api/chats/"+chat, `{"title": "Later", "pinned": false}`)
	ann.change("DELETE", "/api/push", device.JSON(true))
	b.kill()
	musttest.Do(t, os.RemoveAll(state))
	mustRunProgram(t, "restore", "--config", b.cfg, file)
	b.start()
	check("after a restore")
}
