package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"nanobot/gateway/gatewaytest"
)

func TestAfterSixtyCodesPeopleAreToldOnceToTryLaterAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	r := newGuarded(t, echo).start()
	first := func(user int) string {
		chat := fmt.Sprint(user)
		r.net.Say(chat, chat, "let me in")
		calls, _ := r.net.Await(chat, patience, func(c []gatewaytest.Call) bool { return len(c) > 0 })
		if len(calls) == 0 {
			t.Fatalf("user %d was told nothing", user)
		}
		return calls[0].Text
	}
	for user := 100; user < 160; user++ {
		if text := first(user); !strings.Contains(text, "nanobot pair ") {
			t.Fatalf("user %d was told %q", user, text)
		}
	}
	guests, err := r.store.Guests(t.Context())
	if err != nil || len(guests) != 22 { // 20 open codes, and users 8 and 9
		t.Errorf("%d guests, %v", len(guests), err)
	}
	for user := 160; user < 163; user++ {
		if text := first(user); !strings.Contains(text, "try again in an hour") {
			t.Errorf("user %d was told %q", user, text)
		}
	}
	r.stop()
	r.start()
	r.net.Say("160", "160", "please")
	r.net.Say("163", "163", "let me in") // which comes after
	r.awaitText("163", "try again in an hour")
	if got := r.net.Sent("160"); len(got) != 1 {
		t.Errorf("user 160 was told %q", texts(got))
	}
}
