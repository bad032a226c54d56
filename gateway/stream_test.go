package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/terminal"
)

// streamProtocol is a protocol for scripts that print a frame per line: its kind, an optional file
// as file=PATH, and the text, in which words:N stands for N numbered words.
type streamProtocol struct{}

func (streamProtocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	line, err := t.Envelope.Line()
	if err != nil {
		return terminal.Outcome{}, err
	}
	agent, err := t.Launch(ctx, terminal.Input{First: line})
	if err != nil {
		return terminal.Outcome{}, err
	}
	defer agent.Wait()
	defer agent.Kill()
	for said := bufio.NewScanner(agent.Stdout); said.Scan(); {
		kind, text, _ := strings.Cut(said.Text(), " ")
		f := terminal.Frame{Kind: terminal.Kind(kind), Text: text}
		if rest, ok := strings.CutPrefix(text, "file="); ok {
			path, words, _ := strings.Cut(rest, " ")
			f.Media, f.Text = []string{path}, words
		}
		if n, ok := strings.CutPrefix(f.Text, "words:"); ok {
			f.Text = numberedWords(n)
		}
		if err := t.Emit(f); err != nil {
			return terminal.Outcome{}, err
		}
	}
	return terminal.Outcome{Status: terminal.Done}, nil
}

// numberedWords returns numbered words.
func numberedWords(count string) string {
	n, _ := strconv.Atoi(count)
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("w%05d", i))
	}
	return strings.Join(all, " ")
}

func newStreamFixture(t *testing.T, script string) *fixture {
	t.Helper()
	fx := newFixture(t, script)
	fx.protocol = streamProtocol{}
	return fx
}

// noReplaceEditor is a channel that can edit but not replace messages.
type noReplaceEditor struct {
	channels.Channel
	channels.Editor
}

func TestAnAnswerIsShownWhileItIsWritten(t *testing.T) {
	t.Parallel()
	fx := newStreamFixture(t, `echo partial one; `+waitForFileScript("shown")+`echo partial one two; echo partial one two three; `+waitForFileScript("edited")+`echo message one two three four`).start()
	fx.net.UserWrites("1", "u", "write")
	transient := fx.awaitText("1", "one")
	if transient.Text != "one" || transient.Kind != "message" || transient.ReplyTo == "" || len(transient.Buttons) != 1 {
		t.Errorf("the first that is shown is %+v", transient)
	}
	fx.touchFile("shown")
	if got := fx.awaitText("1", "one two three"); got.ID != transient.ID {
		t.Errorf("it became %+v", got)
	}
	fx.touchFile("edited")
	fx.awaitText("1", "one two three four")
	fx.stop()
	all := withoutDone(fx.net.Sent("1"))
	if len(all) != 1 || all[0].ID != transient.ID || all[0].Repeat || len(all[0].Buttons) > 0 || fx.net.Edits() > 2 || fx.net.Replaced() != 1 {
		t.Errorf("%d edits, %d replacements; shown is %+v", fx.net.Edits(), fx.net.Replaced(), all)
	}
}

func TestAShortAnswerIsSentOnce(t *testing.T) {
	t.Parallel()
	// One write, so that a busy machine cannot delay the message until the transient message is
	// due.
	fx := newStreamFixture(t, `printf 'partial o\npartial on\nmessage one\nmessage two\n'`).start()
	fx.net.UserWrites("1", "u", "write")
	fx.expect("1", "one", "two")
	fx.stop()
	if fx.net.Edits()+fx.net.Replaced() != 0 {
		t.Errorf("%d edits, %d replacements", fx.net.Edits(), fx.net.Replaced())
	}
}

func TestAnUnfinishedAnswerIsNotShownOnNetworksWithoutEdits(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*fixture){
		"progress is off":      func(fx *fixture) { fx.agent.Progress = "off" },
		"progress is messages": func(fx *fixture) { fx.agent.Progress = "message" },
		"it cannot be edited": func(fx *fixture) {
			fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel { return struct{ channels.Channel }{c} }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newStreamFixture(t, `echo partial one; sleep 0.8; echo partial one two; echo message one two three`)
			change(fx)
			fx.start()
			fx.net.UserWrites("1", "u", "write")
			if calls, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return len(c) > 0 }); !ok || calls[0].Text != "one two three" {
				t.Errorf("the first that was shown is %+v", calls)
			}
		})
	}
}

