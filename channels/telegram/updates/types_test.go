package updates_test

import (
	"testing"

	"nanobot/channels/telegram/updates"
	"nanobot/internal/musttest"
)

func TestAnUpdateCannotSetWhatTheBotAddsToIt(t *testing.T) {
	const raw = `{"update_id":1,"Raw":"x","message":{"message_id":2,"chat":{"id":3},"IsEdit":true,"JoinsNext":true,"OriginalChat":4,
		"document":{"file_id":"f","Kind":"../../x"}}}`
	u := musttest.Get(updates.Decode([]byte(raw)))(t)
	m := u.Message
	if string(u.Raw) != raw || m.IsEdit || m.JoinsNext || m.OriginalChat != 0 || m.Document.Kind != "" {
		t.Errorf("decoded as %+v of %+v", m, u)
	}
}
