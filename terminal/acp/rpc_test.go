package acp_test

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"
	"time"

	"nanobot/config"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// newShellAgent returns a fixture whose agent is a shell script. A script starts with untilPrompt,
// which handles all messages up to the first prompt; the ID of the prompt is 3. The file "received"
// has one line for each message to the agent.
func newShellAgent(t *testing.T, script string) *fixture {
	t.Helper()
	return newFixture(t, "", allowAll, func(c *config.Terminal) { c.Command = script })
}

const untilPrompt = `
receive() { read -r line && printf '%s\n' "$line" >> received; }
send() { printf '%s\n' "$1"; }
chunk() { send '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}}'; }
receive; send '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
receive; send '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
receive
`

const endTurn = "\nsend '{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}}'\n"

// receivedLines returns the messages to the agent.
func (d *fixture) receivedLines() string {
	b, err := os.ReadFile(d.path("received"))
	if err != nil {
		d.t.Error(err)
	}
	return string(b)
}

func TestRequestIDsOfAnyTypeAreReturnedUnchanged(t *testing.T) {
	t.Parallel()
	ids := []string{`null`, `0`, `"x"`, `"7"`, `1.5`, `12345678901234567890`, `"é\"<>"`}
	script := untilPrompt
	for _, id := range ids {
		script += fmt.Sprintf("send '{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"no/such\"}'; receive\n", id)
	}
	d := newShellAgent(t, script+endTurn)
	d.person("a").send("hello").expect(terminal.Silent, "The agent ended its turn without an answer.")
	for _, id := range ids {
		if !strings.Contains(d.receivedLines(), `"id":`+id+`,"error":{"code":-32601`) {
			t.Errorf("id %s was not answered: %s", id, d.receivedLines())
		}
	}
}

func TestResponsesInUnusualFormsAreAccepted(t *testing.T) {
	t.Parallel()
	d := newShellAgent(t, `
read -r _; echo '{"id":"1","result":{"protocolVersion":1,"agentCapabilities":{"loadSession":"yes","sessionCapabilities":{"list":true}},"agentInfo":null}}'
read -r _; echo '{"jsonrpc":"2.0","id":99,"result":{}}'; echo '{"jsonrpc":"2.0","id":2,"error":null,"result":{"sessionId":"s","modes":null,"configOptions":7}}'
read -r _; echo '{"jsonrpc":"2.0","id":"u","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}'
read -r _; echo '{"jsonrpc":"2.0","id":3,"error":"just words"}'`)
	d.person("a").send("hello").expect(terminal.Failed, "hi").expectError(terminal.Failed, "Just words")
}

func TestAnAgentMayCancelItsRequest(t *testing.T) {
	t.Parallel()
	d := newShellAgent(t, untilPrompt+`
send '{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"x","title":"May I"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}'
until [ -e asked ]; do sleep 0.01; done
send '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"p"}}'
receive
send '{"jsonrpc":"2.0","id":5,"method":"terminal/create","params":{"sessionId":"s","command":"echo begun; until [ -e go ]; do sleep 0.01; done; echo ended"}}'
receive
id=${line#*terminalId\":\"}; id=${id%%\"*}
send '{"jsonrpc":"2.0","id":6,"method":"terminal/wait_for_exit","params":{"sessionId":"s","terminalId":"'$id'"}}'
send '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":6}}'
receive
touch go
send '{"jsonrpc":"2.0","id":7,"method":"terminal/wait_for_exit","params":{"sessionId":"s","terminalId":"'$id'"}}'
receive`+endTurn)
	p := d.person("a")
	p.ask = func(ctx context.Context, _ terminal.Question) (terminal.Answer, error) {
		_ = os.WriteFile(d.path("asked"), nil, 0o600)
		<-ctx.Done()
		return terminal.Answer{}, ctx.Err()
	}
	p.send("hello")
	for _, want := range []string{
		`"id":"p","result":{"outcome":{"outcome":"cancelled"}}`, `"id":6,"error":{"code":-32800`, `"id":7,"result":{"exitCode":0,"signal":null}`,
	} {
		if !strings.Contains(d.receivedLines(), want) {
			t.Errorf("%s is not in %s", want, d.receivedLines())
		}
	}
}

func TestTooManyRequestsAreRefusedAndTheOthersAnsweredAtTheEnd(t *testing.T) {
	t.Parallel()
	d := newShellAgent(t, untilPrompt+`
i=0; while [ $i -lt 300 ]; do i=$((i+1))
send '{"jsonrpc":"2.0","id":'$i',"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"x","title":"May I"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}'
done
i=0; while [ $i -lt 44 ]; do i=$((i+1)); receive; done`+endTurn+`
i=0; while [ $i -lt 256 ]; do i=$((i+1)); receive; done; receive; touch over`)
	p := d.person("a")
	p.ask = func(ctx context.Context, _ terminal.Question) (terminal.Answer, error) {
		<-ctx.Done()
		return terminal.Answer{}, ctx.Err()
	}
	p.send("hello")
	eventually(t, "all are answered", func() bool { return strings.Count(d.receivedLines(), `"cancelled"`) == 256 })
	wanttest.Equal(t, "were refused:", strings.Count(d.receivedLines(), `"error":{"code":-32000,"message":"busy`), 44)
}

