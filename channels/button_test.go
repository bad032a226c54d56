package channels_test

import (
	"testing"

	"nanobot/channels"
	"nanobot/internal/wanttest"
)

func TestThePropertiesOfAButtonAreInItsEncodedData(t *testing.T) {
	for want, b := range map[string]channels.Button{
		"stop:1":              {Data: "stop:1"},
		"+answer:q:1":         {Data: "answer:q:1", Stays: true},
		"+details:details:12": {Data: "details:12", Stays: true, Private: true},
	} {
		if got := b.Encode(); got != want {
			t.Errorf("%q is now %q", want, got)
		}
		wanttest.Equal(t, want+": is decoded as", channels.DecodeButton(want), b)
	}
}

func TestTheIDOfAPressIsNotThatOfAMessage(t *testing.T) {
	id := channels.PressID("12")
	if got, ok := channels.ParsePressID(id); !ok || got != "12" || id != "press-12" {
		t.Errorf("the ID is %q, of press %q", id, got)
	}
	if _, ok := channels.ParsePressID("12"); ok {
		t.Error("the ID of a message is that of a press")
	}
}
