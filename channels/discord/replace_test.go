package discord_test

import (
	"errors"
	"testing"

	"nanobot/channels"
)

func TestAMessageTakesThePlaceOfAnother(t *testing.T) {
	r := newTestChannel(t)
	written := r.sendAnswer(channels.Message{Text: "hel"})[0]
	for range 2 { // once more is harmless
		receipt, err := r.Replace(t.Context(), written.ID, r.planText("hello"))
		if err != nil || receipt != written {
			t.Fatalf("got %+v, %v", receipt, err)
		}
	}
	if all := r.server.BotMessages(r.dm); len(all) != 1 || all[0].Content != "hello" {
		t.Errorf("shown is %+v", all)
	}
	if err := r.Remove(t.Context(), chatOf(r.dm), written.ID); err != nil {
		t.Fatal(err)
	}
	_, err := r.Replace(t.Context(), written.ID, r.planText("hello again"))
	var se *channels.SendError
	if !errors.Is(err, channels.ErrGone) || !errors.As(err, &se) || !se.Permanent {
		t.Errorf("of a message that is gone it says %v", err)
	}
}
