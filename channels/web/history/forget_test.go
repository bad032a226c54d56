package history_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels/web/history"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestNothingIsLeftOfAForgottenPerson(t *testing.T) {
	onBoth(t, testNothingIsLeftOfAForgottenPerson)
}

func testNothingIsLeftOfAForgottenPerson(t *testing.T, openHistory opener) {
	dir, ctx := t.TempDir(), t.Context()
	h := openHistory(t, dir, history.Options{})
	id, file, err := h.CreateFile()
	musttest.Do(t, errors.Join(err, file.Close()))
	for i := range 210 { // more than are removed at once
		d := said(ann, "hers", fmt.Sprint(i), "marker")
		d.User = "ann"
		if i == 0 {
			d.Media = []history.Media{{ID: id, Name: "marker.txt"}}
		}
		mustAppend(t, h, d)
		stays := said(bob, "his", fmt.Sprint(i), "stays")
		stays.User = "bob"
		mustAppend(t, h, stays)
	}
	for id, user := range map[string]string{"marker": "ann", "stays": "bob"} {
		d := said(operator, "his", id, id)
		d.User = user
		mustAppend(t, h, d)
		answer := newMessage("his", "answer to "+id)
		mustAppend(t, h, answer)
		musttest.Get(h.SetName(ctx, user, id))(t)
		musttest.Do(t, h.Subscribe(ctx, history.Subscription{Endpoint: "https://push/" + id, Owner: user, Origin: "https://" + id}))
	}
	answers := map[string][]string{"his": {"answer to marker"}}
	p := musttest.Get(h.ReadPerson(ctx, "ann", answers))(t)
	text := string(musttest.Get(json.Marshal(p))(t))
	if strings.Contains(text, "stays") || len(p.Events) != 212 || len(p.Chats) != 1 || p.Name != "marker" || len(p.Subscriptions) != 1 {
		t.Errorf("%d events, %d chats, name %q, %s", len(p.Events), len(p.Chats), p.Name, p.Subscriptions)
	}
	wanttest.Equal(t, "removed", musttest.Get(h.Forget(ctx, "ann", answers))(t), 212)
	wanttest.Equal(t, "removed again", musttest.Get(h.Forget(ctx, "ann", answers))(t), 0)
	musttest.Do(t, h.EraseRemoved(ctx))
	p = musttest.Get(h.ReadPerson(ctx, "ann", answers))(t)
	if len(p.Events)+len(p.Chats)+len(p.Subscriptions) > 0 || p.Name != "" {
		t.Errorf("left are %+v", p)
	}
	p = musttest.Get(h.ReadPerson(ctx, "bob", nil))(t)
	if len(p.Events) != 212 || len(p.Chats) != 1 || p.Name != "stays" || len(p.Subscriptions) != 1 {
		t.Errorf("of bob there are %d events, %d chats, name %q, %s", len(p.Events), len(p.Chats), p.Name, p.Subscriptions)
	}
	musttest.Do(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte("marker")) || entry.Name() == id {
			t.Errorf("%s is still there, or has a word of the person", path)
		}
		return err
	}))
}
