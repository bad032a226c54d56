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
)

// reload changes the settings while the gateway runs.
func (r *fixture) reload(change func(*gateway.Settings)) {
	r.t.Helper()
	change(&r.settings)
	r.gw.Reload(r.settings)
}

func TestApproversAndFolderMayChangeWhileAQuestionIsOpen(t *testing.T) {
	t.Parallel()
	r := newRunbookFixture(t, reader, map[string]string{"deploy": deployRunbook})
	r.writeWorkspace("source", "")
	r.start()
	r.net.UserWrites("1", "ann", "/run deploy")
	gate := r.awaitText("1", "Deploy to production?")
	r.reload(func(s *gateway.Settings) {
		s.Runbooks = gateway.Runbooks{Folder: t.TempDir(), Approvers: []string{"net:bob"}}
	})
	r.pressButton("ann", gate, 0)
	r.awaitText("1", "Only approvers can decide this.")
	r.pressButton("bob", gate, 0)
	r.awaitReport("1", "The run is complete.")
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
			r := newRunbookFixture(t, reader, map[string]string{"deploy": deployRunbook})
			r.writeWorkspace("source", "")
			r.start()
			r.net.UserWrites("1", "ann", "/run deploy")
			gate := r.awaitText("1", "Deploy to production?")
			if err := change(filepath.Join(r.settings.Runbooks.Folder, "deploy.md")); err != nil {
				t.Fatal(err)
			}
			r.restart()
			r.pressButton("ann", gate, 0)
			if export, records := r.awaitReport("1", "The run is complete."); export.Runbook.Text != deployRunbook || len(records) != 3 {
				t.Errorf("it ran %q with the records %q", export.Runbook.Text, provenBy(records))
			}
		})
	}
}

func TestNewAndStopLeaveTheQuestionOfARunOpen(t *testing.T) {
	t.Parallel()
	r := newRunbookFixture(t, "true", map[string]string{"gate": gateRunbook})
	r.start()
	r.net.UserWrites("1", "ann", "/run gate")
	gate := r.awaitGates("1", 1)[0]
	r.awaitIdle("1")
	r.net.UserWrites("1", "ann", "/new")
	r.awaitText("1", "This is a new conversation")
	r.net.UserWrites("1", "ann", "/stop")
	r.awaitText("1", "Nothing is running.")
	r.pressButton("ann", gate, 0)
	r.awaitReport("1", "The run is complete.")
}

func TestRetryStartsAnUndecidedRunAgain(t *testing.T) {
	t.Parallel()
	r := newRunbookFixture(t, firstLine, map[string]string{"build": "# Build\n\nBuild it.\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"echo x >> built\"}}}\n```\n", "gate": gateRunbook})
	r.start()
	r.net.UserWrites("1", "ann", "/run build")
	r.awaitReport("1", "The run is complete.")
	r.awaitIdle("1")
	r.net.UserWrites("1", "ann", "/retry")
	r.awaitTrue("the second run", func() bool {
		return slices.Equal(r.runStatuses(), []runbook.Status{runbook.Complete, runbook.Complete})
	})
	r.net.UserWrites("2", "ann", "/run gate")
	r.pressButton("ann", r.awaitGates("2", 1)[0], 0)
	r.awaitText("2", "The run is complete.")
	r.awaitIdle("2")
	r.net.UserWrites("2", "ann", "/retry")
	r.awaitText("2", "This run has ended. /run gate begins a new one.")
	if built, runs := r.countLines("built"), len(r.listRuns()); built != 2 || runs != 3 {
		t.Errorf("the command ran %d times in %d runs", built, runs)
	}
}

