package gateway_test

import (
	"encoding/json"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"nanobot/channels"
	"nanobot/gateway"
	"nanobot/gateway/press"
	"nanobot/gateway/runbook"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// agentProcess is a process of the agent of chat 1 that uses the tools.
type agentProcess struct {
	*mcp.ClientSession
	t      *testing.T
	conn   net.Conn
	served chan error
}

// connectTools connects a process to the running gateway.
func (fx *fixture) connectTools() *agentProcess { return fx.connectToolsOf("") }

// connectToolsOf is connectTools for the process of an agent.
func (fx *fixture) connectToolsOf(agent string) *agentProcess {
	fx.t.Helper()
	ours, theirs := net.Pipe()
	c := &agentProcess{t: fx.t, conn: ours, served: make(chan error, 1)}
	gw := fx.gw
	go func() {
		c.served <- gw.ServeTools(fx.t.Context(), theirs, gateway.ToolCaller{Owner: terminal.Owner{Agent: agent, Channel: "net", ChatID: "1"}})
	}()
	session := musttest.Get(mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(fx.t.Context(), &mcp.IOTransport{Reader: ours, Writer: ours}, nil))(fx.t)
	c.ClientSession = session
	fx.t.Cleanup(c.closeConnection)
	return c
}

// closeConnection closes the connection, as the end of the process does.
func (c *agentProcess) closeConnection() {
	if c.served == nil {
		return
	}
	_ = c.conn.Close()
	_ = c.Close()
	<-c.served
	c.served = nil
}

// toolResult is the result of a tool.
type toolResult struct {
	Choices     []struct{ URI string }
	CurrentStep struct{ URI string } `json:"current_step"`
	Challenge   runbook.Challenge
	Run         string
	Message     string
	ErrorCode   string `json:"error_code"`
}

// callTool calls a tool. A call that is interrupted by the end of the connection returns nothing.
func (c *agentProcess) callTool(tool string, args any) (a toolResult) {
	got, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return a
	}
	text, _ := got.Content[0].(*mcp.TextContent)
	if err := json.Unmarshal([]byte(text.Text), &a); err != nil {
		c.t.Errorf("%s returned %q: %v", tool, text.Text, err)
	}
	return a
}

// beginGateRun begins a run, and returns the call that asks the people of the chat to approve it.
func (c *agentProcess) beginGateRun() map[string]any {
	found := c.callTool("kairos_search", map[string]any{"query": "gate"})
	if len(found.Choices) != 1 {
		c.t.Fatalf("found %+v", found)
	}
	begun := c.callTool("kairos_begin", map[string]any{"uri": found.Choices[0].URI})
	return map[string]any{"uri": begun.CurrentStep.URI, "run": begun.Run, "solution": map[string]any{
		"type": runbook.UserInput, "nonce": begun.Challenge.Nonce, "proof_hash": begun.Challenge.ProofHash,
		runbook.UserInput: map[string]any{"confirmation": "the agent says that it is fine"},
	}}
}

// startNext calls kairos_next in another goroutine.
func (c *agentProcess) startNext(args any) <-chan toolResult {
	result := make(chan toolResult, 1)
	go func() { result <- c.callTool("kairos_next", args) }()
	return result
}

func TestAnAgentThatProvesAnApprovalWaitsForThePeopleOfItsChat(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "true", map[string]string{"gate": gateRunbook})
	fx.settings.Runbooks.Approvers = []string{"net:bob"}
	fx.start()
	fx.writeGreeting("1")
	c := fx.connectTools()
	result := c.startNext(c.beginGateRun())
	gate := fx.awaitGates("1", 1)[0]
	fx.pressButton("ann", gate, 0)
	fx.awaitText("1", "Only approvers can decide this.")
	fx.pressButton("bob", gate, 0)
	if a := <-result; a.ErrorCode != "" || !strings.Contains(a.Message, "Protocol completed.") {
		t.Errorf("the agent was told %+v", a)
	}
	fx.awaitText("1", "→ Approve (by bob)")
	run := fx.listRuns()[0]
	if record, err := run.Records[0].Parse(); err != nil || record.By != "net:bob" {
		t.Errorf("the record is %+v: %v", record, err)
	}
}

func TestAnAgentIsToldThatItsApprovalWasRejected(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "true", map[string]string{"gate": gateRunbook})
	fx.start()
	fx.writeGreeting("1")
	c := fx.connectTools()
	result := c.startNext(c.beginGateRun())
	fx.pressButton("bob", fx.awaitGates("1", 1)[0], 1)
	if a := <-result; a.ErrorCode != runbook.UserDeclined {
		t.Errorf("the agent was told %+v", a)
	}
	fx.expectStatuses(runbook.Declined)
}

