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
	r := newFixture(t, script)
	folder := filepath.Join(t.TempDir(), "runbooks")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range books {
		if err := os.WriteFile(filepath.Join(folder, name+".md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.settings.Runbooks = gateway.Runbooks{Folder: folder}
	return r
}

// pressButton presses the button of a message with the given index.
func (r *fixture) pressButton(user string, c gatewaytest.Call, at int) {
	r.t.Helper()
	if len(c.Buttons) <= at {
		r.t.Fatalf("%q has the buttons %q", c.Text, c.Buttons)
	}
	r.net.UserPresses(c.Chat, user, c.Buttons[at])
}

// workspaceFile returns the content of a file in the workspace, or "".
func (r *fixture) workspaceFile(name string) string {
	content, _ := os.ReadFile(filepath.Join(r.dir, name))
	return string(content)
}

// awaitReport waits for the report of a run and verifies its document.
func (r *fixture) awaitReport(chat, words string) (runbook.Export, []runbook.Record) {
	r.t.Helper()
	c := r.awaitText(chat, words)
	var files map[string]string
	_, ok := r.net.Await(chat, testTimeout, func(calls []gatewaytest.Call) bool {
		return slices.ContainsFunc(calls, func(c gatewaytest.Call) bool { files = c.Files; return len(files) == 1 })
	})
	if !ok {
		r.t.Fatal("no document came")
	}
	for name, content := range files {
		export, err := runbook.DecodeExport(content)
		if err != nil {
			r.t.Fatal(err)
		}
		last, err := runbook.Verify(export)
		if err != nil || !strings.Contains(c.Text, last) {
			r.t.Errorf("%v: the last hash is %s, and the chat was told %q", err, last, c.Text)
		}
		key, err := runbook.Runs{Records: r.store}.PublicKey(r.t.Context())
		if err != nil || export.CheckSignature(key) != nil {
			r.t.Errorf("the signature: %v, %v", export.CheckSignature(key), err)
		}
		if name != "run-"+export.Run+".json" {
			r.t.Errorf("the document is called %s", name)
		}
		var records []runbook.Record
		for _, e := range export.Records {
			record, err := e.Parse()
			if err != nil {
				r.t.Fatal(err)
			}
			records = append(records, record)
		}
		return export, records
	}
	panic("unreachable")
}

func (r *fixture) writeWorkspace(name, content string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
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
	r := newRunbookFixture(t, reader, map[string]string{"deploy": deployRunbook})
	r.writeWorkspace("source", "")
	r.start()
	r.net.UserWrites("1", "ann", "/run deploy")
	gate := r.awaitText("1", "Deploy to production?")
	for _, part := range []string{"**Deploy**", "✅ 1. Build", "▶️ 2. Go", "▫️ 3. Report"} {
		if !strings.Contains(gate.Text, part) {
			t.Errorf("the question is %q, without %q", gate.Text, part)
		}
	}
	r.awaitIdle("1")
	r.net.UserWrites("1", "ann", "hello") // the chat is free while the question is open
	r.awaitText("1", "hello")
	r.pressButton("bob", gate, 0)
	_, records := r.awaitReport("1", "The run is complete.")
	if got := provenBy(records); !slices.Equal(got, []string{"1 success gateway", "2 success net:bob", "3 success agent"}) {
		t.Errorf("the records are %q", got)
	}
	if want := `Runbook "Deploy", step 3 of 4: Report`; !strings.Contains(string(records[2].Comment), `step 3 of 4: Report`) {
		t.Errorf("the comment is %s, want %s", records[2].Comment, want)
	}
	r.awaitText("1", "→ Approve (by bob)") // and its buttons are gone
	prompts := r.workspaceFile("prompts")
	for _, part := range []string{"Be careful.", "Build it.", "echo built >> built && test -e source", "at least 12 characters", `step 4 of 4: Clean up`} {
		if !strings.Contains(prompts, part) {
			t.Errorf("the agent was told %q, without %q", prompts, part)
		}
	}
	if built := r.workspaceFile("built"); built != "built\n" {
		t.Errorf("the command ran as %q", built)
	}
}

func TestOnlyApproversDecideAtAGate(t *testing.T) {
	t.Parallel()
	book := "# Go\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Go?\",\"approvals\":2}}}\n```\n"
	r := newRunbookFixture(t, "true", map[string]string{"go": book})
	r.settings.Runbooks.Approvers = []string{"net:ann", "net:bob", "other:eve"}
	r.start()
	r.net.UserWrites("1", "eve", "/run go")
	gate := r.awaitText("1", "2 people have to approve.")
	r.pressButton("eve", gate, 0)
	r.awaitText("1", "Only approvers can decide this.")
	r.pressButton("ann", gate, 0)
	r.awaitText("1", "1 of 2 approvals. Somebody else has to approve, too.")
	r.pressButton("ann", gate, 0)
	r.awaitText("1", "You have approved already.")
	r.net.UserReplies("1", "eve", gate.ID, "reject")
	r.net.UserWrites("1", "ann", "/run skip I am in a hurry")
	r.awaitText("1", "There is no step here that can be skipped or commented on now.")
	r.net.UserReplies("1", "bob", gate.ID, "approve")
	_, records := r.awaitReport("1", "The run is complete.")
	if len(records) != 1 || !strings.Contains(string(records[0].UserInput), `"net:ann"`) || !strings.Contains(string(records[0].UserInput), `"net:bob"`) {
		t.Errorf("the records are %+v", records)
	}
	r.pressButton("bob", gate, 1)
	r.awaitText("1", "This question is no longer open.")
}

func TestARejectionEndsTheRun(t *testing.T) {
	t.Parallel()
	r := newRunbookFixture(t, reader, map[string]string{"deploy": deployRunbook})
	r.writeWorkspace("source", "")
	r.start()
	r.net.UserWrites("1", "ann", "/run deploy")
	r.pressButton("bob", r.awaitText("1", "Deploy to production?"), 1)
	export, _ := r.awaitReport("1", "The run was declined at step 2 by net:bob.")
	if export.Status != runbook.Declined || strings.Contains(r.workspaceFile("prompts"), "Report") {
		t.Errorf("it is %s, and the agent was told %q", export.Status, r.workspaceFile("prompts"))
	}
	r.net.UserWrites("1", "ann", "/run resume")
	r.awaitText("1", "No run is waiting here.")
	r.net.UserWrites("1", "ann", "/run resume zz")
	r.awaitText("1", "No run `zz` is waiting here. /run lists those that are.")
}

func TestAfterThreeFailuresAPersonDecides(t *testing.T) {
	t.Parallel()
	r := newRunbookFixture(t, reader, map[string]string{"deploy": deployRunbook})
	r.start()
	r.net.UserWrites("1", "ann", "/run deploy")
	failed := r.awaitText("1", "Step 1 has failed 3 times.")
	if built := r.workspaceFile("built"); built != strings.Repeat("built\n", 3) {
		t.Errorf("the command ran as %q", built)
	}
	if !strings.Contains(r.workspaceFile("prompts"), "The last attempt failed. The command `echo built >> built && test -e source` ended with exit status 1.") {
		t.Errorf("the agent was told %q", r.workspaceFile("prompts"))
	}
	r.pressButton("ann", failed, 0) // Retry
	failed = r.awaitText("1", "Step 1 has failed 4 times.")
	r.pressButton("ann", failed, 1) // Skip
	r.awaitText("1", "Why do you skip it?")
	r.net.UserWrites("1", "ann", "/run skip it was built by hand")
	r.pressButton("bob", r.awaitText("1", "Deploy to production?"), 0)
	_, records := r.awaitReport("1", "The run is complete.")
	if records[0].Status != runbook.SkippedProof || records[0].By != "net:ann" || records[0].Reason != "it was built by hand" {
		t.Errorf("the first record is %+v", records[0])
	}
}

func TestARunIsAbortedByAPerson(t *testing.T) {
	t.Parallel()
	r := newRunbookFixture(t, reader, map[string]string{"deploy": deployRunbook})
	r.start()
	r.net.UserWrites("1", "ann", "/run deploy")
	r.pressButton("bob", r.awaitText("1", "Step 1 has failed 3 times."), 2)
	export, records := r.awaitReport("1", "The run was ended at step 1 by net:bob: aborted.")
	if export.Status != runbook.Failed || len(records) != 0 {
		t.Errorf("it is %s with %d records", export.Status, len(records))
	}
}

func TestAPersonWritesTheComment(t *testing.T) {
	t.Parallel()
	book := "# Look\n\nLook at the dashboard.\n\n```json\n{\"challenge\":{\"type\":\"comment\",\"comment\":{\"min_length\":200}}}\n```\n"
	r := newRunbookFixture(t, reader, map[string]string{"look": book})
	r.start()
	r.net.UserWrites("1", "ann", "/run look")
	failed := r.awaitText("1", "Step 1 has failed 3 times.")
	r.net.UserWrites("1", "ann", "/run comment no") // by then the network's ID of the question is stored
	r.awaitText("1", "The comment must have at least 200 characters.")
	r.net.UserReplies("1", "ann", failed.ID, "too short")
	r.net.UserReplies("1", "ann", failed.ID, strings.Repeat("All is well. ", 20))
	if _, records := r.awaitReport("1", "The run is complete."); records[0].By != "net:ann" {
		t.Errorf("the records are %q", provenBy(records))
	}
}

func TestAStoppedRunIsResumed(t *testing.T) {
	t.Parallel()
	book := "# Wait\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"echo x >> begun; while ! test -e go; do sleep 0.01; done\",\"timeout_seconds\":300}}}\n```\n"
	r := newRunbookFixture(t, "true", map[string]string{"wait": book})
	r.start()
	r.net.UserWrites("1", "ann", "/run wait")
	r.awaitTrue("the command", func() bool { return r.countLines("begun") == 1 })
	r.net.UserWrites("1", "ann", "/stop")
	r.awaitText("1", `Stopped. The run of "Wait" waits at step 1. To continue, send /run resume`)
	r.writeWorkspace("go", "")
	r.net.UserWrites("1", "ann", "/run resume")
	r.awaitReport("1", "The run is complete.")
	if begun := r.workspaceFile("begun"); begun != "x\nx\n" {
		t.Errorf("the command ran as %q", begun)
	}
}

func TestRunbooksAreListed(t *testing.T) {
	t.Parallel()
	r := newRunbookFixture(t, reader, map[string]string{"deploy": deployRunbook, "bad": "no heading"})
	r.writeWorkspace("source", "")
	r.start()
	r.net.UserWrites("1", "ann", "/runbooks")
	list := r.awaitText("1", "- `deploy`: Deploy (4 steps)")
	if !strings.Contains(list.Text, "- `bad` cannot be run: line ") || len(list.Buttons) != 1 {
		t.Errorf("the list is %q with %q", list.Text, list.Buttons)
	}
	r.net.UserWrites("1", "ann", "/run nope")
	r.awaitText("1", `There is no runbook "nope". /runbooks lists them.`)
	r.net.UserWrites("1", "ann", "/run ../../etc/passwd")
	r.awaitText("1", `The runbook "../../etc/passwd" cannot be read.`)
	r.pressButton("ann", list, 0)
	r.awaitText("1", "Deploy to production?")
	r.net.UserWrites("1", "ann", "/run")
	r.awaitText("1", `of "Deploy" waits at step 2 of 4. To continue, send /run resume `)
}

func TestWithoutRunbooksTheCommandsGoToTheAgent(t *testing.T) {
	t.Parallel()
	r := newFixture(t, reader).start()
	r.net.UserWrites("1", "ann", "/run deploy")
	r.expect("1", "/run deploy")
}

func TestAnAgentThatFailsProvesNoComment(t *testing.T) {
	t.Parallel()
	book := "# Look\n\nLook.\n\n```json\n{\"challenge\":{\"type\":\"comment\"}}\n```\n"
	r := newRunbookFixture(t, `echo '{"type":"message","text":"I looked at everything."}'; exit 3`, map[string]string{"look": book})
	r.start()
	r.net.UserWrites("1", "ann", "/run look")
	failed := r.awaitText("1", "The agent has not answered, or has failed.")
	r.pressButton("ann", failed, 2)
	if _, records := r.awaitReport("1", "The run was ended"); len(records) != 0 {
		t.Errorf("the records are %q", provenBy(records))
	}
}

func TestSkipAppliesToTheRunThatCanBeSkipped(t *testing.T) {
	t.Parallel()
	gate := "# Gate\n```json\n{\"challenge\":{\"type\":\"user_input\"}}\n```\n"
	r := newRunbookFixture(t, reader, map[string]string{"deploy": deployRunbook, "gate": gate})
	r.start()
	r.net.UserWrites("1", "ann", "/run deploy")
	failed := r.awaitText("1", "Step 1 has failed 3 times.")
	r.net.UserWrites("1", "ann", "/run gate")
	r.awaitText("1", "Confirm completion")
	r.net.UserReplies("1", "ann", failed.ID, "Approve") // is none of the answers, and goes to the agent
	r.expectPrompt("Approve\n")
	r.net.UserWrites("1", "ann", "/run skip built by hand")
	r.awaitText("1", "Deploy to production?")
}

// expectPrompt waits until the agent got a prompt that contains a text.
func (r *fixture) expectPrompt(text string) {
	r.t.Helper()
	for deadline := time.Now().Add(testTimeout); !strings.Contains(r.workspaceFile("prompts"), text); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("the agent was told %q", r.workspaceFile("prompts"))
		}
	}
}

func TestTheButtonsOfAGateStayOnNetworksThatCannotEditMessages(t *testing.T) {
	t.Parallel()
	book := "# Go\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Go?\",\"approvals\":2}}}\n```\n"
	r := newRunbookFixture(t, "true", map[string]string{"go": book})
	r.wrapChannel = func(c *gatewaytest.Channel) channels.Channel { return noReplaceChannel{c} }
	r.start()
	r.net.UserWrites("1", "ann", "/run go")
	gate := r.awaitText("1", "Go?")
	r.pressButton("ann", gate, 0)
	r.awaitText("1", "1 of 2 approvals.")
	r.pressButton("bob", gate, 0)
	r.awaitReport("1", "The run is complete.")
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