func TestAnAnswerThatCannotReplaceATransientMessageIsSentAndThatOneRemoved(t *testing.T) {
	t.Parallel()
	fx := newStreamFixture(t, `echo partial one; `+waitForFileScript("shown")+`echo message one two; `+waitForFileScript("go"))
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel { return noReplaceEditor{c, c} }
	fx.start()
	fx.net.UserWrites("1", "u", "write")
	if transient := fx.awaitText("1", "one"); transient.Kind != "draft" || len(transient.Buttons) != 1 {
		t.Errorf("the transient is %+v", transient)
	}
	fx.touchFile("shown")
	calls, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return len(c) == 1 && c[0].Text == "one two" })
	if !ok || calls[0].Kind != "message" {
		t.Errorf("shown is %+v", calls)
	}
	fx.touchFile("go")
}

func TestAnAnswerGrowsIntoMoreTransients(t *testing.T) {
	t.Parallel()
	fx := newStreamFixture(t, `echo partial words:300; `+waitForFileScript("first")+`echo partial words:1000; `+waitForFileScript("second")+`echo message words:1500`).start()
	fx.net.UserWrites("1", "u", "write")
	fx.awaitText("1", "w00299")
	fx.touchFile("first")
	fx.awaitText("1", "w00999")
	shown := fx.net.Sent("1")
	if len(shown) != 2 {
		t.Fatalf("%d transients", len(shown))
	}
	fx.touchFile("second")
	fx.awaitText("1", "w01499")
	fx.stop()
	all := withoutDone(fx.net.Sent("1"))
	if len(all) != 3 || all[0].ID != shown[0].ID || all[1].ID != shown[1].ID {
		t.Errorf("%d transients in the end", len(all))
	}
	if got := strings.Join(strings.Fields(strings.Join(texts(all), " ")), " "); got != numberedWords("1500") {
		t.Errorf("the text is %s…", got[:min(100, len(got))])
	}
}

func TestTransientMessagesThatNothingReplacesAreRemoved(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{"none": `echo progress done`, "fewer": `echo message short; ` + waitForFileScript("go"), "an error": `echo error sorry`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newStreamFixture(t, `echo partial words:1000; `+waitForFileScript("shown")+end).start()
			fx.net.UserWrites("1", "u", "write")
			fx.awaitText("1", "w00999")
			fx.touchFile("shown")
			if calls, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool {
				return len(c) <= 1 && !strings.Contains(strings.Join(texts(c), ""), "w00")
			}); !ok {
				t.Fatalf("shown is %q", texts(calls))
			}
			fx.touchFile("go")
			fx.awaitIdle("1")
			fx.stop()
			if left, err := openStore(t, fx.dir); err != nil {
				t.Error(err)
			} else if b, err := left.Transients(context.Background()); len(b) > 0 || err != nil {
				t.Errorf("noted are %+v, %v", b, err)
			} else {
				_ = left.Close()
			}
		})
	}
}

func TestAnAnswerWhoseTransientWasDeletedIsSent(t *testing.T) {
	t.Parallel()
	fx := newStreamFixture(t, `echo partial one; `+waitForFileScript("shown")+`echo message one two`).start()
	fx.net.UserWrites("1", "u", "write")
	transient := fx.awaitText("1", "one")
	fx.net.UserDeletes(transient.ID)
	fx.touchFile("shown")
	if got := fx.awaitText("1", "one two"); got.ID == transient.ID || got.Repeat {
		t.Errorf("it was sent as %+v", got)
	}
}