func TestAQuestionSurvivesTheProcessAndTheGatewayThatAskedIt(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(*fixture, *agentProcess){
		"the process ends":     func(_ *fixture, c *agentProcess) { c.closeConnection() },
		"the gateway restarts": func(fx *fixture, _ *agentProcess) { fx.restart() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newRunbookFixture(t, "true", map[string]string{"gate": gateRunbook})
			fx.start()
			fx.writeGreeting("1")
			c := fx.connectTools()
			call := c.beginGateRun()
			result := c.startNext(call)
			gate := fx.awaitGates("1", 1)[0]
			away(fx, c)
			<-result
			c.closeConnection()
			fx.expectStatuses(runbook.Waiting)
			c = fx.connectTools()
			result = c.startNext(call)
			fx.pressButton("bob", gate, 0)
			if a := <-result; a.ErrorCode != "" || !strings.Contains(a.Message, "Protocol completed.") {
				t.Errorf("the agent was told %+v", a)
			}
			fx.expectStatuses(runbook.Complete)
			fx.awaitText("1", "→ Approve (by bob)")
		})
	}
}

func TestADecisionThatACrashKeptFromItsRunCountsWhenTheAgentAsksAgain(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "true", map[string]string{"gate": gateRunbook})
	fx.start()
	fx.writeGreeting("1")
	c := fx.connectTools()
	call := c.beginGateRun()
	result := c.startNext(call)
	pressed, ok := press.ParseAnswer(fx.awaitGates("1", 1)[0].Buttons[0])
	if !ok {
		t.Fatal("the button of the gate answers no question")
	}
	c.closeConnection()
	<-result
	chat := channels.Chat{Channel: "net", ID: "1"}
	received, err := fx.store.Receive(t.Context(), store.ReceiveRequest{
		In: channels.Incoming{ID: "stored", Chat: chat, User: channels.User{ID: "bob"}}, Settle: true,
		Reply: &store.Reply{Question: pressed.Question, Text: "Approve", By: "bob", Turn: true},
	})
	if err != nil || !received.Replied {
		t.Fatal(received, err)
	}
	fx.expectStatuses(runbook.Waiting)
	if a := <-fx.connectTools().startNext(call); a.ErrorCode != "" || !strings.Contains(a.Message, "Protocol completed.") {
		t.Errorf("the agent was told %+v", a)
	}
	fx.expectStatuses(runbook.Complete)
}

// solutionForm finds the URI, the run and the solution in what an agent is told about an mcp step.
var solutionForm = regexp.MustCompile(`uri (\S+), run (\S+), and this solution[^{]*(\{.*\})`)

func TestAnAgentProvesAToolCallInARunOfTheChat(t *testing.T) {
	t.Parallel()
	const book = "# Call\n\nSearch.\n\n```json\n{\"challenge\":{\"type\":\"mcp\",\"mcp\":{\"tool_name\":\"kairos_search\"}}}\n```\n"
	fx := newRunbookFixture(t, "jq -r .text > text; mv text prompted; "+waitForFileScript("go"), map[string]string{"call": book})
	fx.start()
	fx.net.UserWrites("1", "ann", "/run call")
	fx.awaitFile("prompted")
	parts := solutionForm.FindStringSubmatch(fx.readWorkspace("prompted"))
	if parts == nil {
		t.Fatalf("the agent was told %q", fx.readWorkspace("prompted"))
	}
	var solution map[string]any
	musttest.Do(t, json.Unmarshal([]byte(parts[3]), &solution))
	c := fx.connectTools()
	c.callTool("kairos_search", map[string]any{"query": "call"})
	if a := c.callTool("kairos_next", map[string]any{"uri": parts[1], "run": parts[2], "solution": solution}); a.ErrorCode != "" {
		t.Errorf("the agent was told %+v", a)
	}
	fx.touchFile("go")
	if _, records := fx.awaitReport("1", "The run is complete."); records[0].By != runbook.ByAgent || records[0].Type != runbook.MCP {
		t.Errorf("the records are %q", provenBy(records))
	}
}

func TestAnAgentThatDoesNotProveItsToolCallFails(t *testing.T) {
	t.Parallel()
	const book = "# Call\n\nSearch.\n\n```json\n{\"challenge\":{\"type\":\"mcp\",\"mcp\":{\"tool_name\":\"kairos_search\"}}}\n```\n"
	fx := newRunbookFixture(t, `echo '{"type":"message","text":"I called it, believe me"}'`, map[string]string{"call": book})
	fx.start()
	fx.net.UserWrites("1", "ann", "/run call")
	fx.pressButton("ann", fx.awaitText("1", "The agent has not proved with kairos_next that it called the tool"), 2)
	fx.awaitReport("1", "The run was ended at step 1 by net:ann: aborted.")
}
