package gateway_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/runbook"
	"nanobot/terminal"
	"nanobot/terminal/acp"
	"nanobot/terminal/blocks"
	"nanobot/terminal/plain"
)

// acpVariable makes the test binary an agent of the Agent Client Protocol: see TestMain.
const acpVariable = "NANOBOT_TEST_ACP"

// commentRunbook has two steps with comments of at least so many characters.
func commentRunbook(least int) string {
	proof := "```json\n{\"challenge\":{\"type\":\"comment\",\"comment\":{\"min_length\":" + strconv.Itoa(least) + "}}}\n```\n"
	return "# Tell\n\n## One\n\nTell the first.\n\n" + proof + "## Two\n\nTell the second.\n\n" + proof
}

// commentTexts returns the texts of the comment records.
func commentTexts(records []runbook.Record) string {
	var all []string
	for _, r := range records {
		all = append(all, string(r.Comment))
	}
	return strings.Join(all, " | ")
}

func TestProgressIsShownBelowTheChecklistAndTheLastMessageIsTheComment(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, `echo '{"type":"progress","text":"half way there"}'; echo '{"type":"message","text":"not the last one"}'; `+waitForFileScript("go")+
		`echo '{"type":"message","text":"the very last one"}'`, map[string]string{"tell": commentRunbook(5)})
	fx.start()
	fx.net.UserWrites("1", "ann", "/run tell")
	_, ok := fx.net.Await("1", testTimeout, func(calls []gatewaytest.Call) bool {
		for _, c := range calls {
			if c.Kind == "progress" && strings.Contains(c.Text, "▶️ 1. One") && strings.Contains(c.Text, "half way there") {
				return true
			}
		}
		return false
	})
	if !ok {
		t.Errorf("the chat was shown %+v", fx.net.Sent("1"))
	}
	fx.touchFile("go")
	_, records := fx.awaitReport("1", "The run is complete.")
	if got := commentTexts(records); strings.Count(got, "the very last one") != 2 || strings.Contains(got, "not the last") {
		t.Errorf("the comments are %s", got)
	}
	shown := strings.Join(texts(fx.net.Sent("1")), "|")
	if strings.Count(shown, "not the last one") != 2 || strings.Count(shown, "the very last one") != 2 {
		t.Errorf("the chat was shown %s", shown)
	}
}

func TestStepsAreTasksOfTheirOwnForAgentsOfOtherProtocols(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]struct {
		command  string
		protocol func(*fixture) terminal.Protocol
		want     []string // each in one comment
	}{
		"plain": {
			"read -r line; echo $line", func(*fixture) terminal.Protocol { return plain.Protocol{} },
			[]string{"step 1 of 2: One", "step 2 of 2: Two"},
		},
		"blocks": {
			`task=$(sed -n 's/^Task: //p'); printf '[DONE]\n%s\n[/DONE]\n' "$task"`, func(fx *fixture) terminal.Protocol { return blocks.New(fx.terminal) },
			[]string{"step 1 of 2: One", "step 2 of 2: Two"},
		},
		"acp": {
			acpVariable + "=1 exec " + os.Args[0], func(fx *fixture) terminal.Protocol { return acp.New(terminal.OpenOptions{Config: fx.terminal}) },
			[]string{"step 1 of 2: One", "step 2 of 2: Two"},
		},
		"refused": {
			"true", func(*fixture) terminal.Protocol { return refusedProtocol{} }, []string{"step 1 of 2: One", "step 2 of 2: Two"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newRunbookFixture(t, agent.command, map[string]string{"tell": commentRunbook(5)})
			fx.terminal.Protocol = name
			fx.protocol = agent.protocol(fx)
			fx.start()
			fx.net.UserWrites("1", "ann", "/run tell")
			_, records := fx.awaitReport("1", "The run is complete.")
			for i, part := range agent.want {
				if !strings.Contains(string(records[i].Comment), part) || strings.Count(commentTexts(records), part) != 1 {
					t.Errorf("the comments are %s", commentTexts(records))
				}
			}
		})
	}
}

// refusedProtocol repeats its prompt as an agent that was refused its last step.
type refusedProtocol struct{}

func (refusedProtocol) Turn(_ context.Context, t terminal.Turn) (terminal.Outcome, error) {
	if err := t.Emit(terminal.Frame{Kind: terminal.Message, Text: t.Envelope.Text}); err != nil {
		return terminal.Outcome{}, err
	}
	return terminal.Outcome{Status: terminal.Refused}, t.Emit(terminal.Frame{Kind: terminal.Message, Text: "It was refused.", Own: true})
}

func TestAnAgentThatFailsOrPrintsNothingProvesNothing(t *testing.T) {
	t.Parallel()
	const says = `echo '{"type":"message","text":"I have only begun with it"}'; `
	for name, script := range map[string]string{
		"fails":          says + "exit 3",
		"is killed":      says + "kill -9 $$",
		"takes too long": says + "sleep 300",
		"floods":         says + "yes '{\"type\":\"log\",\"text\":\"again and again and again and again and again and again\"}'",
		"says nothing":   "true",
		"cannot run":     "exec /nonexistent",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newRunbookFixture(t, script, map[string]string{"tell": commentRunbook(5)})
			fx.terminal.Timeout = 1
			fx.start()
			fx.net.UserWrites("1", "ann", "/run tell")
			failed := fx.awaitText("1", "Step 1 has failed 3 times.")
			if !strings.Contains(failed.Text, "The agent has not answered, or has failed.") {
				t.Errorf("the question is %q", failed.Text)
			}
			fx.pressButton("ann", failed, 2)
			fx.awaitReport("1", "The run was ended at step 1 by net:ann: aborted.")
		})
	}
}
