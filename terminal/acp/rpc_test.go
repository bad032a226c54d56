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
	"nanobot/terminal"
)

// scripted returns a desk whose agent is a shell script. hello gets it as far as its first prompt,
// which has the id 3; said has what it was told, a line a message.
func scripted(t *testing.T, script string) *desk {
	t.Helper()
	return newDesk(t, "", unasked, func(c *config.Terminal) { c.Command = script })
}

const initializeResponse = `
hear() { read -r line && printf '%s\n' "$line" >> said; }
say() { printf '%s\n' "$1"; }
chunk() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}}'; }
hear; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
hear; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
hear
`

const done = "\nsay '{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}}'\n"

// said returns what the agent was told.
func (d *desk) said() string {
	b, err := os.ReadFile(d.file("said"))
	if err != nil {
		d.t.Error(err)
	}
	return string(b)
}

func TestIdsOfAnyTypeGoBackAsTheyCame(t *testing.T) {
	ids := []string{`null`, `0`, `"x"`, `"7"`, `1.5`, `12345678901234567890`, `"é\"<>"`}
	script := initializeResponse
	for _, id := range ids {
		script += fmt.Sprintf("say '{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"no/such\"}'; hear\n", id)
	}
	d := scripted(t, script+done)
	d.person("a").says("hello").is(terminal.Done, "(no output)")
	for _, id := range ids {
		if !strings.Contains(d.said(), `"id":`+id+`,"error":{"code":-32601`) {
			t.Errorf("id %s was not answered: %s", id, d.said())
		}
	}
}

func TestAnswersInOddForms(t *testing.T) {
	d := scripted(t, `
read -r _; echo '{"id":"1","result":{"protocolVersion":1,"agentCapabilities":{"loadSession":"yes","sessionCapabilities":{"list":true}},"agentInfo":null}}'
read -r _; echo '{"jsonrpc":"2.0","id":99,"result":{}}'; echo '{"jsonrpc":"2.0","id":2,"error":null,"result":{"sessionId":"s","modes":null,"configOptions":7}}'
read -r _; echo '{"jsonrpc":"2.0","id":"u","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}'
read -r _; echo '{"jsonrpc":"2.0","id":3,"error":"just words"}'`)
	d.person("a").says("hello").is(terminal.Failed, "hi").fails(terminal.Failed, "Just words")
}

func TestAnAgentMayCancelItsRequest(t *testing.T) {
	d := scripted(t, initializeResponse+`
say '{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"x","title":"May I"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}'
until [ -e asked ]; do sleep 0.01; done
say '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"p"}}'
hear
say '{"jsonrpc":"2.0","id":5,"method":"terminal/create","params":{"sessionId":"s","command":"echo begun; until [ -e go ]; do sleep 0.01; done; echo ended"}}'
hear
id=${line#*terminalId\":\"}; id=${id%%\"*}
say '{"jsonrpc":"2.0","id":6,"method":"terminal/wait_for_exit","params":{"sessionId":"s","terminalId":"'$id'"}}'
say '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":6}}'
hear
touch go
say '{"jsonrpc":"2.0","id":7,"method":"terminal/wait_for_exit","params":{"sessionId":"s","terminalId":"'$id'"}}'
hear`+done)
	p := d.person("a")
	p.ask = func(ctx context.Context, _ terminal.Question) (terminal.Answer, error) {
		_ = os.WriteFile(d.file("asked"), nil, 0o600)
		<-ctx.Done()
		return terminal.Answer{}, ctx.Err()
	}
	p.says("hello")
	for _, want := range []string{
		`"id":"p","result":{"outcome":{"outcome":"cancelled"}}`, `"id":6,"error":{"code":-32800`, `"id":7,"result":{"exitCode":0,"signal":null}`,
	} {
		if !strings.Contains(d.said(), want) {
			t.Errorf("%s is not in %s", want, d.said())
		}
	}
}

func TestTooManyRequestsAreRefusedAndTheRestAnsweredAtTheEnd(t *testing.T) {
	d := scripted(t, initializeResponse+`
i=0; while [ $i -lt 300 ]; do i=$((i+1))
say '{"jsonrpc":"2.0","id":'$i',"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"x","title":"May I"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}'
done
i=0; while [ $i -lt 44 ]; do i=$((i+1)); hear; done`+done+`
i=0; while [ $i -lt 256 ]; do i=$((i+1)); hear; done; hear; touch over`)
	p := d.person("a")
	p.ask = func(ctx context.Context, _ terminal.Question) (terminal.Answer, error) {
		<-ctx.Done()
		return terminal.Answer{}, ctx.Err()
	}
	p.says("hello")
	eventually(t, "all are answered", func() bool { return strings.Count(d.said(), `"cancelled"`) == 256 })
	if n := strings.Count(d.said(), `"error":{"code":-32000,"message":"busy`); n != 44 {
		t.Errorf("%d were refused", n)
	}
}

func TestAnAgentThatClosesItsConnectionIsReplaced(t *testing.T) {
	for name, end := range map[string]string{
		"stdin closed":       "exec 0<&-; chunk words; sleep 600",
		"stdout closed":      "chunk words; exec 1>&-; sleep 600",
		"grandchild remains": "chunk words; sleep 600 & exit 4",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := scripted(t, initializeResponse+end).person("a")
			if name == "stdin closed" { // which shows when the next thing is said
				ctx, stop := context.WithCancel(t.Context())
				p.saw = func(f terminal.Frame) {
					if f.Kind == terminal.Partial {
						stop()
					}
				}
				p.protocol.StopTimeout = time.Hour
				p.saysUntil(ctx, "hello").is(terminal.Stopped, "words")
			} else {
				p.says("hello").is(terminal.Failed, "words").fails(terminal.Failed, "The agent ended.")
			}
			if stillRunning(p.pids[0]) {
				t.Error("it is still there")
			}
		})
	}
}

func TestAnAgentThatDoesNotReadCanBeStopped(t *testing.T) {
	d := scripted(t, strings.TrimSuffix(initializeResponse, "hear\n")+"touch begun; sleep 600")
	d.protocol.StopTimeout = 50 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	p := d.person("a")
	go func() {
		eventually(t, "it is told more than it reads", func() bool { _, err := os.Stat(d.file("begun")); return err == nil })
		stop()
	}()
	p.saysUntil(ctx, strings.Repeat("much to read ", 100_000)).fails(terminal.Stopped, "Stopped.")
	if stillRunning(p.pids[0]) {
		t.Error("it is still there")
	}
}

func TestARequestIsCancelledWhenTheTurnIs(t *testing.T) {
	d := scripted(t, `
hear() { read -r line && printf '%s\n' "$line" >> said; }
hear; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"list":{}}}}}'
hear; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
hear; touch listing; hear
echo '{"jsonrpc":"2.0","id":3,"error":{"code":-32800,"message":"cancelled"}}'
hear; echo '{"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_turn"}}'; hear`)
	ctx, stop := context.WithCancel(t.Context())
	p := d.person("a")
	go func() {
		eventually(t, "it lists", func() bool { _, err := os.Stat(d.file("listing")); return err == nil })
		stop()
	}()
	p.saysUntil(ctx, "/sessions").fails(terminal.Stopped, "Stopped.")
	if !strings.Contains(d.said(), `"method":"$/cancel_request","params":{"requestId":3}`) {
		t.Errorf("said %s", d.said())
	}
	p.says("hello").is(terminal.Done, "(no output)")
	pids := p.pids
	sort.Ints(pids)
	if pids[0] != pids[1] {
		t.Error("the agent was started anew")
	}
}
