package gateway_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"nanobot/gateway/gatewaytest"
)

func TestAfterSixtyCodesPeopleAreToldOnceToTryLaterAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	fx := newAccessFixture(t, echo).start()
	first := func(user int) string {
		chat := fmt.Sprint(user)
		fx.net.UserWrites(chat, chat, "let me in")
		calls, _ := fx.net.Await(chat, testTimeout, func(c []gatewaytest.Call) bool { return len(c) > 0 })
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
	pairings, err := fx.store.Pairings(t.Context())
	if err != nil || len(pairings) != 22 { // 20 open codes, and users 8 and 9
		t.Errorf("%d pairings, %v", len(pairings), err)
	}
	for user := 160; user < 163; user++ {
		if text := first(user); !strings.Contains(text, "try again in an hour") {
			t.Errorf("user %d was told %q", user, text)
		}
	}
	fx.stop()
	fx.start()
	fx.net.UserWrites("160", "160", "please")
	fx.net.UserWrites("163", "163", "let me in") // which comes after
	fx.awaitText("163", "try again in an hour")
	if got := fx.net.Sent("160"); len(got) != 1 {
		t.Errorf("user 160 was told %q", texts(got))
	}
}

func TestCodesDifferAndAreHardToGuess(t *testing.T) {
	t.Parallel()
	fx := newAccessFixture(t, echo).start()
	form := regexp.MustCompile(`nanobot pair ([A-Z2-7]{8})\n`) // 40 bits, in letters that are not mixed up
	codes := map[string]bool{}
	var used [8]map[byte]bool
	for user := 100; user < 160; user++ {
		chat := fmt.Sprint(user)
		fx.net.UserWrites(chat, chat, "let me in")
		code := form.FindStringSubmatch(fx.awaitText(chat, "nanobot pair ").Text)
		if code == nil || codes[code[1]] {
			t.Fatalf("code %q of user %d, after %v", code, user, codes)
		}
		codes[code[1]] = true
		for i := range used {
			if used[i] == nil {
				used[i] = map[byte]bool{}
			}
			used[i][code[1][i]] = true
		}
	}
	for i, letters := range used { // of 32; fewer than 13 by chance is out of the question
		if len(letters) < 13 {
			t.Errorf("at place %d there are only %d different letters in %d codes", i, len(letters), len(codes))
		}
	}
}
