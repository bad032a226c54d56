package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
)

func TestAnAnswerIsShownInPacedPartialsAndLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turn, r := acptest.NewTurn(t)
		v := New(turn, nil)
		var whole strings.Builder
		for i := range 20_000 { // two seconds of 10,000 a second
			text := fmt.Sprintf("%d ", i)
			whole.WriteString(text)
			sendChunk(v, text, "")
			time.Sleep(100 * time.Microsecond)
		}
		closeView(t, v)
		want := strings.TrimSpace(whole.String())
		if got := r.Texts(terminal.Message); len(got) != 1 || got[0] != want {
			t.Errorf("%d messages", len(got))
		}
		partials := r.Texts(terminal.Partial)
		if n := len(partials); n < 15 || n > 20 {
			t.Errorf("%d partials in two seconds", n)
		}
		for i, p := range partials {
			if !strings.HasPrefix(want, p) || i > 0 && len(p) <= len(partials[i-1]) {
				t.Fatalf("partial %d is no longer beginning", i)
			}
		}
	})
}

func TestAnAnswerIsCutIntoMessages(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä line of it\n", 50_000)
	for name, c := range map[string]struct {
		do   func(*View)
		want []string
	}{
		"by nothing":    {func(v *View) { sendChunk(v, "a", "1"); sendChunk(v, "b", "1"); sendChunk(v, "c", "") }, []string{"abc"}},
		"by another id": {func(v *View) { sendChunk(v, "a", "1"); sendChunk(v, "b", "2") }, []string{"a", "b"}},
		"by a notice of Claude Code": {func(v *View) {
			sendChunk(v, "a", "1")
			sendUpdate(v, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"notice"},"_meta":{"claudeCode":{"kind":"informational"}}}`)
			sendChunk(v, "b", "2")
		}, []string{"a", "ℹ️ notice", "b"}},
		"by a first id": {func(v *View) { sendChunk(v, "a", ""); sendChunk(v, "b", "2") }, []string{"ab"}},
		"by a tool call": {func(v *View) {
			sendChunk(v, "a", "")
			sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"t"}`)
			sendChunk(v, "b", "")
		}, []string{"b"}},
		"by a tool call after a long text": {func(v *View) {
			sendChunk(v, strings.Repeat("a", maxRemark+1), "")
			sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"t"}`)
			sendChunk(v, "b", "")
		}, []string{strings.Repeat("a", maxRemark+1), "b"}},
		"not by its update": {func(v *View) {
			sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"t"}`)
			sendChunk(v, "a", "")
			sendUpdate(v, `{"sessionUpdate":"tool_call_update","toolCallId":"t"}`)
			sendChunk(v, "b", "")
		}, []string{"ab"}},
		"not by a thought": {func(v *View) {
			sendChunk(v, "a", "")
			sendUpdate(v, `{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"x"}}`)
			sendChunk(v, "b", "")
		}, []string{"ab"}},
		"blank":   {func(v *View) { sendChunk(v, "\n \n", ""); sendChunk(v, "", "") }, nil},
		"trimmed": {func(v *View) { sendChunk(v, "\n\n  indented\n\n", "") }, []string{"  indented"}},
		"user's own words": {func(v *View) {
			sendUpdate(v, `{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"me"}}`)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			turn, r := acptest.NewTurn(t)
			v := New(turn, nil)
			c.do(v)
			if status, text := v.End(); (status == terminal.Silent) != (c.want == nil) || (text != "") != (c.want == nil) {
				t.Errorf("it ends as %s, %q", status, text)
			}
			closeView(t, v)
			if got := r.Texts(terminal.Message); !slices.Equal(got, c.want) {
				t.Errorf("got %q", got)
			}
		})
	}
	for name, chunks := range map[string][]string{"one long chunk": {long}, "many": splitEvery(long, 997)} {
		t.Run(name, func(t *testing.T) {
			turn, r := acptest.NewTurn(t)
			v := New(turn, nil)
			for _, c := range chunks {
				sendChunk(v, c, "")
			}
			closeView(t, v)
			got := r.Texts(terminal.Message)
			if strings.Join(got, "\n")+"\n" != long {
				t.Error("something was lost or cut within a line")
			}
			for _, m := range got {
				if len(m) > maxSegment {
					t.Errorf("a message of %d bytes", len(m))
				}
			}
		})
	}
}

func TestALineWithoutEndIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	v := New(turn, nil)
	long := "xx" + strings.Repeat("€", maxSegment)
	sendChunk(v, long, "")
	closeView(t, v)
	got := r.Texts(terminal.Message)
	if len(got) != 4 || strings.Join(got, "") != long {
		t.Errorf("%d messages", len(got))
	}
	for i, m := range got {
		if !utf8.ValidString(m) {
			t.Errorf("message %d is no text", i)
		}
	}
}

