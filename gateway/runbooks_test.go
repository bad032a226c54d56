package gateway_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/runbook"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// deployRunbook has a step of each type that needs no tools.
const deployRunbook = "# Deploy\n\nBe careful.\n\n" +
	"## Build\n\nBuild it.\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"echo built >> built && test -e source\"}}}\n```\n" +
	"## Go\n\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Deploy to production?\"}}}\n```\n" +
	"## Report\n\nSay what you did.\n\n```json\n{\"challenge\":{\"type\":\"comment\",\"comment\":{\"min_length\":12}}}\n```\n" +
	"## Clean up\n\nRemove what is left.\n"

// reader answers with the first line of its input, and writes all of it to the file prompts.
const reader = `jq -r .text > text; cat text >> prompts; head -n 1 text | jq -Rc '{type:"message",text:.}'`

// newRunbookFixture is a fixture with runbooks, by name.
func newRunbookFixture(t *testing.T, script string, books map[string]string) *fixture {
	t.Helper()
	fx := newFixture(t, script)
	folder := filepath.Join(t.TempDir(), "runbooks")
	musttest.Do(t, os.Mkdir(folder, 0o755))
	for name, text := range books {
		musttest.Do(t, os.WriteFile(filepath.Join(folder, name+".md"), []byte(text), 0o644))
	}
	fx.settings.Runbooks = gateway.Runbooks{Folder: folder}
	return fx
}

// pressButton presses the button of a message with the given index.
func (fx *fixture) pressButton(user string, c gatewaytest.Call, at int) {
	fx.t.Helper()
	if len(c.Buttons) <= at {
		fx.t.Fatalf("%q has the buttons %q", c.Text, c.Buttons)
	}
	fx.net.UserPresses(c.Chat, user, c.Buttons[at])
}

// workspaceFile returns the content of a file in the workspace, or "".
func (fx *fixture) workspaceFile(name string) string {
	content, _ := os.ReadFile(filepath.Join(fx.dir, name))
	return string(content)
}

// awaitReport waits for the report of a run and verifies its document.
func (fx *fixture) awaitReport(chat, words string) (runbook.Export, []runbook.Record) {
	fx.t.Helper()
	c := fx.awaitText(chat, words)
	var files map[string]string
	_, ok := fx.net.Await(chat, testTimeout, func(calls []gatewaytest.Call) bool {
		return slices.ContainsFunc(calls, func(c gatewaytest.Call) bool { files = c.Files; return len(files) == 1 })
	})
	if !ok {
		fx.t.Fatal("no document came")
	}
	for name, content := range files {
		export := musttest.Get(runbook.DecodeExport(content))(fx.t)
		last, err := runbook.Verify(export)
		if err != nil || !strings.Contains(c.Text, last) {
			fx.t.Errorf("%v: the last hash is %s, and the chat was told %q", err, last, c.Text)
		}
		key, err := runbook.Runs{Records: fx.store}.PublicKey(fx.t.Context())
		if err != nil || export.CheckSignature(key) != nil {
			fx.t.Errorf("the signature: %v, %v", export.CheckSignature(key), err)
		}
		wanttest.Equal(fx.t, "the document is called", name, "run-"+export.Run+".json")
		var records []runbook.Record
		for _, e := range export.Records {
			record := musttest.Get(e.Parse())(fx.t)
			records = append(records, record)
		}
		return export, records
	}
	panic("unreachable")
}

func (fx *fixture) writeWorkspace(name, content string) {
	fx.t.Helper()
	musttest.Do(fx.t, os.WriteFile(filepath.Join(fx.dir, name), []byte(content), 0o644))
}

// provenBy lists who proved the steps.
func provenBy(records []runbook.Record) (all []string) {
	for _, r := range records {
		all = append(all, fmt.Sprintf("%d %s %s", r.Step, r.Status, r.By))
	}
	return all
}

