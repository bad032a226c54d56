package gateway_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/killtest"
	"nanobot/internal/postgrestest"
)

// onBothStores are the tests that also run with PostgreSQL each time.
var onBothStores = []string{
	"TestEveryCallOfFixedConversations",
	"TestKillingTheDaemonAtAnyInstantLosesNothing",
	"TestKillingTheDaemonAroundTheFoldOfABoardLosesAndDoublesNothing",
	"TestKillingTheDaemonDuringRunsLosesAndRepeatsNothing",
	"TestMessagesToAWaitingTurnSurviveSIGKILLAndAreReadOnceInOrder",
}

// TestConversationsAndKillLoopsAlsoPassOnPostgreSQL runs some tests of this package in a process
// whose states are in PostgreSQL. .ci/long runs all of them so.
func TestConversationsAndKillLoopsAlsoPassOnPostgreSQL(t *testing.T) {
	t.Parallel()
	if isShared() || killtest.IsLong() {
		t.Skip("all tests of the package run with PostgreSQL")
	}
	killtest.SkipIfShort(t)
	postgrestest.Require(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.parallel=4",
		"-test.run=^("+strings.Join(onBothStores, "|")+")$")
	cmd.Env = append(os.Environ(), storeVariable+"=postgres")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	for _, name := range onBothStores {
		if !bytes.Contains(out, []byte("\n--- PASS: "+name+" (")) {
			t.Errorf("%s did not pass", name)
		}
	}
	if err != nil || t.Failed() {
		t.Errorf("%v:\n%s", err, out)
		return
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	t.Logf("it used %v of processor time", used)
}
