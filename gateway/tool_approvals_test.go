package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/internal/pausetest"
	"nanobot/terminal"
)

// callForJSON calls a tool and returns the JSON of its result. It may be called from any goroutine.
func (c *agentProcess) callForJSON(tool string, args any) string {
	got, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error()
	}
	return got.Content[0].(*mcp.TextContent).Text
}

// writeGreeting writes a message in a chat, so that tools may ask there.
func (fx *fixture) writeGreeting(chat string) {
	fx.t.Helper()
	fx.net.UserWrites(chat, "ann", "hello")
	fx.awaitTrue("the first message", func() bool {
		known, err := fx.store.Recent(fx.t.Context(), channels.Chat{Channel: "net", ID: chat}, 1)
		return err == nil && len(known) > 0
	})
}

// startProof calls kairos_next in another goroutine. The returned function waits for the result.
func (c *agentProcess) startProof(args any) (answer func() string) {
	var got string
	var work sync.WaitGroup
	work.Go(func() { got = c.callForJSON("kairos_next", args) })
	return func() string { work.Wait(); return got }
}

const approvalRunbook = "# Gate\n\n## Go\n\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Go on?\"}}}\n```\n" +
	"## Sum up\n\nSay what you did.\n\n```json\n{\"challenge\":{\"type\":\"comment\"}}\n```\n"

// clockProtocol is a protocol whose turns last until they are ended, and that records how much time
// they have.
type clockProtocol struct {
	turns chan context.Context
	end   chan struct{}
}

func (c clockProtocol) Turn(ctx context.Context, _ terminal.Turn) (terminal.Outcome, error) {
	c.turns <- ctx
	<-c.end
	return terminal.Outcome{Status: terminal.Done}, nil
}

// remainingTime returns bounds of the time that a turn has left.
func remainingTime(ctx context.Context) (least, most time.Duration) {
	before := time.Now()
	deadline, _ := ctx.Deadline()
	return time.Until(deadline), deadline.Sub(before)
}

func TestTheTimeoutOfATurnPausesWhileAToolWaitsForAnApprover(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "true", map[string]string{"gate": approvalRunbook})
	protocol := clockProtocol{make(chan context.Context, 1), make(chan struct{})}
	fx.protocol, fx.terminal.Timeout = protocol, 3600
	fx.start()
	defer close(protocol.end)
	fx.net.UserWrites("1", "ann", "ship it")
	ctx := <-protocol.turns
	c := fx.connectTools()
	answer := c.startProof(c.beginGateRun())
	question := fx.awaitText("1", "Go on?")
	least, _ := remainingTime(ctx)
	for began := time.Now(); time.Since(began) < 20*time.Millisecond; time.Sleep(time.Millisecond) { // for the clock to run
	}
	if _, most := remainingTime(ctx); most < least {
		t.Errorf("the turn had %v left, and has %v", least, most)
	}
	fx.pressButton("ann", question, 0)
	if got := answer(); !strings.Contains(got, `"proof_hash"`) || strings.Contains(got, "error") {
		t.Errorf("the agent was told %s", got)
	}
	fx.awaitTrue("the clock going on", func() bool { _, most := remainingTime(ctx); return most < least })
}

func TestAPersonIsToldThatNoAgentWaitsForTheDecision(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "true", map[string]string{"gate": approvalRunbook})
	fx.start()
	c := fx.connectTools()
	fx.writeGreeting("1")
	run := c.beginGateRun()
	answer := c.startProof(run)
	question := fx.awaitText("1", "Go on?")
	c.closeConnection()
	answer()
	fx.pressButton("ann", question, 0)
	fx.awaitText("1", "No agent is waiting for this decision. Ask it to go on with run `"+run["run"].(string)+"`.")
	if got := fx.connectTools().callForJSON("kairos_next", run); !strings.Contains(got, `"proof_hash"`) || strings.Contains(got, "error") {
		t.Errorf("the agent was told %s", got)
	}
}

func TestTheOpenQuestionsOfAgentsInAChatAreBounded(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "true", map[string]string{"gate": approvalRunbook})
	fx.start()
	fx.writeGreeting("1")
	c := fx.connectTools()
	answers := make(chan string, 8)
	for range cap(answers) {
		run := c.beginGateRun()
		go func() { answers <- c.callForJSON("kairos_next", run) }()
	}
	for range 3 {
		if got := <-answers; !strings.Contains(got, `"RATE_LIMITED"`) || !strings.Contains(got, "5 questions about runs are open in this chat already; wait") {
			t.Errorf("the agent was told %s", got)
		}
	}
	questions := fx.awaitQuestions("1", 5)
	fx.pressButton("ann", questions[0], 0)
	if got := <-answers; strings.Contains(got, "error") {
		t.Errorf("the agent was told %s", got)
	}
	answer := c.startProof(c.beginGateRun())
	questions = append(questions, fx.awaitQuestions("1", 6)[5])
	for _, q := range questions[1:] {
		fx.pressButton("ann", q, 1)
	}
	answer()
	for range 4 {
		<-answers
	}
}

// awaitQuestions waits for n questions.
func (fx *fixture) awaitQuestions(chat string, n int) (found []gatewaytest.Call) {
	fx.t.Helper()
	_, ok := fx.net.Await(chat, testTimeout, func(calls []gatewaytest.Call) bool {
		found = nil
		for _, c := range calls {
			if strings.Contains(c.Text, "Go on?") {
				found = append(found, c)
			}
		}
		return len(found) >= n
	})
	if !ok || len(found) != n {
		fx.t.Fatalf("there are %d questions, not %d", len(found), n)
	}
	return found
}

func TestQuestionsOfAgentsCountTowardsTheMessageRate(t *testing.T) {
	t.Parallel()
	// Another message is allowed after two seconds.
	pausetest.Try(t, 600*time.Millisecond, func() error {
		fx := newRunbookFixture(t, "true", map[string]string{"gate": approvalRunbook})
		fx.start()
		defer fx.stop()
		fx.writeGreeting("1")
		c := fx.connectTools()
		defer c.closeConnection()
		proof := c.beginGateRun()
		for strings.Contains(c.callForJSON("send_message", map[string]any{"text": "hi"}), `"sent":true`) {
		}
		told := make(chan string, 1)
		go func() { told <- c.callForJSON("kairos_next", proof) }()
		var got string
		refuse := sync.OnceFunc(func() { fx.pressButton("ann", fx.awaitQuestions("1", 1)[0], 1) })
		fx.awaitTrue("an answer to the agent", func() bool {
			if strings.Contains(strings.Join(texts(fx.net.Sent("1")), "\n"), "Go on?") {
				refuse() // otherwise the agent would wait
			}
			select {
			case got = <-told:
				return true
			default:
				return false
			}
		})
		if !strings.Contains(got, `"RATE_LIMITED"`) || !strings.Contains(got, "Too many messages") {
			return fmt.Errorf("the agent was told %s", got)
		}
		return nil
	})
}

func TestOnlyAdmittedPeopleAreAsked(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "true", map[string]string{"gate": approvalRunbook})
	fx.start()
	c := fx.connectTools() // a chat in which nobody has written
	if got := c.callForJSON("kairos_next", c.beginGateRun()); !strings.Contains(got, `"ELICITATION_FAILED"`) || !strings.Contains(got, "has access to the bot") {
		t.Errorf("the agent was told %s", got)
	}
	if calls := fx.net.Sent("1"); len(calls) > 0 {
		t.Errorf("the chat was shown %q", texts(calls))
	}
}
