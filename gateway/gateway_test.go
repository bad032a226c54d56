package gateway_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/turn"
	"nanobot/internal/wanttest"
)

func TestAMessageIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo).start()
	fx.net.UserWrites("1", "u", "hello")
	fx.expect("1", "you said hello")
}

func TestTurnsRunInOrderWithinAChatAndChatsInParallel(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; case "$line" in *slow*) `+waitForFileScript("go")+`echo slow;; *) echo fast;; esac`).start()
	fx.net.UserWrites("a", "u", "slow")
	fx.net.UserWrites("b", "u", "one")
	fx.net.UserWrites("b", "u", "two")
	fx.awaitText("b", "fast")
	fx.net.UserWrites("a", "u", "behind it")
	fx.awaitText("a", "Queued.")
	fx.touchFile("go")
	fx.expect("a", "slow", "fast")
}

func TestMoreChatsThanSlotsAllGetTheirTurn(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	fx.slots = 2
	fx.start()
	for i := range 20 {
		for j := range 3 {
			fx.net.UserWrites(fmt.Sprint("c", i), "u", fmt.Sprint("m", j))
		}
	}
	for i := range 20 {
		calls, ok := fx.net.Await(fmt.Sprint("c", i), testTimeout, func(c []gatewaytest.Call) bool { return len(answers(c)) == 3 })
		if got := strings.Join(answers(calls), ","); !ok || got != "you said m0,you said m1,you said m2" {
			t.Fatalf("chat %d: %s", i, got)
		}
	}
}

// answers returns the agent's messages, without those of the gateway.
func answers(calls []gatewaytest.Call) (out []string) {
	for _, text := range texts(calls) {
		if !strings.HasPrefix(text, "Queued") {
			out = append(out, text)
		}
	}
	return out
}

func TestMessagesSentWhileTheGatewayWasDownAreAnswered(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	fx.net.UserWrites("1", "u", "early")
	fx.start()
	fx.expect("1", "you said early")
	fx.stop()
	fx.net.UserWrites("1", "u", "between")
	fx.start()
	fx.expect("1", "you said early", "you said between")
}

func TestProgressIsOneTransientThatIsEditedAndRemoved(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `for i in 1 2 3 4 5 6 7 8 9; do echo "{\"type\":\"progress\",\"text\":\"step $i\"}"; done; `+waitForFileScript("go")+`echo done`).start()
	began := time.Now()
	fx.net.UserWrites("1", "u", "work")
	transient := fx.awaitText("1", "⏳ step")
	if transient.Kind != "progress" || len(transient.Buttons) != 1 || transient.Buttons[0] != "stop:1" {
		t.Errorf("the transient is %+v", transient)
	}
	fx.awaitText("1", "⏳ step 9") // the newest wins
	if calls := fx.net.Sent("1"); len(calls) != 1 {
		t.Errorf("%d messages for one transient", len(calls))
	}
	if n, took := fx.net.Edits(), time.Since(began); n > max(2, 1+int(took/(1500*time.Millisecond))) {
		t.Errorf("%d edits in %s", n, took)
	}
	for deadline := time.Now().Add(testTimeout); fx.net.Typed() == 0; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody was seen typing")
		}
	}
	fx.touchFile("go")
	fx.expect("1", "done")
	if _, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return len(c) == 1 }); !ok {
		t.Error("the transient stayed")
	}
}

func TestProgressCanBeMessagesOrNothing(t *testing.T) {
	t.Parallel()
	for mode, want := range map[turn.Progress]int{"message": 3, "off": 1} {
		fx := newFixture(t, `echo '{"type":"progress","text":"a"}'; echo '{"type":"progress","text":"b"}'; echo done`)
		fx.agent.Progress = mode
		fx.start()
		fx.net.UserWrites("1", "u", "work")
		fx.expect("1", "done")
		if got := len(fx.net.Sent("1")); got != want {
			t.Errorf("%s: %d messages, want %d", mode, got, want)
		}
	}
}

func TestAnAgentThatIgnoresSIGTERMIsStoppedToo(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `trap '' TERM; touch up; while :; do sleep 0.1; done`).start()
	fx.net.UserWrites("1", "u", "work")
	fx.awaitFile("up")
	fx.net.UserPresses("1", "u", "stop:1")
	fx.awaitText("1", "Stopped.")
}

func TestAQueuedMessageCanBeCancelled(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; case "$line" in *first*) `+waitForFileScript("go")+`;; esac; echo ran`).start()
	fx.net.UserWrites("1", "u", "first")
	fx.net.UserWrites("1", "u", "second")
	notice := fx.awaitText("1", "Queued")
	fx.net.UserPresses("1", "u", notice.Buttons[0])
	fx.awaitText("1", "Cancelled.")
	fx.touchFile("go")
	fx.awaitText("1", "ran")
	fx.net.UserWrites("1", "u", "/status")
	fx.awaitText("1", "Waiting: 0")
	wanttest.Equal(t, "turns ran:", strings.Count(strings.Join(texts(fx.net.Sent("1")), "|"), "ran"), 1)
}

