package gateway_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
)

func openStore(t *testing.T, dir string) (store.Store, error) {
	t.Helper()
	s, err := openState(t.Context(), filepath.Join(dir, ".nanobot"))
	if err != nil {
		return nil, err
	}
	return s, nil
}

// faultOnce returns a fault for the first send of a text.
func faultOnce(word string, f gatewaytest.Fault) func(gatewaytest.Call) gatewaytest.Fault {
	var mu sync.Mutex
	seen := map[string]bool{}
	return func(c gatewaytest.Call) gatewaytest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if seen[c.Text] || c.Text != word {
			return gatewaytest.Fault{}
		}
		seen[c.Text] = true
		return f
	}
}

const threeMessages = `for i in 1 2 3; do echo "{\"type\":\"message\",\"text\":\"m$i\"}"; done`

func TestARefusedSendIsTriedAgainInOrder(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]gatewaytest.Fault{
		"429": {Status: http.StatusTooManyRequests, RetryAfter: 300 * time.Millisecond},
		"500": {Status: http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newFixture(t, threeMessages)
			fx.net.Fault = faultOnce("m2", f)
			fx.start()
			fx.net.UserWrites("1", "u", "go")
			fx.expect("1", "m1", "m2", "m3")
		})
	}
}

func TestAPermanentlyRefusedMessageDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, threeMessages)
	fx.net.Fault = faultOnce("m2", gatewaytest.Fault{Status: http.StatusForbidden})
	fx.start()
	fx.net.UserWrites("1", "u", "go")
	fx.expect("1", "m1", "m3")
	if fx.logs.FilterMessage("message not delivered").Len() != 1 {
		t.Error("it was dropped in silence")
	}
	fx.net.UserWrites("1", "u", "/status")
	fx.awaitText("1", "Not delivered:\n- failed")
}