func TestMalformedUpdatesAreTolerated(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	v := New(turn, nil)
	for range 3 {
		sendUpdate(v, `{"sessionUpdate":"teleport","content":5}`)
		sendUpdate(v, `nonsense`)
		sendUpdate(v, `[1]`)
		sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"t","title":5,"kind":null,"status":["x"],"content":{"a":1},"locations":7,"rawInput":null,"_meta":"x"}`)
		sendUpdate(v, `{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"works","content":[5,{"type":"hologram"},{"type":"content","content":{"type":"text","text":"x"}}]}`)
		sendUpdate(v, `{"sessionUpdate":"plan","entries":[5,{"content":"still there","status":9},{"content":"and this","priority":1}]}`)
		sendUpdate(v, `{"sessionUpdate":"agent_message_chunk"}`)
		sendUpdate(v, `{"sessionUpdate":"agent_message_chunk","content":{"type":"smell"}}`)
		for _, kind := range []string{"user_message_chunk", "available_commands_update", "current_mode_update", "config_option_update", "session_info_update", "usage_update"} {
			sendUpdate(v, `{"sessionUpdate":%q}`, kind)
		}
	}
	sendChunk(v, "alive", "")
	closeView(t, v)
	if got := r.Last(terminal.Message); got != "alive" {
		t.Errorf("said %q", got)
	}
	if got := r.Last(terminal.Progress); !strings.Contains(got, "works") || !strings.Contains(got, "and this") {
		t.Errorf("progress %q", got)
	}
	unknown := 0
	for _, text := range r.Texts(terminal.Log) {
		if strings.Contains(text, "teleport") {
			unknown++
		}
		if strings.Contains(text, "usage_update") || strings.Contains(text, "user_message") {
			t.Errorf("logged %q", text)
		}
	}
	if unknown != 1 {
		t.Errorf("the unknown kind was logged %d times", unknown)
	}
}

func TestAnErrorOfEmitIsReturnedAndStopsTheView(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turn, r := acptest.NewTurn(t)
		r.Fail = errors.New("the disk is gone")
		v := New(turn, nil)
		sendChunk(v, "a", "1")
		sendChunk(v, "b", "2")
		sendChunk(v, "c", "3")
		time.Sleep(time.Second)
		if err := v.Close(false, nil); !errors.Is(err, r.Fail) {
			t.Errorf("got %v", err)
		}
		if len(r.Frames) != 1 {
			t.Errorf("%d frames", len(r.Frames))
		}
	})
}

func TestNothingIsShownAfterTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turn, r := acptest.NewTurn(t)
		v := New(turn, nil)
		sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"t","title":"works"}`)
		sendChunk(v, "a", "")
		closeView(t, v)
		before := len(r.Frames)
		sendChunk(v, "b", "")
		v.Log("info", "late")
		time.Sleep(time.Minute)
		closeView(t, v)
		if len(r.Frames) != before {
			t.Errorf("shown after the end: %v", r.Frames[before:])
		}
	})
}

func BenchmarkChunks(b *testing.B) {
	v := New(terminal.Turn{Chat: terminal.NoChat{}, Host: acptest.Host{}}, nil)
	raw := json.RawMessage(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"some words of an answer "}}`)
	for b.Loop() {
		v.Update(raw)
	}
}

func TestTheEndOfATurnIsThatOfItsLastStep(t *testing.T) {
	const tool = `{"sessionUpdate":"tool_call_update","toolCallId":"%s","status":"%s"}`
	run := func(id, status string) func(*View) {
		return func(v *View) { sendUpdate(v, tool, id, status) }
	}
	say := func(v *View) { sendChunk(v, "So be it.", "") }
	for name, c := range map[string]struct {
		do     []func(*View)
		status terminal.Status
		text   string
	}{
		"nothing":                     {nil, terminal.Silent, "The agent ended its turn without an answer."},
		"a step":                      {[]func(*View){run("a", "completed")}, terminal.Silent, "The agent ended its turn without an answer."},
		"an answer":                   {[]func(*View){run("a", "completed"), say}, terminal.Done, ""},
		"a failed step":               {[]func(*View){run("a", "completed"), run("b", "failed")}, terminal.Failed, "The last step failed, and the agent ended its turn without an answer."},
		"a failed step and an answer": {[]func(*View){run("b", "failed"), say}, terminal.Done, ""},
		"a failure that was mended":   {[]func(*View){run("b", "failed"), run("c", "completed")}, terminal.Silent, "The agent ended its turn without an answer."},
		"a refusal":                   {[]func(*View){(*View).MarkRejected, run("b", "failed")}, terminal.Refused, "The last step was refused, and the agent ended its turn."},
		"a refusal and an answer":     {[]func(*View){(*View).MarkRejected, run("b", "failed"), say}, terminal.Refused, ""},
		"another way after a refusal": {[]func(*View){(*View).MarkRejected, run("b", "failed"), run("c", "completed"), say}, terminal.Done, ""},
	} {
		t.Run(name, func(t *testing.T) {
			turn, _ := acptest.NewTurn(t)
			v := New(turn, nil)
			for _, do := range c.do {
				do(v)
			}
			if status, text := v.End(); status != c.status || text != c.text {
				t.Errorf("it ends as %s, %q", status, text)
			}
			closeView(t, v)
		})
	}
}