func TestARunbookRunsInAChatAndItsRecordsComeAsADocument(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, reader, map[string]string{"deploy": deployRunbook})
	fx.writeWorkspace("source", "")
	fx.start()
	fx.net.UserWrites("1", "ann", "/run deploy")
	gate := fx.awaitText("1", "Deploy to production?")
	for _, part := range []string{"**Deploy**", "✅ 1. Build", "▶️ 2. Go", "▫️ 3. Report"} {
		if !strings.Contains(gate.Text, part) {
			t.Errorf("the question is %q, without %q", gate.Text, part)
		}
	}
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "ann", "hello") // the chat is free while the question is open
	fx.awaitText("1", "hello")
	fx.pressButton("bob", gate, 0)
	_, records := fx.awaitReport("1", "The run is complete.")
	wanttest.EqualSlices(t, "the records are", provenBy(records), []string{"1 success gateway", "2 success net:bob", "3 success agent"})
	if want := `Runbook "Deploy", step 3 of 4: Report`; !strings.Contains(string(records[2].Comment), `step 3 of 4: Report`) {
		t.Errorf("the comment is %s, want %s", records[2].Comment, want)
	}
	fx.awaitText("1", "→ Approve (by bob)") // and its buttons are gone
	prompts := fx.workspaceFile("prompts")
	for _, part := range []string{"Be careful.", "Build it.", "echo built >> built && test -e source", "at least 12 characters", `step 4 of 4: Clean up`} {
		if !strings.Contains(prompts, part) {
			t.Errorf("the agent was told %q, without %q", prompts, part)
		}
	}
	wanttest.Equal(t, "the command ran as", fx.workspaceFile("built"), "built\n")
}

func TestOnlyApproversDecideAtAGate(t *testing.T) {
	t.Parallel()
	book := "# Go\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Go?\",\"approvals\":2}}}\n```\n"
	fx := newRunbookFixture(t, "true", map[string]string{"go": book})
	fx.settings.Runbooks.Approvers = []string{"net:ann", "net:bob", "other:eve"}
	fx.start()
	fx.net.UserWrites("1", "eve", "/run go")
	gate := fx.awaitText("1", "2 people have to approve.")
	fx.pressButton("eve", gate, 0)
	fx.awaitText("1", "Only approvers can decide this.")
	fx.pressButton("ann", gate, 0)
	fx.awaitText("1", "1 of 2 approvals. Somebody else has to approve, too.")
	if c := fx.awaitText("1", "1 of 2 approved: ann"); c.ID != gate.ID || len(c.Buttons) != 2 || !strings.Contains(c.Text, "2 people have to approve.") {
		t.Errorf("the question is %+v", c)
	}
	fx.pressButton("ann", gate, 0)
	fx.awaitText("1", "You have approved already.")
	fx.net.UserReplies("1", "eve", gate.ID, "reject")
	fx.net.UserWrites("1", "ann", "/run skip I am in a hurry")
	fx.awaitText("1", "There is no step here that can be skipped or commented on now.")
	fx.net.UserReplies("1", "bob", gate.ID, "approve")
	_, records := fx.awaitReport("1", "The run is complete.")
	if len(records) != 1 || !strings.Contains(string(records[0].UserInput), `"net:ann"`) || !strings.Contains(string(records[0].UserInput), `"net:bob"`) {
		t.Errorf("the records are %+v", records)
	}
	if c := fx.awaitText("1", "(by ann, bob)"); c.ID != gate.ID || len(c.Buttons) != 0 {
		t.Errorf("the question is %+v", c)
	}
	fx.pressButton("bob", gate, 1)
	fx.awaitText("1", "This question is no longer open.")
}

func TestARejectionEndsTheRun(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, reader, map[string]string{"deploy": deployRunbook})
	fx.writeWorkspace("source", "")
	fx.start()
	fx.net.UserWrites("1", "ann", "/run deploy")
	fx.pressButton("bob", fx.awaitText("1", "Deploy to production?"), 1)
	export, _ := fx.awaitReport("1", "The run was declined at step 2 by net:bob.")
	if export.Status != runbook.Declined || strings.Contains(fx.workspaceFile("prompts"), "Report") {
		t.Errorf("it is %s, and the agent was told %q", export.Status, fx.workspaceFile("prompts"))
	}
	fx.net.UserWrites("1", "ann", "/run resume")
	fx.awaitText("1", "No run is waiting here.")
	fx.net.UserWrites("1", "ann", "/run resume zz")
	fx.awaitText("1", "No run `zz` is waiting here. /run lists those that are.")
}

