package acp_test

import (
	"strings"
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// notices are a notice of the protocol, and a text of Claude Code that is none of the model's.
const notices = `raw {"sessionUpdate":"notice","severity":"warning","title":"Rate limit is near","description":"5 % left"}
raw {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Now in the small model"},"_meta":{"claudeCode":{"kind":"informational"}}}`

func TestANoticeAfterTheAnswerIsSilentAndTheAnswerNotifies(t *testing.T) {
	t.Parallel()
	const text = "⚠ Rate limit is near 5 % left\nℹ️ Now in the small model"
	p := newFixture(t, "").person("a")
	h := p.send("say It is done.\n"+notices).expect(terminal.Done, text+"\nIt is done.")
	rings, all := h.ringing()
	wanttest.Equal(t, "notifies", strings.Join(rings, "|"), "It is done.")
	wanttest.Equal(t, "messages", all, 2)
	wanttest.Equal(t, "says that it worked without an answer", p.send(notices).text(terminal.Message), text+"\nThe agent ended its turn without an answer.")
}

func TestANoticeOfATurnWithStepsIsPartOfItsSummary(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	h := p.send(notices+"\ntool t execute make\nstatus t completed\nsay It is done.").expect(terminal.Done, "It is done.")
	fold := h.fold()
	wanttest.Equal(t, "details", fold.Details, "⚠ Rate limit is near 5 % left\nℹ️ Now in the small model\n💻 make ✓")
	wanttest.Equal(t, "required", fold.Required, true)
	p.boardHidden = true
	p.send(notices+"\ntool t execute make\nsay Done it.").expect(terminal.Done,
		"⚠ Rate limit is near 5 % left\nℹ️ Now in the small model\nDone it.")
}

func TestACompactionIsAStepAndItsSummaryIsNoAnswer(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	h := p.send(`say The answer.
raw {"sessionUpdate":"compaction_summary_chunk","compactionId":"c1","content":{"type":"text","text":"SUMMARY"}}
raw {"sessionUpdate":"compaction_update","compactionId":"c1","status":"completed","summary":[{"type":"text","text":"SUMMARY"}]}
raw {"sessionUpdate":"compaction_update","compactionId":"c2","status":"in_progress"}
raw {"sessionUpdate":"compaction_update","compactionId":"c2","status":"failed","error":"no room"}`).
		expect(terminal.Done, "The answer.")
	wanttest.Equal(t, "details", h.fold().Details, "🗜 Compact the conversation ✓\n🗜 Compact the conversation ✗\n│ `no room`")
}

func TestAToolCallWithoutATitleHasTheNameOfItsTool(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	h := p.send(`raw {"sessionUpdate":"tool_call","toolCallId":"t","title":"","name":"web_search","kind":"other"}
raw {"sessionUpdate":"tool_call_update","toolCallId":"t","name":null,"status":"completed"}`)
	wanttest.Equal(t, "details", h.fold().Details, "🔧 `web_search` ✓")
}

func TestNoticesAndCompactionsAreAnnounced(t *testing.T) {
	t.Parallel()
	text := newFixture(t, "").person("a").send("announced").text(terminal.Message)
	for _, want := range []string{`"notices":{}`, `"compaction":{}`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}
