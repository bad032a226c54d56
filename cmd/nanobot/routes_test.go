package main

import (
	"os"
	"path/filepath"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/choice"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
)

func TestRoutesSaysWhatTheChoiceOfAChatChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.json")
	musttest.Do(t, os.WriteFile(path, []byte(`{"terminal": {"command": "cat"}, "agents": {"coder": {"command": "cat"}, "faq": {"command": "cat"}},
		"routes": [{"match": {"command": "faq"}, "agent": "faq"}, {"match": {"kind": "group"}, "agent": "default", "switch": ["coder"]}]}`), 0o600))
	db := musttest.Get(sqlite.Open(t.Context(), filepath.Join(filepath.Dir(path), ".nanobot"), sqlite.Options{}))(t)
	in := channels.Incoming{Chat: channels.Chat{Channel: "discord", ID: "7"}, ID: "1", User: channels.User{ID: "5"}, Group: true}
	musttest.Get(db.Receive(t.Context(), store.ReceiveRequest{In: in, Settle: true, Remember: choice.Remember("coder")}))(t)
	musttest.Do(t, db.Close())
	for text, want := range map[string]string{
		"hello": "coder answers: the chat has chosen it, and rule 2 allows that.\nRule 2 is for kind group. Matched: kind.\n" +
			"Without the chat's choice, default would answer.\nPeople can choose with /agent: coder, default.\n",
		"/faq": "faq answers: rule 1.\nRule 1 is for command faq. Matched: command.\nIt gets the text \"\".\n" +
			"The chat has chosen coder, which does not count for this message.\n",
	} {
		out, err := programCommand(t, "routes", "--config", path, "--chat", "discord:7", text).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s: %v\n%s", text, err, out)
		}
	}
}
