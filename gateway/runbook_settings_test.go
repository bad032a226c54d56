package gateway_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/intake"
	"nanobot/gateway/runbook"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// reload changes the settings while the gateway runs.
func (fx *fixture) reload(change func(*gateway.Settings)) {
	fx.t.Helper()
	change(&fx.settings)
	fx.gw.Reload(fx.settings)
}

func TestApproversAndFolderMayChangeWhileAQuestionIsOpen(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, reader, map[string]string{"deploy": deployRunbook})
	fx.writeWorkspace("source", "")
	fx.start()
	fx.net.UserWrites("1", "ann", "/run deploy")
	gate := fx.awaitText("1", "Deploy to production?")
	fx.reload(func(s *gateway.Settings) {
		s.Runbooks = gateway.Runbooks{Folder: t.TempDir(), Approvers: []string{"net:bob"}}
	})
	fx.pressButton("ann", gate, 0)
	fx.awaitText("1", "Only approvers can decide this.")
	fx.pressButton("bob", gate, 0)
	fx.awaitReport("1", "The run is complete.")
}

func TestARunKeepsTheTextThatItBeganWith(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"changed": func(path string) error { return os.WriteFile(path, []byte("# Other\n\nSomething else.\n"), 0o644) },
		"deleted": os.Remove,
		"without its folder": func(path string) error {
			return os.RemoveAll(filepath.Dir(path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newRunbookFixture(t, reader, map[string]string{"deploy": deployRunbook})
			fx.writeWorkspace("source", "")
			fx.start()
			fx.net.UserWrites("1", "ann", "/run deploy")
			gate := fx.awaitText("1", "Deploy to production?")
			musttest.Do(t, change(filepath.Join(fx.settings.Runbooks.Folder, "deploy.md")))
			fx.restart()
			fx.pressButton("ann", gate, 0)
			if export, records := fx.awaitReport("1", "The run is complete."); export.Runbook.Text != deployRunbook || len(records) != 3 {
				t.Errorf("it ran %q with the records %q", export.Runbook.Text, provenBy(records))
			}
		})
	}
}

func TestNewAndStopLeaveTheQuestionOfARunOpen(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "true", map[string]string{"gate": gateRunbook})
	fx.start()
	fx.net.UserWrites("1", "ann", "/run gate")
	gate := fx.awaitGates("1", 1)[0]
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "ann", "/new")
	fx.awaitText("1", "This is a new conversation")
	fx.net.UserWrites("1", "ann", "/stop")
	fx.awaitText("1", "Nothing is running.")
	fx.pressButton("ann", gate, 0)
	fx.awaitReport("1", "The run is complete.")
}

func TestRetryStartsAnUndecidedRunAgain(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, firstLine, map[string]string{"build": "# Build\n\nBuild it.\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"echo x >> built\"}}}\n```\n", "gate": gateRunbook})
	fx.start()
	fx.net.UserWrites("1", "ann", "/run build")
	fx.awaitReport("1", "The run is complete.")
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "ann", "/retry")
	fx.awaitTrue("the second run", func() bool {
		return slices.Equal(fx.runStatuses(), []runbook.Status{runbook.Complete, runbook.Complete})
	})
	fx.net.UserWrites("2", "ann", "/run gate")
	fx.pressButton("ann", fx.awaitGates("2", 1)[0], 0)
	fx.awaitText("2", "The run is complete.")
	fx.awaitIdle("2")
	fx.net.UserWrites("2", "ann", "/retry")
	fx.awaitText("2", "This run has ended. /run gate begins a new one.")
	if built, runs := fx.countLines("built"), len(fx.listRuns()); built != 2 || runs != 3 {
		t.Errorf("the command ran %d times in %d runs", built, runs)
	}
}

func TestTheAgentOfTheChatMayChangeBetweenSteps(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, `echo '{"type":"message","text":"I am the first one"}'`, map[string]string{"deploy": deployRunbook})
	fx.otherAgents = map[string]config.Terminal{"second": fx.terminal}
	second := fx.otherAgents["second"]
	second.Command = `echo '{"type":"message","text":"I am the second one"}'`
	fx.otherAgents["second"] = second
	fx.writeWorkspace("source", "")
	fx.start()
	fx.net.UserWrites("1", "ann", "/run deploy")
	gate := fx.awaitText("1", "Deploy to production?")
	fx.net.UserWrites("1", "ann", "/agent second")
	fx.pressButton("ann", gate, 0)
	_, records := fx.awaitReport("1", "The run is complete.")
	if !strings.Contains(string(records[2].Comment), "I am the second one") {
		t.Errorf("the comment is %s", records[2].Comment)
	}
}