func TestAfterThreeFailuresAPersonDecides(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, reader, map[string]string{"deploy": deployRunbook})
	fx.start()
	fx.net.UserWrites("1", "ann", "/run deploy")
	failed := fx.awaitText("1", "Step 1 has failed 3 times.")
	wanttest.Equal(t, "the command ran as", fx.workspaceFile("built"), strings.Repeat("built\n", 3))
	if !strings.Contains(fx.workspaceFile("prompts"), "The last attempt failed. The command `echo built >> built && test -e source` ended with exit status 1.") {
		t.Errorf("the agent was told %q", fx.workspaceFile("prompts"))
	}
	fx.pressButton("ann", failed, 0) // Retry
	failed = fx.awaitText("1", "Step 1 has failed 4 times.")
	fx.pressButton("ann", failed, 1) // Skip
	fx.awaitText("1", "Why do you skip it?")
	fx.net.UserWrites("1", "ann", "/run skip it was built by hand")
	fx.pressButton("bob", fx.awaitText("1", "Deploy to production?"), 0)
	_, records := fx.awaitReport("1", "The run is complete.")
	if records[0].Status != runbook.SkippedProof || records[0].By != "net:ann" || records[0].Reason != "it was built by hand" {
		t.Errorf("the first record is %+v", records[0])
	}
}

func TestARunIsAbortedByAPerson(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, reader, map[string]string{"deploy": deployRunbook})
	fx.start()
	fx.net.UserWrites("1", "ann", "/run deploy")
	fx.pressButton("bob", fx.awaitText("1", "Step 1 has failed 3 times."), 2)
	export, records := fx.awaitReport("1", "The run was ended at step 1 by net:bob: aborted.")
	if export.Status != runbook.Failed || len(records) != 0 {
		t.Errorf("it is %s with %d records", export.Status, len(records))
	}
}

func TestAPersonWritesTheComment(t *testing.T) {
	t.Parallel()
	book := "# Look\n\nLook at the dashboard.\n\n```json\n{\"challenge\":{\"type\":\"comment\",\"comment\":{\"min_length\":200}}}\n```\n"
	fx := newRunbookFixture(t, reader, map[string]string{"look": book})
	fx.start()
	fx.net.UserWrites("1", "ann", "/run look")
	failed := fx.awaitText("1", "Step 1 has failed 3 times.")
	fx.net.UserWrites("1", "ann", "/run comment no") // by then the network's ID of the question is stored
	fx.awaitText("1", "The comment must have at least 200 characters.")
	fx.net.UserReplies("1", "ann", failed.ID, "too short")
	fx.net.UserReplies("1", "ann", failed.ID, strings.Repeat("All is well. ", 20))
	if _, records := fx.awaitReport("1", "The run is complete."); records[0].By != "net:ann" {
		t.Errorf("the records are %q", provenBy(records))
	}
}

func TestAStoppedRunIsResumed(t *testing.T) {
	t.Parallel()
	book := "# Wait\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"echo x >> begun; while ! test -e go; do sleep 0.01; done\",\"timeout_seconds\":300}}}\n```\n"
	fx := newRunbookFixture(t, "true", map[string]string{"wait": book})
	fx.start()
	fx.net.UserWrites("1", "ann", "/run wait")
	fx.awaitTrue("the command", func() bool { return fx.countLines("begun") == 1 })
	fx.net.UserWrites("1", "ann", "/stop")
	fx.awaitText("1", `Stopped. The run of "Wait" waits at step 1. To continue, send /run resume`)
	fx.writeWorkspace("go", "")
	fx.net.UserWrites("1", "ann", "/run resume")
	fx.awaitReport("1", "The run is complete.")
	wanttest.Equal(t, "the command ran as", fx.workspaceFile("begun"), "x\nx\n")
}

