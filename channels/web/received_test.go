package web_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/web/history"
	"nanobot/internal/musttest"
)

const annsChat = "web-a-known-to-nobody-else"

// media returns the files of a message in the chat's list of messages.
func (r *fixture) media(message int) []object {
	r.t.Helper()
	var page struct{ Messages []struct{ Media []object } }
	r.getJSON("ann", "/api/chats/"+annsChat+"/messages", &page)
	return page.Messages[message].Media
}

func TestAReceivedFileIsStoredOnceAndThePageSaysWhenItIsGoneOrChanged(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	r.postForm("ann", annsChat, "look", formFile{"gone.txt", "gone"}, formFile{"changed.txt", "some notes"}, formFile{"moved.txt", "moved"}, formFile{"same.txt", "same"})
	paths := r.awaitIncoming(1)[0].Media
	if kept := r.filesIn("state/web/media"); len(kept) != 0 {
		t.Errorf("there are second copies: %v", kept)
	}
	before := r.media(0)
	for i, m := range before {
		status, _, h := r.request("ann", "GET", "/api/media/"+m["id"].(string), "", nil)
		if m["state"] != nil || status != 200 || h.Get("Cache-Control") != "private, no-cache" || h.Get("ETag") == "" {
			t.Errorf("file %d is %v, served %d with %v", i, m, status, h)
		}
	}
	info, err := os.Stat(paths[1])
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.Remove(paths[0]),
		os.WriteFile(paths[1], []byte("SOME NOTES"), 0o600), // as long as before
		os.Rename(paths[2], filepath.Join(filepath.Dir(paths[2]), "elsewhere")),
		os.Chtimes(paths[3], info.ModTime(), info.ModTime().Add(3600e9))) // the content is the same
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		state any
		text  string
	}{{"gone", "removed or moved"}, {"changed", "was changed"}, {"gone", "removed or moved"}, {nil, ""}} {
		m := r.media(0)[i]
		status, body, _ := r.request("ann", "GET", "/api/media/"+m["id"].(string), "", nil)
		if m["state"] != want.state || want.state != nil && (status != http.StatusGone || !strings.Contains(body, want.text)) || want.state == nil && body != "same" {
			t.Errorf("file %d is %v, served %d %s", i, m, status, body)
		}
	}
	// A file whose times were set back is not served either.
	musttest.Do(t, os.Chtimes(paths[1], info.ModTime(), info.ModTime()))
	if status, body, _ := r.request("ann", "GET", "/api/media/"+before[1]["id"].(string), "", nil); status != http.StatusGone {
		t.Errorf("served %d %s", status, body)
	}
}

// Earlier versions had a copy of each received file in the history.
func TestAFileOfAnEarlierVersionIsStillShown(t *testing.T) {
	r := newFixture(t)
	r.close()
	h := musttest.Get(history.Open(filepath.Join(r.dir, "state", "web"), history.Options{}))(t)
	id, f, err := h.CreateFile()
	if err == nil {
		_, err = f.WriteString("from before")
	}
	musttest.Do(t, errors.Join(err, f.Close()))
	_, _, err = h.Append(t.Context(), history.NewEvent{
		Chat: annsChat, Actor: history.Actor{User: "ann"}, Type: history.Message, ID: "m1",
		Body: history.Body{From: "user", User: "ann", Media: []history.Media{{ID: id, Name: "old.txt", Type: "text/plain; charset=utf-8", Size: 11, Path: "/nowhere/old.txt"}}},
	})
	musttest.Do(t, errors.Join(err, h.Close()))
	r.openChannel()
	if m := r.media(0)[0]; m["state"] != nil || m["name"] != "old.txt" {
		t.Errorf("shown is %v", m)
	}
	if status, body, _ := r.request("ann", "GET", "/api/media/"+id, "", nil); status != 200 || body != "from before" {
		t.Errorf("served %d %s", status, body)
	}
}

func TestAFileBeyondTheLimitIsRefusedAndTheTextIsReceived(t *testing.T) {
	r := newFixture(t)
	files := channelstest.NewFiles()
	files.SetMaxBytes(10)
	r.ch.SetFiles(files)
	r.startGateway()
	const why = `⚠ "b.txt" was not received: the files that this chat has sent may have up to 10 bytes together`
	if status, answer := r.postForm("ann", annsChat, "", formFile{"b.txt", "more than ten"}); status != 413 || !strings.Contains(fmt.Sprint(answer["error"]), why) {
		t.Errorf("without a text: %d %v", status, answer)
	}
	if got := r.filesIn("users"); len(got) != 0 {
		t.Errorf("a refused message has left %v", got)
	}
	if status, answer := r.postForm("ann", annsChat, "look", formFile{"a.txt", "ten"}, formFile{"b.txt", "more than ten"}); status != 202 {
		t.Fatalf("answered %d %v", status, answer)
	}
	in := r.awaitIncoming(1)[0]
	if !strings.HasPrefix(in.Text, "look\n"+why) || len(in.Media) != 1 || in.MediaNames[0] != "a.txt" {
		t.Errorf("received %+v", in)
	}
	if got := r.filesIn("users/" + annsChat); len(got) != 1 {
		t.Errorf("there are %v", got)
	}
}

func TestTheChatsOfOneUserAreBounded(t *testing.T) {
	r := newFixture(t)
	h := musttest.Get(history.Open(filepath.Join(r.dir, "state", "web"), history.Options{}))(t)
	for i := range 1000 {
		_, _, err := h.Append(t.Context(), history.NewEvent{
			Chat: fmt.Sprintf("web-%030d", i), Actor: history.Actor{User: "ann"}, Type: history.Message, ID: fmt.Sprint(i),
			Body: history.Body{From: "user", User: "ann", Kind: string(channels.Answer), Text: "x"},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	musttest.Do(t, h.Close())
	status, answer := r.postForm("ann", annsChat, "one more", formFile{"a.txt", "x"})
	if status != 403 || !strings.Contains(fmt.Sprint(answer["error"]), "You have 1000 chats") {
		t.Errorf("answered %d %v", status, answer)
	}
	if got := r.filesIn("users"); len(got) != 0 {
		t.Errorf("there are %v", got)
	}
	if status, answer := r.postForm("ann", fmt.Sprintf("web-%030d", 7), "in an old one"); status != 202 {
		t.Errorf("an old chat: %d %v", status, answer)
	}
	if status, answer := r.postForm("bob", "web-b-known-to-nobody-else", "hello"); status != 202 {
		t.Errorf("another user: %d %v", status, answer)
	}
	if status, answer := r.postForm("operator", "web-o-known-to-nobody-else", "hello"); status != 202 {
		t.Errorf("an operator: %d %v", status, answer)
	}
}
