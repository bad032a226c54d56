package gateway_test

import (
	"strings"
	"testing"
	"time"

	"nanobot/gateway/gatewaytest"
	"nanobot/internal/wanttest"
)

// interruptedFixture returns a fixture whose agent hangs at the first message with "work" and
// otherwise answers with the number of its runs.
func interruptedFixture(t *testing.T) *fixture {
	t.Helper()
	fx := newFixture(t, `read -r line; case "$line" in *'"work"'*) echo x >> runs; if [ $(wc -l < runs) = 1 ]; then exec sleep 300; fi; echo "work, run $(wc -l < runs)";; *) echo other;; esac`)
	fx.settings.DrainTimeout = 50 * time.Millisecond
	return fx.start()
}

// interrupt stops the gateway while it works on the message "work", and starts it again.
func (fx *fixture) interrupt() gatewaytest.Call {
	fx.t.Helper()
	fx.awaitFile("runs")
	fx.awaitReceipts()
	fx.stop()
	fx.start()
	return fx.awaitText("1", "I was restarted while working on this.")
}

func TestTheReportOfAnInterruptedTurnNamesRetryIfThatRunsItAgain(t *testing.T) {
	t.Parallel()
	fx := interruptedFixture(t)
	fx.net.UserWrites("1", "u", "before")
	fx.awaitText("1", "other")
	fx.net.UserWrites("1", "u", "work")
	report := fx.interrupt()
	wanttest.Equal(t, "the report:", report.Text, "I was restarted while working on this. /retry runs it again.")
	wanttest.Equal(t, "it replies to:", report.ReplyTo, "m2")
	fx.net.UserWrites("1", "u", "/retry")
	fx.awaitText("1", "work, run 2")
}

func TestTheReportOfAnInterruptedTurnDoesNotNameRetryIfThatRunsAnother(t *testing.T) {
	t.Parallel()
	fx := interruptedFixture(t)
	fx.net.UserWrites("1", "u", "work")
	fx.awaitFile("runs")
	fx.net.UserWrites("1", "u", "after")
	fx.awaitText("1", "Queued.")
	report := fx.interrupt()
	wanttest.Equal(t, "the report:", report.Text, "I was restarted while working on this.")
	fx.awaitText("1", "other")
}

func TestAnInterruptedTurnRunsAgainOnceByItsButton(t *testing.T) {
	t.Parallel()
	fx := interruptedFixture(t)
	fx.net.UserWrites("1", "u", "work")
	report := fx.interrupt()
	fx.net.UserPresses("1", "u", report.Buttons[0])
	fx.awaitText("1", "work, run 2")
	fx.awaitIdle("1")
	fx.net.UserPresses("1", "u", report.Buttons[0])
	fx.awaitText("1", "This has run again already.")
	fx.awaitIdle("1")
	wanttest.Equal(t, "runs:", strings.Count(fx.readWorkspace("runs"), "x"), 2)
}