func TestWhileRunningReject(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, waitForFileScript("go")+"echo done")
	fx.settings.WhileRunning = "reject"
	fx.start()
	fx.net.UserWrites("1", "u", "one")
	fx.net.UserWrites("1", "u", "two")
	fx.awaitText("1", "still working")
	fx.touchFile("go")
	fx.awaitText("1", "done")
}

func TestWhileRunningInterrupt(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; case "$line" in *one*) touch up; exec sleep 300;; esac; echo second`)
	fx.settings.WhileRunning = "interrupt"
	fx.start()
	fx.net.UserWrites("1", "u", "one")
	fx.awaitFile("up")
	fx.net.UserWrites("1", "u", "two")
	fx.expect("1", "Stopped.", "second")
}

func TestWhileRunningInject(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; touch up; read -r more; echo "$more" > more; echo done`)
	fx.settings.WhileRunning = "inject"
	fx.start()
	fx.net.UserWrites("1", "u", "one")
	fx.awaitFile("up")
	fx.net.UserWrites("1", "u", "and this too")
	fx.expect("1", "done")
	b, _ := os.ReadFile(filepath.Join(fx.dir, "more"))
	if !strings.Contains(string(b), `"type":"inject"`) || !strings.Contains(string(b), `"text":"and this too"`) {
		t.Errorf("injected %s", b)
	}
}

func TestAMessageThatAnAgentDoesNotReadGetsItsOwnTurn(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; case "$line" in *first*) touch up; `+waitForFileScript("go")+`echo done;; *) text=${line#*\"text\":\"}; echo "own turn: ${text%%\"*}";; esac`)
	fx.settings.WhileRunning = "inject"
	fx.start()
	fx.net.UserWrites("1", "u", "first")
	fx.awaitFile("up")
	fx.net.UserWrites("1", "u", "two")
	fx.net.UserWrites("1", "u", "three")
	fx.net.UserWrites("other", "u", "four") // when this is answered, the others have been received
	fx.awaitText("other", "own turn: four")
	fx.touchFile("go")
	fx.expect("1", "done", "own turn: two", "own turn: three")
}

func TestTheQueueHasALimit(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, waitForFileScript("go")+"echo done")
	fx.settings.QueueLimit = 2
	fx.start()
	for range 4 {
		fx.net.UserWrites("1", "u", "x")
	}
	fx.awaitText("1", "2 messages already waiting")
	fx.touchFile("go")
}

func TestStrangersGetACodeOnceAndAreAdmittedByIt(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	fx.settings.AllowFrom = map[string][]string{"net": {"7"}}
	fx.start()
	fx.net.UserWrites("1", "7", "hi")
	fx.awaitText("1", "you said hi")
	fx.net.UserWrites("2", "8", "let me in")
	call := fx.awaitText("2", "nanobot pair ")
	for range 3 {
		fx.net.UserWrites("2", "8", "please")
	}
	fx.net.UserWrites("1", "7", "still there?") // when this is answered, the others have been heard
	fx.awaitText("1", "still there?")
	_, code, _ := strings.Cut(call.Text, "nanobot pair ")
	code, _, _ = strings.Cut(code, "\n")
	if _, ok, err := fx.store.Accept(t.Context(), code, time.Minute); err != nil || !ok {
		t.Fatalf("accept: %v, %v", ok, err)
	}
	fx.net.UserWrites("2", "8", "thanks") // which does not pass what was said before
	fx.awaitText("2", "you said thanks")
	shown, _ := fx.net.Await("2", 0, func([]gatewaytest.Call) bool { return true })
	said := slices.DeleteFunc(texts(shown), func(text string) bool { return strings.HasPrefix(text, "Queued") })
	wanttest.EqualSlices(t, "the chat was shown", said, []string{call.Text, "You have access now.", "you said please", "you said thanks"})
	wanttest.Equal(t, "logged … times:", fx.logs.FilterMessage("refused a user who is not allowed").FilterField(zap.String("user", "8")).Len(), 1)
}

