package gateway_test

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"nanobot/gateway"
	"nanobot/terminal"
)

// toolClient is a connection to the tools of a chat.
type toolClient struct {
	r       *rig
	session *mcp.ClientSession
	close   func() // and waits until nothing of it runs
}

// tools connects a process of the default agent in a chat.
func (r *rig) tools(chat string) *toolClient {
	r.t.Helper()
	ours, theirs := net.Pipe()
	served := make(chan error, 1)
	owner := terminal.Owner{Channel: "net", ChatID: chat, Agent: "default"}
	go func() { served <- r.gw.ServeTools(r.t.Context(), theirs, gateway.ToolCaller{Owner: owner}) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(r.t.Context(), &mcp.IOTransport{Reader: ours, Writer: ours}, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	closed := sync.OnceFunc(func() {
		_ = ours.Close() // as a process that is killed
		<-served
		_ = session.Close()
	})
	r.t.Cleanup(closed)
	return &toolClient{r, session, closed}
}

// call calls a tool and returns the JSON of its result. It may be called from any goroutine.
func (c *toolClient) call(tool string, args map[string]any) string {
	got, err := c.session.CallTool(c.r.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error()
	}
	return got.Content[0].(*mcp.TextContent).Text
}

// shownStep is what the tests need of an answer of kairos_begin and kairos_next.
type shownStep struct {
	Run         string
	CurrentStep struct{ URI string } `json:"current_step"`
	Challenge   struct {
		Nonce     string
		ProofHash string `json:"proof_hash"`
	}
}

// begin begins a run of the only runbook.
func (c *toolClient) begin() (shown shownStep) {
	c.r.t.Helper()
	var found struct{ Choices []struct{ URI string } }
	if err := json.Unmarshal([]byte(c.call("kairos_search", map[string]any{"query": ""})), &found); err != nil || len(found.Choices) != 1 {
		c.r.t.Fatalf("found %+v, %v", found, err)
	}
	if err := json.Unmarshal([]byte(c.call("kairos_begin", map[string]any{"uri": found.Choices[0].URI})), &shown); err != nil || shown.Run == "" {
		c.r.t.Fatalf("begun %+v, %v", shown, err)
	}
	return shown
}

// approve says that the person approves the step, which is for the people of the chat to say.
func (c *toolClient) approve(s shownStep) string {
	return c.call("kairos_next", map[string]any{"uri": s.CurrentStep.URI, "run": s.Run, "solution": map[string]any{
		"type": "user_input", "nonce": s.Challenge.Nonce, "proof_hash": s.Challenge.ProofHash, "user_input": map[string]string{"confirmation": "yes"},
	}})
}

// waits calls approve in another goroutine.
func (c *toolClient) waits(s shownStep) (answer func() string) {
	var got string
	var work sync.WaitGroup
	work.Go(func() { got = c.approve(s) })
	return func() string { work.Wait(); return got }
}

const approvalRunbook = "# Gate\n\n## Go\n\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Go on?\"}}}\n```\n" +
	"## Sum up\n\nSay what you did.\n\n```json\n{\"challenge\":{\"type\":\"comment\"}}\n```\n"

// clock is a protocol whose turns last until they are ended, and that knows how much time they have.
type clock struct {
	turns chan context.Context
	end   chan struct{}
}

func (c clock) Turn(ctx context.Context, _ terminal.Turn) (terminal.Outcome, error) {
	c.turns <- ctx
	<-c.end
	return terminal.Outcome{Status: terminal.Done}, nil
}

// left returns bounds of the time that a turn has left.
func left(ctx context.Context) (least, most time.Duration) {
	before := time.Now()
	deadline, _ := ctx.Deadline()
	return time.Until(deadline), deadline.Sub(before)
}

func TestTheClockOfATurnStandsStillWhileAToolWaitsForAnApprover(t *testing.T) {
	t.Parallel()
	r := newRunbookRig(t, "true", map[string]string{"gate": approvalRunbook})
	protocol := clock{make(chan context.Context, 1), make(chan struct{})}
	r.protocol, r.terminal.Timeout = protocol, 3600
	r.start()
	defer close(protocol.end)
	r.net.Say("1", "ann", "ship it")
	ctx := <-protocol.turns
	c := r.tools("1")
	answer := c.waits(c.begin())
	question := r.awaitText("1", "Go on?")
	least, _ := left(ctx)
	for began := time.Now(); time.Since(began) < 20*time.Millisecond; time.Sleep(time.Millisecond) { // for the clock to run
	}
	if _, most := left(ctx); most < least {
		t.Errorf("the turn had %v left, and has %v", least, most)
	}
	r.press("ann", question, 0)
	if got := answer(); !strings.Contains(got, `"proof_hash"`) || strings.Contains(got, "error") {
		t.Errorf("the agent was told %s", got)
	}
	r.awaitTrue("the clock going on", func() bool { _, most := left(ctx); return most < least })
}

func TestAPersonIsToldThatNoAgentWaitsForTheDecision(t *testing.T) {
	t.Parallel()
	r := newRunbookRig(t, "true", map[string]string{"gate": approvalRunbook})
	r.start()
	c := r.tools("1")
	r.net.Say("1", "ann", "hello")
	r.awaitIdle("1")
	run := c.begin()
	answer := c.waits(run)
	question := r.awaitText("1", "Go on?")
	c.close()
	answer()
	r.press("ann", question, 0)
	r.awaitText("1", "No agent is waiting for this decision. Ask it to go on with run `"+run.Run+"`.")
	if got := r.tools("1").approve(run); !strings.Contains(got, `"proof_hash"`) || strings.Contains(got, "error") {
		t.Errorf("the agent was told %s", got)
	}
}
