package web_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"nanobot/channels"
	"nanobot/internal/musttest"
)

func TestARemovedMessageOfAPersonIsEmptyForEverybodyAndInNoFile(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	const chat = "web-a-known-to-nobody-else"
	r.postText("ann", chat, "hunter2") // is also the title
	answer := r.sendAsBot(answerTo(chat, "an answer"), "k1").ID
	id := r.awaitIncoming(1)[0].ID
	early := r.openStream("ann", "")
	seen := early.next("ready").id
	for range 2 {
		musttest.Do(t, r.ch.Remove(t.Context(), channels.Chat{Channel: "web", ID: chat}, id))
	}
	if err := r.ch.Remove(t.Context(), channels.Chat{Channel: "web", ID: chat}, answer); err != nil { // it is not a person's
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		musttest.Do(t, filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			if bytes.Contains(content, []byte("hunter2")) {
				t.Errorf("%s has the text", path)
			}
			return err
		}))
	}
	check()
	if e := early.next("removed"); e.data["id"] != id || e.data["chat"] != chat || e.id == "" {
		t.Errorf("told was %+v", e)
	}
	r.restart()
	check()
	if e := r.openStream("ann", seen).next("removed"); e.data["id"] != id {
		t.Errorf("a later stream was told %+v", e)
	}
	var page struct{ Messages []object }
	r.getJSON("ann", "/api/chats/"+chat+"/messages", &page)
	if m := page.Messages; len(m) != 2 || m[0]["removed"] != true || m[0]["text"] != "" || m[1]["text"] != "an answer" || m[1]["removed"] != nil {
		t.Errorf("stored is %+v", m)
	}
}