func TestAnAgentThatClosesItsConnectionIsReplaced(t *testing.T) {
	for name, end := range map[string]string{
		"stdin closed":       "exec 0<&-; chunk words; sleep 600",
		"stdout closed":      "chunk words; exec 1>&-; sleep 600",
		"grandchild remains": "chunk words; sleep 600 & exit 4",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newShellAgent(t, untilPrompt+end).person("a")
			if name == "stdin closed" { // which shows when the next thing is said
				ctx, stop := context.WithCancel(t.Context())
				p.onFrame = func(f terminal.Frame) {
					if shows(f, "words") {
						stop()
					}
				}
				p.protocol.StopTimeout = time.Hour
				p.sendUntil(ctx, "hello").expect(terminal.Stopped, "words")
			} else {
				p.send("hello").expect(terminal.Failed, "words").expectError(terminal.Failed, "The agent ended.")
			}
			if processExists(p.pids[0]) {
				t.Error("it is still there")
			}
		})
	}
}

func TestAnAgentThatDoesNotReadCanBeStopped(t *testing.T) {
	t.Parallel()
	d := newShellAgent(t, strings.TrimSuffix(untilPrompt, "receive\n")+"touch begun; sleep 600")
	d.protocol.StopTimeout = 50 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	p := d.person("a")
	go func() {
		eventually(t, "it is told more than it reads", func() bool { _, err := os.Stat(d.path("begun")); return err == nil })
		stop()
	}()
	p.sendUntil(ctx, strings.Repeat("much to read ", 100_000)).expectError(terminal.Stopped, "Stopped.")
	if processExists(p.pids[0]) {
		t.Error("it is still there")
	}
}

func TestARequestIsCancelledWhenTheTurnIs(t *testing.T) {
	t.Parallel()
	d := newShellAgent(t, `
receive() { read -r line && printf '%s\n' "$line" >> received; }
receive; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"list":{}}}}}'
receive; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
receive; touch listing; receive
echo '{"jsonrpc":"2.0","id":3,"error":{"code":-32800,"message":"cancelled"}}'
receive; echo '{"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_turn"}}'; receive`)
	ctx, stop := context.WithCancel(t.Context())
	p := d.person("a")
	go func() {
		eventually(t, "it lists", func() bool { _, err := os.Stat(d.path("listing")); return err == nil })
		stop()
	}()
	p.sendUntil(ctx, "/sessions").expectError(terminal.Stopped, "Stopped.")
	if !strings.Contains(d.receivedLines(), `"method":"$/cancel_request","params":{"requestId":3}`) {
		t.Errorf("said %s", d.receivedLines())
	}
	p.send("hello").expect(terminal.Silent, "The agent ended its turn without an answer.")
	pids := p.pids
	sort.Ints(pids)
	if pids[0] != pids[1] {
		t.Error("the agent was started again")
	}
}

func TestAProgramThatIsNoAgentShowsWhatItPrinted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		want    []string
	}{
		"exits":      {"echo 'Usage: agent [--acp]'; echo; echo '{\"level\":\"info\"}'; exit 2", []string{"The agent ended before it was ready. It does not speak the Agent Client Protocol; it printed:\n```\nUsage: agent [--acp]\n{\"level\":\"info\"}\n```", "Exit code: 2"}},
		"echoes":     {"cat", []string{"The agent repeats its input.", `"method":"initialize"`}},
		"is missing": {"/no/such/agent", []string{"The agent ended before it was ready.\n", "Exit code: 127"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t, "", func(c2 *config.Terminal) { c2.Command = c.command })
			d.person("a").send("hello").expectError(terminal.Failed, c.want...)
		})
	}
	t.Run("stays", func(t *testing.T) {
		d := newFixture(t, "", func(c *config.Terminal) { c.Command = "echo 'proceed> '; sleep 300" })
		h, seconds := untilPrinted(t, func(seconds int) *turnResult {
			d.protocol.StartTimeout = time.Duration(seconds) * time.Second
			return d.person("a").send("hello")
		})
		h.expectError(terminal.Failed, fmt.Sprintf("The agent did not get ready within %d s. It does not speak the Agent Client Protocol; it printed:\n```\nproceed>\n```", seconds))
	})
	d := newFixture(t, "", func(c *config.Terminal) { c.Command, c.RevealErrors = "echo secret; exit 2", config.Selection{} })
	if text := d.person("a").send("hello").text(terminal.Error); strings.Contains(text, "secret") {
		t.Errorf("said %q", text)
	}
	// A line before the first response is no mistake.
	newFixture(t, "-noisy").person("a").send("exit 3").expectError(terminal.Failed, "Error: The agent ended. Your next message starts")
}