func TestRefusedEditsDoNotDelayTheAnswer(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]gatewaytest.Fault{
		"for long":          {Status: http.StatusTooManyRequests, RetryAfter: time.Hour},
		"again and again":   {Status: http.StatusTooManyRequests, RetryAfter: 300 * time.Millisecond},
		"permanently":       {Status: http.StatusForbidden},
		"and are cut off":   {Disconnect: true},
		"by a broken proxy": {Status: http.StatusBadGateway},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newStreamFixture(t, `echo partial one; `+waitForFileScript("shown")+`echo partial one two; sleep 2; echo message one two three; echo message next`)
			tries := 0
			fx.net.EditFault = func(gatewaytest.Call) gatewaytest.Fault {
				if tries++; (f.Disconnect || f.Status == http.StatusBadGateway) && tries > 3 {
					return gatewaytest.Fault{} // nothing but waiting helps there
				}
				return f
			}
			fx.start()
			fx.net.UserWrites("1", "u", "write")
			fx.awaitText("1", "one")
			fx.touchFile("shown")
			fx.awaitText("1", "next")
			fx.awaitIdle("1")
			calls, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return len(c) == 2 })
			if got := strings.Join(texts(calls), "|"); !ok || got != "one two three|next" || calls[0].Repeat {
				t.Errorf("shown is %+v", calls)
			}
		})
	}
}

func TestAHungEditDoesNotDelayTheAnswer(t *testing.T) {
	t.Parallel()
	fx := newStreamFixture(t, `echo partial one; `+waitForFileScript("shown")+`echo partial one two; `+waitForFileScript("hangs")+`echo message one two three; `+waitForFileScript("go"))
	hang := make(chan struct{})
	fx.net.EditFault = func(c gatewaytest.Call) gatewaytest.Fault {
		if c.Text != "one two" {
			return gatewaytest.Fault{}
		}
		fx.touchFile("hangs")
		return gatewaytest.Fault{HangUntil: hang}
	}
	fx.start()
	fx.net.UserWrites("1", "u", "write")
	transient := fx.awaitText("1", "one")
	fx.touchFile("shown")
	fx.awaitTrue("the removal of the message that the edit may still change", func() bool {
		calls := fx.net.Sent("1")
		return len(calls) == 1 && calls[0].Text == "one two three" && calls[0].ID != transient.ID
	})
	close(hang)
	fx.touchFile("go")
}

func TestAnUnfinishedAnswerIsNotShownBeforeEarlierMessages(t *testing.T) {
	t.Parallel()
	fx := newStreamFixture(t, `echo message first; echo partial sec; `+waitForFileScript("shown")+`echo message second`)
	release := make(chan struct{})
	fx.net.Fault = func(c gatewaytest.Call) gatewaytest.Fault {
		if c.Text == "first" {
			return gatewaytest.Fault{HangUntil: release}
		}
		return gatewaytest.Fault{}
	}
	fx.start()
	fx.net.UserWrites("1", "u", "write")
	if calls, early := fx.net.Await("1", 3*time.Second, func(c []gatewaytest.Call) bool { return len(c) > 0 }); early {
		t.Errorf("shown is %+v", calls)
	}
	close(release)
	fx.awaitText("1", "sec")
	fx.touchFile("shown")
	fx.awaitText("1", "second")
	fx.expect("1", "first", "second")
}

func TestManyDeltasBecomeFewEdits(t *testing.T) {
	t.Parallel()
	fx := newStreamFixture(t, `i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo "partial piece $i"; done; echo message the end`).start()
	began := time.Now()
	fx.net.UserWrites("1", "u", "write")
	fx.awaitText("1", "the end")
	fx.stop()
	if all, most := withoutDone(fx.net.Sent("1")), int(time.Since(began)/time.Second)+1; len(all) != 1 || fx.net.Edits() > most {
		t.Errorf("%d messages, %d edits", len(all), fx.net.Edits())
	}
}

func TestProgressMovesBelowNewMessages(t *testing.T) {
	t.Parallel()
	fx := newStreamFixture(t, `echo progress working; `+waitForFileScript("up")+`echo message one; echo message two; echo message said; sleep 10; echo progress still working; `+waitForFileScript("go")).start()
	fx.net.UserWrites("1", "u", "write")
	fx.awaitText("1", "⏳ working")
	fx.touchFile("up")
	calls, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool {
		return len(c) == 4 && c[2].Text == "said" && strings.HasPrefix(c[3].Text, "⏳ still working")
	})
	if !ok {
		t.Errorf("shown is %+v", calls)
	}
	fx.touchFile("go")
	fx.expect("1", "one", "two", "said")
	if calls, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return len(c) == 3 }); !ok {
		t.Errorf("in the end %+v", calls)
	}
}