func TestAMessageWhileAStepIsExecutedIsTreatedAsTheSettingsSay(t *testing.T) {
	t.Parallel()
	for how, want := range map[intake.WhileRunning][]string{
		intake.Queue:     {"Go on?", "hello"},
		intake.Reject:    {"I am still working on your last message.", "Go on?"},
		intake.Inject:    {"Go on?", "hello"},
		intake.Interrupt: {`Stopped. The run of "Wait" waits at step 1. To continue, send /run resume`, "hello"},
	} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			fx := newRunbookFixture(t, firstWord, map[string]string{"wait": waitRunbook})
			fx.settings.WhileRunning = how
			fx.start()
			fx.net.UserWrites("1", "ann", "/run wait")
			fx.awaitTrue("the command", func() bool { return fx.countLines("begun") == 1 })
			fx.net.UserWrites("1", "ann", "hello")
			fx.net.UserWrites("2", "ann", "/whoami") // when this is answered, the other has been received
			fx.awaitText("2", "user id")
			if how == intake.Interrupt {
				fx.awaitText("1", "hello")
				fx.awaitIdle("1")
				fx.net.UserWrites("1", "ann", "/run resume")
			}
			fx.touchFile("go")
			fx.pressButton("ann", fx.awaitText("1", "Go on?"), 0)
			fx.awaitReport("1", "The run is complete.")
			fx.awaitIdle("1")
			for _, part := range want {
				fx.awaitText("1", part)
			}
			wanttest.Equal(t, "the command ran … times:", fx.countLines("begun"), map[bool]int{false: 1, true: 2}[how == intake.Interrupt])
		})
	}
}

// firstWord is an agent that answers with what it is told.
const firstWord = `read -r line; text=${line#*\"text\":\"}; echo "{\"type\":\"message\",\"text\":\"${text%%\"*}\"}"`

func TestAnApprovalIsAcceptedWhileATurnOfTheChatRuns(t *testing.T) {
	t.Parallel()
	for _, how := range []intake.WhileRunning{intake.Reject, intake.Interrupt, intake.Inject} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			fx := newRunbookFixture(t, "touch up; "+waitForFileScript("go")+`echo '{"type":"message","text":"worked"}'`, map[string]string{"gate": gateRunbook})
			fx.settings.WhileRunning = how
			fx.start()
			fx.net.UserWrites("1", "ann", "/run gate")
			gate := fx.awaitGates("1", 1)[0]
			fx.awaitIdle("1")
			fx.net.UserWrites("1", "ann", "work")
			fx.awaitFile("up")
			fx.pressButton("ann", gate, 0)
			fx.awaitText("1", "→ Approve (by ann)")
			fx.touchFile("go")
			fx.awaitText("1", "worked")
			fx.awaitReport("1", "The run is complete.")
		})
	}
}

func TestARunContinuesWhenItsStarterLosesAccess(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "true", map[string]string{"wait": waitRunbook, "gate": gateRunbook})
	fx.settings.AllowFrom = map[string][]string{"net": {"ann", "bob"}}
	fx.start()
	fx.net.UserWrites("1", "ann", "/run gate")
	gate := fx.awaitGates("1", 1)[0]
	fx.net.UserWrites("2", "ann", "/run wait")
	fx.awaitTrue("the command", func() bool { return fx.countLines("begun") == 1 })
	fx.reload(func(s *gateway.Settings) { s.AllowFrom = map[string][]string{"net": {"bob"}} })
	fx.awaitIdle("2")
	fx.awaitDismissed()
	fx.pressButton("ann", gate, 0)
	fx.net.UserWrites("2", "ann", "/run resume")
	fx.net.UserWrites("3", "bob", "/whoami")
	fx.awaitText("3", "user id: bob")
	if slices.ContainsFunc(fx.net.Sent("2"), func(c gatewaytest.Call) bool { return c.Kind != "progress" }) {
		t.Errorf("chat 2 was shown %q", texts(fx.net.Sent("2")))
	}
	fx.expectStatuses(runbook.Waiting, runbook.Waiting)
	fx.touchFile("go")
	fx.net.UserWrites("2", "bob", "/run resume")
	fx.pressButton("bob", fx.awaitText("2", "Go on?"), 0)
	fx.awaitText("2", "The run is complete.")
	fx.pressButton("bob", gate, 0)
	fx.awaitText("1", "The run is complete.")
}