func TestTheAgentOfTheChatMayChangeBetweenSteps(t *testing.T) {
	t.Parallel()
	r := newRunbookFixture(t, `echo '{"type":"message","text":"I am the first one"}'`, map[string]string{"deploy": deployRunbook})
	r.otherAgents = map[string]config.Terminal{"second": r.terminal}
	second := r.otherAgents["second"]
	second.Command = `echo '{"type":"message","text":"I am the second one"}'`
	r.otherAgents["second"] = second
	r.writeWorkspace("source", "")
	r.start()
	r.net.UserWrites("1", "ann", "/run deploy")
	gate := r.awaitText("1", "Deploy to production?")
	r.net.UserWrites("1", "ann", "/agent second")
	r.pressButton("ann", gate, 0)
	_, records := r.awaitReport("1", "The run is complete.")
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
			r := newRunbookFixture(t, firstWord, map[string]string{"wait": waitRunbook})
			r.settings.WhileRunning = how
			r.start()
			r.net.UserWrites("1", "ann", "/run wait")
			r.awaitTrue("the command", func() bool { return r.countLines("begun") == 1 })
			r.net.UserWrites("1", "ann", "hello")
			r.net.UserWrites("2", "ann", "/whoami") // when this is answered, the other has been received
			r.awaitText("2", "user id")
			if how == intake.Interrupt {
				r.awaitText("1", "hello")
				r.awaitIdle("1")
				r.net.UserWrites("1", "ann", "/run resume")
			}
			r.touchFile("go")
			r.pressButton("ann", r.awaitText("1", "Go on?"), 0)
			r.awaitReport("1", "The run is complete.")
			r.awaitIdle("1")
			for _, part := range want {
				r.awaitText("1", part)
			}
			if n, wanted := r.countLines("begun"), map[bool]int{false: 1, true: 2}[how == intake.Interrupt]; n != wanted {
				t.Errorf("the command ran %d times", n)
			}
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
			r := newRunbookFixture(t, "touch up; "+waitForFileScript("go")+`echo '{"type":"message","text":"worked"}'`, map[string]string{"gate": gateRunbook})
			r.settings.WhileRunning = how
			r.start()
			r.net.UserWrites("1", "ann", "/run gate")
			gate := r.awaitGates("1", 1)[0]
			r.awaitIdle("1")
			r.net.UserWrites("1", "ann", "work")
			r.awaitFile("up")
			r.pressButton("ann", gate, 0)
			r.awaitText("1", "→ Approve (by ann)")
			r.touchFile("go")
			r.awaitText("1", "worked")
			r.awaitReport("1", "The run is complete.")
		})
	}
}

func TestARunContinuesWhenItsStarterLosesAccess(t *testing.T) {
	t.Parallel()
	r := newRunbookFixture(t, "true", map[string]string{"wait": waitRunbook, "gate": gateRunbook})
	r.settings.AllowFrom = map[string][]string{"net": {"ann", "bob"}}
	r.start()
	r.net.UserWrites("1", "ann", "/run gate")
	gate := r.awaitGates("1", 1)[0]
	r.net.UserWrites("2", "ann", "/run wait")
	r.awaitTrue("the command", func() bool { return r.countLines("begun") == 1 })
	r.reload(func(s *gateway.Settings) { s.AllowFrom = map[string][]string{"net": {"bob"}} })
	r.awaitIdle("2")
	r.awaitDismissed()
	r.pressButton("ann", gate, 0)
	r.net.UserWrites("2", "ann", "/run resume")
	r.net.UserWrites("3", "bob", "/whoami")
	r.awaitText("3", "user id: bob")
	if slices.ContainsFunc(r.net.Sent("2"), func(c gatewaytest.Call) bool { return c.Kind != "progress" }) {
		t.Errorf("chat 2 was shown %q", texts(r.net.Sent("2")))
	}
	r.expectStatuses(runbook.Waiting, runbook.Waiting)
	r.touchFile("go")
	r.net.UserWrites("2", "bob", "/run resume")
	r.pressButton("bob", r.awaitText("2", "Go on?"), 0)
	r.awaitText("2", "The run is complete.")
	r.pressButton("bob", gate, 0)
	r.awaitText("1", "The run is complete.")
}