func TestACutConnectionIsResolvedByTheKindOfNetwork(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name       string
		idempotent bool
		atMostOnce bool
		want       []string
	}{
		{"idempotent", true, false, []string{"m1", "m2", "m3"}},
		{"at least once", false, false, []string{"m1", "m2", "↻m2", "m3"}},
		{"at most once", false, true, []string{"m1", "m2", "m3"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			fx := newFixture(t, threeMessages)
			fx.net.Idempotent = tc.idempotent
			fx.settings.AtMostOnce = tc.atMostOnce
			fx.net.Fault = faultOnce("m2", gatewaytest.Fault{Disconnect: true})
			fx.start()
			fx.net.UserWrites("1", "u", "go")
			fx.awaitText("1", "m3")
			var got []string
			for _, c := range fx.net.Sent("1") {
				if c.Repeat {
					c.Text = "↻" + c.Text
				}
				got = append(got, c.Text)
			}
			if strings.Join(got, ",") != strings.Join(tc.want, ",") {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAHungSendDelaysNoOtherChat(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	hang := make(chan struct{})
	fx.net.Fault = func(c gatewaytest.Call) gatewaytest.Fault {
		if c.Chat == "stuck" {
			return gatewaytest.Fault{HangUntil: hang}
		}
		return gatewaytest.Fault{}
	}
	fx.start()
	fx.net.UserWrites("stuck", "u", "one")
	fx.net.UserWrites("stuck", "u", "two")
	for _, chat := range []string{"a", "b", "c"} {
		fx.net.UserWrites(chat, "u", "hello")
		fx.expect(chat, "you said hello")
	}
	close(hang)
	fx.awaitText("stuck", "two")
}

func TestFilesAreSentAsTheyWereWhenTheFrameArrived(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `printf before > a.png; printf keep > b.png; echo '{"type":"message","text":"look","media":["'$PWD'/a.png","'$PWD'/b.png"]}'
		until ls .nanobot/spool/*/b.png; do sleep 0.01; done >/dev/null 2>&1; printf after > a.png; rm b.png; touch changed; `+waitForFileScript("go"))
	fx.net.Fault = func(gatewaytest.Call) gatewaytest.Fault {
		for deadline := time.Now().Add(testTimeout); ; time.Sleep(time.Millisecond) { // the network is slower than the agent
			if _, err := os.Stat(filepath.Join(fx.dir, "changed")); err == nil || time.Now().After(deadline) {
				return gatewaytest.Fault{}
			}
		}
	}
	fx.start()
	fx.net.UserWrites("1", "u", "go")
	calls, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return len(c) == 2 })
	if !ok {
		t.Fatalf("sent %v, logged %v", calls, fx.logs.All())
	}
	if f := calls[1].Files; f["a.png"] != "before" || f["b.png"] != "keep" {
		t.Errorf("sent %v", f)
	}
	fx.touchFile("go")
}

func TestShutdownLetsTurnsFinishAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; case "$line" in *first*) touch up; `+waitForFileScript("go")+`echo finished;; *) echo later;; esac`).start()
	fx.net.UserWrites("1", "u", "first")
	fx.awaitFile("up")
	fx.net.UserWrites("1", "u", "second")
	fx.awaitText("1", "Queued")
	fx.cancel()
	fx.touchFile("go")
	fx.stop()
	fx.expect("1", "finished")
	fx.start()
	fx.expect("1", "finished", "later")
}

func TestATurnThatOutlastsTheDrainIsReportedAtTheNextStart(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `if [ -e up ]; then echo second time; else touch up; exec sleep 300; fi`)
	fx.settings.DrainTimeout = 50 * time.Millisecond
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	fx.awaitFile("up")
	fx.stop()
	if got := fx.net.Sent("1"); len(got) != 0 {
		t.Fatalf("a turn that goes on later said %q", texts(got))
	}
	fx.start()
	report := fx.awaitText("1", "I was restarted while working on this.")
	fx.net.UserPresses("1", "u", report.Buttons[0])
	fx.awaitText("1", "second time")
}

func TestATurnIsRunAgainWithItsAttemptRaised(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; echo "$line" > env; echo '{"type":"message","text":"same"}'; if [ -e up ]; then echo end; else touch up; exec sleep 300; fi`)
	fx.settings.DrainTimeout, fx.settings.OnCrash = 50*time.Millisecond, "retry"
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	fx.awaitText("1", "same")
	fx.awaitFile("up")
	fx.awaitReceipts()
	fx.stop()
	fx.start()
	fx.expect("1", "same", "end") // what was delivered at the same place is not sent again
	b, _ := os.ReadFile(filepath.Join(fx.dir, "env"))
	if !strings.Contains(string(b), `"attempt":2`) {
		t.Errorf("got %s", b)
	}
}

func TestAQuestionSurvivesARestart(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; echo '{"type":"ask","id":"q","text":"Go on?","options":["Yes","No"]}'; touch asked; read -r answer; echo "$answer" > answer; echo done`)
	fx.terminal.Interactive = true
	fx.settings.DrainTimeout, fx.settings.OnCrash = 50*time.Millisecond, "retry"
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	question := fx.awaitText("1", "Go on?")
	fx.awaitReceipts()
	fx.stop()
	fx.net.UserPresses("1", "u", question.Buttons[0]) // while nobody listens
	fx.start()
	fx.awaitText("1", "→ Yes (by u)")
	fx.expect("1", "Go on?\n\n→ Yes (by u)", "done") // asked once, answered once
	b, _ := os.ReadFile(filepath.Join(fx.dir, "answer"))
	if !strings.Contains(string(b), `"text":"Yes"`) {
		t.Errorf("the agent got %s", b)
	}
	fx.net.UserPresses("1", "u", question.Buttons[1]) // too late, and harmless
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "u", "/status")
	fx.awaitText("1", "Nothing is running.")
}

func TestAnUnansweredQuestionEndsWithTheTurn(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; echo '{"type":"ask","id":"q","text":"Anybody?"}'; exec sleep 300`)
	fx.terminal.Interactive, fx.settings.DrainTimeout = true, 0
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	fx.awaitText("1", "Anybody?")
	fx.net.UserWrites("1", "u", "/stop")
	fx.awaitText("1", "Stopped.")
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "u", "hello?") // is no answer any more, but a message of its own
	calls, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool {
		return strings.Count(strings.Join(texts(c), "|"), "Anybody?") == 2
	})
	if !ok {
		t.Errorf("got %q", texts(calls))
	}
}