func TestTheRateIsLimitedPolitely(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	fx.settings.RatePerMinute = 2
	fx.start()
	for i := range 3 {
		fx.net.UserWrites(fmt.Sprint(i), "u", "x")
	}
	fx.awaitText("2", "more than 2 messages a minute")
	fx.net.UserWrites("2", "u", "/help") // commands are always heard
	fx.awaitText("2", "/stop")
}

func TestCommandsAnswer(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo).start()
	fx.net.UserWrites("1", "u", "hello")
	fx.awaitText("1", "you said hello")
	fx.awaitIdle("1")
	for text, want := range map[string]string{
		"/start": "Hello!", "/help": "/status: ", "/whoami": "user id: u\nchat: net:1", "/new": "This is a new conversation", "/status": "Nothing is running.\nWaiting: 0\nLast turns:\n- done",
		"/unknown to us": "you said /unknown to us",
	} {
		fx.net.UserWrites("1", "u", text)
		fx.awaitText("1", want)
		fx.awaitIdle("1")
	}
	fx.net.UserWrites("2", "u", "/retry")
	fx.awaitText("2", "nothing to run again")
}

func TestRetryRunsTheLastMessageAgain(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; echo "{\"type\":\"message\",\"text\":\"$(date +%N)\"}"`).start()
	fx.net.UserWrites("1", "u", "hello")
	fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return len(c) == 1 })
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "u", "/retry")
	if _, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return len(c) == 2 }); !ok {
		t.Fatal("it did not run again")
	}
}

func TestTheAgentGetsTheHistory(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; echo "$line" > env; echo answer`)
	fx.agent.PassHistory = 2
	fx.start()
	for i := range 4 {
		fx.net.UserWrites("1", "u", fmt.Sprint("q", i))
		fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return len(answers(c)) == i+1 })
		fx.awaitIdle("1")
	}
	b, _ := os.ReadFile(filepath.Join(fx.dir, "env"))
	if !strings.Contains(string(b), `"history":[{"role":"user","text":"q`) || strings.Contains(string(b), `"text":"q0"`) || !strings.Contains(string(b), `"role":"agent","text":"answer"`) {
		t.Errorf("got %s", b)
	}
}

func TestTheEnvelopeNamesTheConversationSinceNew(t *testing.T) {
	t.Parallel()
	const id = `"conversation_id":"\([0-9]*\)"`
	fx := newFixture(t, `read -r e; echo "$(expr "$e" : '.*"text":"\([a-z]*\)"') in $(expr "$e" : '.*`+id+`' || true)"`)
	fx.start()
	ask := func(chat, text string) string { return strings.TrimPrefix(fx.writeAndAwait(chat, text), text+" in") }
	first := ask("1", "a")
	fx.writeAndAwait("1", "/new")
	second := ask("1", "b")
	fx.restart()
	if again := ask("1", "c"); first != "" || second == "" || again != second {
		t.Errorf("the conversation is %q, %q after /new and %q after a restart", first, second, again)
	}
	fx.writeAndAwait("1", "/new")
	if third := ask("1", "d"); third == "" || third == second {
		t.Errorf("the conversation is %q, and %q after another /new", second, third)
	}
	wanttest.Equal(t, "the conversation of another chat is", ask("2", "e"), "")
}

func TestAQuestionIsAnsweredByAButtonOrByTyping(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; echo '{"type":"ask","id":"q","text":"Red or blue?","options":["Red","Blue"]}'; read -r answer; echo "$answer" > answer; echo done`)
	fx.terminal.Interactive = true
	fx.start()
	for chat, reply := range map[string]func(gatewaytest.Call){
		"1": func(c gatewaytest.Call) { fx.net.UserPresses("1", "u", c.Buttons[1]) },
		"2": func(gatewaytest.Call) { fx.net.UserWrites("2", "u", "2") },
		"3": func(gatewaytest.Call) { fx.net.UserWrites("3", "u", "blue") },
	} {
		fx.net.UserWrites(chat, "u", "go")
		call := fx.awaitText(chat, "Red or blue?")
		reply(call)
		fx.awaitText(chat, "done")
		b, _ := os.ReadFile(filepath.Join(fx.dir, "answer"))
		if !strings.Contains(string(b), `"text":"Blue"`) {
			t.Errorf("chat %s: the agent got %s", chat, b)
		}
	}
}

func TestASecondGatewayOnTheSameStateIsRefused(t *testing.T) {
	t.Parallel()
	onlySQLite(t, "the members of a shared state are many")
	fx := newFixture(t, echo).start()
	if _, err := openStore(t, fx.dir); err == nil || !strings.Contains(err.Error(), "another nanobot is running") {
		t.Errorf("got %v", err)
	}
}