func TestRunbooksAreListed(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, reader, map[string]string{"deploy": deployRunbook, "bad": "no heading"})
	fx.writeWorkspace("source", "")
	fx.start()
	fx.net.UserWrites("1", "ann", "/runbooks")
	list := fx.awaitText("1", "- `deploy`: Deploy (4 steps)")
	if !strings.Contains(list.Text, "- `bad` cannot be run: line ") || len(list.Buttons) != 1 {
		t.Errorf("the list is %q with %q", list.Text, list.Buttons)
	}
	fx.net.UserWrites("1", "ann", "/run nope")
	fx.awaitText("1", `There is no runbook "nope". /runbooks lists them.`)
	fx.net.UserWrites("1", "ann", "/run ../../etc/passwd")
	fx.awaitText("1", `The runbook "../../etc/passwd" cannot be read.`)
	fx.pressButton("ann", list, 0)
	fx.awaitText("1", "Deploy to production?")
	fx.net.UserWrites("1", "ann", "/run")
	fx.awaitText("1", `of "Deploy" waits at step 2 of 4. To continue, send /run resume `)
}

func TestWithoutRunbooksTheCommandsGoToTheAgent(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, reader).start()
	fx.net.UserWrites("1", "ann", "/run deploy")
	fx.expect("1", "/run deploy")
}

func TestAnAgentThatFailsProvesNoComment(t *testing.T) {
	t.Parallel()
	book := "# Look\n\nLook.\n\n```json\n{\"challenge\":{\"type\":\"comment\"}}\n```\n"
	fx := newRunbookFixture(t, `echo '{"type":"message","text":"I looked at everything."}'; exit 3`, map[string]string{"look": book})
	fx.start()
	fx.net.UserWrites("1", "ann", "/run look")
	failed := fx.awaitText("1", "The agent has not answered, or has failed.")
	fx.pressButton("ann", failed, 2)
	if _, records := fx.awaitReport("1", "The run was ended"); len(records) != 0 {
		t.Errorf("the records are %q", provenBy(records))
	}
}

func TestSkipAppliesToTheRunThatCanBeSkipped(t *testing.T) {
	t.Parallel()
	gate := "# Gate\n```json\n{\"challenge\":{\"type\":\"user_input\"}}\n```\n"
	fx := newRunbookFixture(t, reader, map[string]string{"deploy": deployRunbook, "gate": gate})
	fx.start()
	fx.net.UserWrites("1", "ann", "/run deploy")
	failed := fx.awaitText("1", "Step 1 has failed 3 times.")
	fx.net.UserWrites("1", "ann", "/run gate")
	fx.awaitText("1", "Confirm completion")
	fx.net.UserReplies("1", "ann", failed.ID, "Approve") // is none of the answers, and goes to the agent
	fx.expectPrompt("Approve\n")
	fx.net.UserWrites("1", "ann", "/run skip built by hand")
	fx.awaitText("1", "Deploy to production?")
}

// expectPrompt waits until the agent got a prompt that contains a text.
func (fx *fixture) expectPrompt(text string) {
	fx.t.Helper()
	for deadline := time.Now().Add(testTimeout); !strings.Contains(fx.workspaceFile("prompts"), text); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			fx.t.Fatalf("the agent was told %q", fx.workspaceFile("prompts"))
		}
	}
}

func TestTheButtonsOfAGateStayOnNetworksThatCannotEditMessages(t *testing.T) {
	t.Parallel()
	book := "# Go\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Go?\",\"approvals\":2}}}\n```\n"
	fx := newRunbookFixture(t, "true", map[string]string{"go": book})
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel { return noReplaceChannel{c} }
	fx.start()
	fx.net.UserWrites("1", "ann", "/run go")
	gate := fx.awaitText("1", "Go?")
	fx.pressButton("ann", gate, 0)
	fx.awaitText("1", "1 of 2 approvals.")
	fx.pressButton("bob", gate, 0)
	fx.awaitReport("1", "The run is complete.")
}

// noReplaceChannel is a channel whose network cannot edit messages. It shows only buttons that
// stay.
type noReplaceChannel struct{ c *gatewaytest.Channel }

func (w noReplaceChannel) Run(ctx context.Context, receive channels.Receive) error {
	return w.c.Run(ctx, receive)
}

func (w noReplaceChannel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	m.Buttons = slices.DeleteFunc(slices.Clone(m.Buttons), func(b channels.Button) bool { return !b.Stays })
	return w.c.Plan(m)
}

func (w noReplaceChannel) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	return w.c.Send(ctx, o)
}
func (w noReplaceChannel) Resume(cursor string) { w.c.Resume(cursor) }
