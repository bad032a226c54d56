package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"nanobot/gateway/runbook"
	"nanobot/gateway/tools"
	"nanobot/internal/wanttest"
)

// without returns a solution without some of its fields, and with others.
func without(solution args, with args, names ...string) args {
	solution = maps.Clone(solution)
	for _, n := range names {
		delete(solution, n)
	}
	maps.Copy(solution, with)
	return solution
}

func TestEachCheckOfASolutionAnswersWithItsCode(t *testing.T) {
	type row struct {
		name, code, message string
		solution            func(good args) any
	}
	change := func(with args, names ...string) func(args) any {
		return func(good args) any { return without(good, with, names...) }
	}
	identity := []row{
		{"no solution", "MISSING_FIELD", "Solution is required for steps 2+. Use kairos_begin for step 1.", func(args) any { return nil }},
		{"a text", "MISSING_FIELD", "Solution is required for steps 2+. Use kairos_begin for step 1.", func(args) any { return "done" }},
		{"a list", "MISSING_FIELD", "Solution is required for steps 2+. Use kairos_begin for step 1.", func(args) any { return []int{1} }},
		{"no nonce", "NONCE_MISMATCH", "Nonce mismatch. Use the nonce from the current step challenge.", change(nil, "nonce")},
		{"a wrong nonce", "NONCE_MISMATCH", "Nonce mismatch. Use the nonce from the current step challenge.", change(args{"nonce": "x"})},
		{"a nonce of the wrong type", "NONCE_MISMATCH", "Nonce mismatch. Use the nonce from the current step challenge.", change(args{"nonce": 1})},
		{"no proof_hash", "MISSING_FIELD", "Include proof_hash in solution (use challenge.proof_hash for step 1).", change(nil, "proof_hash")},
		{"a wrong proof_hash", "PROOF_HASH_MISMATCH", "proof_hash mismatch. Use proof_hash from the previous response or challenge.", change(args{"proof_hash": "x"})},
		{"another type", "TYPE_MISMATCH", "", change(args{"type": "magic"})},
	}
	for kind, rows := range map[string][]row{
		"shell": {
			{"no shell", "MISSING_FIELD", "Shell proof requires shell field with exit_code", change(nil, "shell")},
			{"a text as shell", "MISSING_FIELD", "Shell proof requires shell field with exit_code", change(args{"shell": "0"})},
			{"exit code 1", "COMMAND_FAILED", "Proof of work failed. Fix and retry.", change(args{"shell": shell(1)})},
			{"exit code as text", "COMMAND_FAILED", "Proof of work failed. Fix and retry.", change(args{"shell": shell("0")})},
		},
		"mcp": {
			{"no type", "TYPE_MISMATCH", "Expected proof type: mcp, got: shell", change(nil, "type")},
			{"no mcp", "MISSING_FIELD", "MCP proof requires mcp field", change(nil, "mcp")},
			{"another tool", "MCP_TOOL_MISMATCH", "Expected MCP tool: deploy, got: rm", change(args{"mcp": args{"tool_name": "rm", "success": true}})},
			{"no success", "COMMAND_FAILED", "Proof of work failed. Fix and retry.", change(args{"mcp": args{"tool_name": "deploy"}})},
			{"success as text", "COMMAND_FAILED", "Proof of work failed. Fix and retry.", change(args{"mcp": args{"tool_name": "deploy", "success": "true"}})},
		},
		"user_input": {
			{"no confirmation", "MISSING_FIELD", "User input proof requires user_input.confirmation", change(nil, "user_input")},
			{"an empty confirmation", "MISSING_FIELD", "User input proof requires user_input.confirmation", change(args{"user_input": args{"confirmation": ""}})},
		},
		"comment": {
			{"no text", "MISSING_FIELD", "Comment proof requires comment.text", change(nil, "comment")},
			{"a number as text", "MISSING_FIELD", "Comment proof requires comment.text", change(args{"comment": args{"text": 12345678901234567}})},
			{"a short text", "COMMENT_TOO_SHORT", "Comment must be at least 20 characters", change(args{"comment": args{"text": "ok"}})},
		},
	} {
		t.Run(kind, func(t *testing.T) {
			fx := newFixture(t)
			definitions := map[string]string{"shell": shellChallenge, "mcp": mcpChallenge, "user_input": inputChallenge, "comment": commentChallenge}
			fields := map[string]any{
				"shell": shell(0), "mcp": args{"tool_name": "deploy", "success": true}, "user_input": args{"confirmation": "yes"}, "comment": args{"text": testComment},
			}
			fx.write("one", "# One\n\n"+step("Only", definitions[kind]))
			c := fx.connect(fx.options(), nil)
			for _, row := range append(identity[:len(identity):len(identity)], rows...) {
				shown := c.begin("One")
				a := args{"uri": shown.str("current_step.uri"), "run": shown.str("run"), "solution": row.solution(shown.solution(kind, fields[kind]))}
				got := c.call("kairos_next", a)
				t.Log(row.name)
				got.refused(row.code).want("must_obey", true, "retry_count", 1, "current_step", shown.at("current_step"), "challenge", shown.at("challenge"))
				if row.message != "" {
					got.want("message", row.message)
				}
				advice := "use nonce and proof_hash from THIS response's challenge"
				if strings.HasPrefix(row.message, "Solution") {
					advice = "include solution matching challenge"
				}
				got.want("next_action", "retry kairos_next with "+shown.str("current_step.uri")+" -- "+advice)
				c.next(shown, kind, fields[kind]).ok().want("message", "Protocol completed. No further steps.")
			}
		})
	}
}

func TestAfterTheThirdFailureTheAgentDecides(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	c := fx.connect(fx.options(), nil)
	shown := c.begin("Ship")
	for n := 1; n <= 2; n++ {
		c.next(shown, "shell", shell(2)).refused("COMMAND_FAILED").want("must_obey", true, "retry_count", n)
	}
	c.next(shown, "shell", shell(2)).refused("MAX_RETRIES_EXCEEDED").want("must_obey", false, "retry_count", 3,
		"message", "Step failed 3 times. Use your judgment to recover.",
		"next_action", "Options: (1) call kairos_mint with force_update to fix the step for future executions (2) call kairos_attest with "+
			shown.str("current_step.uri")+" and outcome failure to abort (3) ask the user for help")
	c.next(shown, "shell", shell(0)).ok().want("challenge.type", "mcp")
}

func TestALaterStepNamesTheMissingProof(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	c := fx.connect(fx.options(), nil)
	shown := c.begin("Ship")
	c.call("kairos_next", args{"uri": runbook.WorkspaceSource("ship").StepURI(3), "solution": shown.solution("shell", shell(0))}).refused("MISSING_PROOF").want(
		"message", `Proof of work missing for Test. Execute "make test" and report the result before continuing.`,
		"next_action", "retry kairos_next with "+shown.str("current_step.uri")+" -- complete previous step first", "retry_count", 0)
	// The step after the one to be proved means the latter.
	c.call("kairos_next", args{"uri": runbook.WorkspaceSource("ship").StepURI(2), "solution": shown.solution("shell", shell(0))}).ok().want("challenge.type", "mcp")
}

func TestAFailedStepThatIsNotRequiredIsRecordedAsFailed(t *testing.T) {
	fx := newFixture(t)
	fx.write("lint", "# Lint\n\n"+step("Lint", `{"type": "shell", "shell": {"cmd": "lint"}, "required": false}`)+"## Rest\n\nNothing to prove.\n")
	c := fx.connect(fx.options(), nil)
	end := c.next(c.begin("Lint"), "shell", shell(1)).ok().want("next_action", "Run complete.", "challenge.type", "comment")
	stored, err := fx.runs().Load(t.Context(), end.str("run"))
	if err != nil || len(stored.Records) != 1 || !strings.Contains(stored.Records[0].Record, `"status":"failed"`) {
		t.Errorf("the run is %+v, %v", stored, err)
	}
}

func TestTwoRunsOfOneRunbookShareNothing(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	c := fx.connect(fx.options(), nil)
	one, two := c.begin("Ship"), c.begin("Ship")
	if one.str("run") == two.str("run") || one.str("challenge.nonce") == two.str("challenge.nonce") {
		t.Fatal("the runs are the same")
	}
	// The nonce says which run it is, although the connection began the other one last.
	ahead := c.next(one, "shell", shell(0)).ok().want("run", one.str("run"))
	c.next(two, "shell", shell(1)).refused("COMMAND_FAILED").want("run", two.str("run"), "retry_count", 1)
	c.next(ahead, "mcp", args{"tool_name": "deploy", "success": true}).ok().want("run", one.str("run"), "challenge.type", "user_input")
	c.next(two, "shell", shell(0)).ok().want("run", two.str("run"), "challenge.type", "mcp")
	// Without a nonce it is the one that was begun last.
	c.call("kairos_next", args{"uri": two.str("current_step.uri"), "solution": args{}}).refused("NONCE_MISMATCH").want("run", two.str("run"))
	// A nonce of another run than `run` says is a mismatch.
	c.call("kairos_next", args{"uri": ahead.str("current_step.uri"), "run": two.str("run"), "solution": ahead.solution("mcp", args{"tool_name": "deploy", "success": true})}).
		refused("NONCE_MISMATCH").want("run", two.str("run"))
	c.call("kairos_next", args{"uri": one.str("current_step.uri"), "run": "nosuchrun", "solution": args{}}).fails("NOT_FOUND", "Call kairos_begin")
	c.call("kairos_next", args{"uri": one.str("current_step.uri"), "run": 7}).fails("INVALID_ARGUMENT", "run must be a string")
	c.call("kairos_next", args{"uri": runbook.WorkspaceSource("other").StepURI(1), "run": one.str("run")}).fails("NOT_FOUND", "names no step")
}

func TestAnAcceptedSolutionMayBeSentAgain(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	c := fx.connect(fx.options(), nil)
	shown := c.begin("Ship")
	accepted := c.next(shown, "shell", shell(0)).ok()
	for range 2 {
		c.next(shown, "shell", shell(0)).ok().want("proof_hash", accepted.at("proof_hash"), "challenge", accepted.at("challenge"), "error_code", nil)
	}
	c.call("kairos_next", args{"uri": shown.str("current_step.uri"), "solution": without(shown.solution("shell", shell(0)), args{"nonce": "old"})}).refused("NONCE_MISMATCH")
	stored, _ := fx.runs().Load(t.Context(), shown.str("run"))
	wanttest.Equal(t, "records:", len(stored.Records), 1)
}

func TestAnExpiredNonceBringsANewChallenge(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	shown := fx.connect(fx.options(), nil).begin("Ship")
	fx.ahead = time.Hour + time.Second
	c := fx.connect(fx.options(), nil)
	fresh := c.call("kairos_next", args{"uri": shown.str("current_step.uri"), "run": shown.str("run"), "solution": shown.solution("shell", shell(0))}).refused("NONCE_MISMATCH")
	if fresh.str("challenge.nonce") == shown.str("challenge.nonce") {
		t.Error("the nonce is the old one")
	}
	c.next(fresh, "shell", shell(0)).ok().want("challenge.type", "mcp")
}

func TestARunContinuesOverAnotherConnection(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	shown := fx.connect(fx.options(), nil).begin("Ship")
	c := fx.connect(fx.options(), nil)
	c.call("kairos_next", args{"uri": shown.str("current_step.uri"), "solution": args{}}).fails("NOT_FOUND", "Call kairos_begin")
	c.next(shown, "shell", shell(0)).ok().want("challenge.type", "mcp")
}

func TestASolutionMayBeTheTextOfItsJSON(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	c := fx.connect(fx.options(), nil)
	shown := c.begin("Ship")
	text, _ := json.Marshal(shown.solution("shell", shell(0)))
	c.call("kairos_next", args{"uri": shown.str("current_step.uri"), "solution": string(text)}).ok().want("challenge.type", "mcp")
}

func TestASolutionHasALimit(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	c := fx.connect(fx.options(), nil)
	shown := c.begin("Ship")
	c.next(shown, "shell", args{"exit_code": 0, "stdout": strings.Repeat("x", 70_000)}).fails("TOO_LARGE", "last lines of shell.stdout")
	c.next(shown, "shell", args{"exit_code": 0, "stdout": strings.Repeat("x", 60_000)}).ok()
}

func TestAttestRatesARun(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	fx.write("one", "# One\n\n"+step("Only", shellChallenge))
	c := fx.connect(fx.options(), nil)
	shown := c.begin("Ship")
	rate := func(a args) result {
		return c.call("kairos_attest", without(args{"uri": shown.str("current_step.uri")}, a))
	}

	rate(args{"outcome": "success", "message": "fine"}).ok().want("total_rated", 0, "total_failed", 1, "results.0.outcome", "success")
	rate(args{"outcome": "great", "message": "fine"}).fails("INVALID_ARGUMENT", "success or failure")
	rate(args{"outcome": "failure", "message": ""}).fails("INVALID_ARGUMENT", "message")
	rate(args{"outcome": "failure"}).fails("INVALID_ARGUMENT", "message")
	rate(args{"outcome": "failure", "message": "x", "quality_bonus": "1"}).fails("INVALID_ARGUMENT", "quality_bonus must be a number")
	rate(args{"outcome": "failure", "message": "x", "run": "nosuchrun"}).fails("NOT_FOUND", "nosuchrun")
	got := rate(args{"outcome": "failure", "message": "gave up", "quality_bonus": 2.5}).ok().want("total_rated", 1, "total_failed", 0,
		"results.0.uri", shown.str("current_step.uri"), "results.0.outcome", "failure", "results.0.quality_bonus", 2.5, "results.0.message", "gave up")
	if _, err := time.Parse(time.RFC3339, got.str("results.0.rated_at")); err != nil {
		t.Error(err)
	}
	c.next(shown, "shell", shell(0)).fails("RUN_ENDED", "kairos_begin")

	done := c.begin("One")
	c.next(done, "shell", shell(0)).ok().want("next_action", "Run complete.")
	c.call("kairos_attest", args{"uri": done.str("current_step.uri"), "outcome": "success", "message": "well"}).ok().want("total_rated", 1)
}

// fakeShell executes commands instead of an agent that lies.
type fakeShell struct {
	mu       sync.Mutex
	commands []string
	proof    runbook.ShellProof
	err      error
}

func (k *fakeShell) run(_ context.Context, run, command string, timeout time.Duration) (runbook.ShellProof, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.commands = append(k.commands, run+" "+command+" "+timeout.String())
	return k.proof, k.err
}

func TestAnAgentThatLiesAboutACommandIsDetected(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	k := &fakeShell{proof: runbook.ShellProof{ExitCode: 3, Stderr: "broken"}}
	o := fx.options()
	o.CheckShell = k.run
	c := fx.connect(o, nil)
	shown := c.begin("Ship")
	c.next(shown, "shell", shell(1)).refused("COMMAND_FAILED").want("retry_count", 1) // nothing to check
	c.call("kairos_next", args{"uri": shown.str("current_step.uri"), "solution": without(shown.solution("shell", shell(0)), args{"proof_hash": "x"})}).refused("PROOF_HASH_MISMATCH")
	if len(k.commands) != 0 {
		t.Fatalf("commands were executed: %q", k.commands)
	}
	c.next(shown, "shell", shell(0)).refused("MAX_RETRIES_EXCEEDED").want("retry_count", 3)
	if len(k.commands) != 1 || k.commands[0] != shown.str("run")+" make test 5s" {
		t.Errorf("commands: %q", k.commands)
	}
	k.proof = runbook.ShellProof{ExitCode: 0, Stdout: "seen by us"}
	c.next(shown, "shell", args{"exit_code": 0, "stdout": "a lie"}).ok().want("challenge.type", "mcp")
	stored, _ := fx.runs().Load(t.Context(), shown.str("run"))
	record, err := stored.Records[0].Parse()
	if err != nil || record.By != "gateway" || !strings.Contains(string(record.Shell), "seen by us") || strings.Contains(string(record.Shell), "lie") {
		t.Errorf("the record is %s, %v", stored.Records[0].Record, err)
	}
	c.next(shown, "shell", shell(0)).ok().want("challenge.type", "mcp") // repeated, not executed again
	if len(k.commands) != 2 {
		t.Errorf("commands: %q", k.commands)
	}
	k.err = context.Canceled
	c.next(c.begin("Ship"), "shell", shell(0)).fails("CANCELLED", "")
}

// TestTheSameProofSentTwiceAtOnceIsCheckedOnce holds the command until both calls are there.
func TestTheSameProofSentTwiceAtOnceIsCheckedOnce(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	begun, release := make(chan struct{}, 2), make(chan struct{})
	o := fx.options()
	o.CheckShell = func(context.Context, string, string, time.Duration) (runbook.ShellProof, error) {
		begun <- struct{}{}
		<-release
		return runbook.ShellProof{}, nil
	}
	c := fx.connect(o, nil)
	shown := c.begin("Ship")
	results := make(chan result, 2)
	prove := func() {
		got, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "kairos_next", Arguments: args{"uri": shown.str("current_step.uri"), "solution": shown.solution("shell", shell(0))}})
		if err != nil {
			t.Error(err)
			got = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "{}"}}, StructuredContent: args{}}
		}
		results <- fx.read(got)
	}
	go prove()
	<-begun
	fx.store.mu.Lock()
	fx.store.loads = make(chan string, 100)
	fx.store.mu.Unlock()
	go prove()
	<-fx.store.loads // the second call has seen that the command must be executed
	close(release)
	one, two := (<-results).ok(), (<-results).ok()
	one.want("challenge", two.at("challenge"), "proof_hash", two.at("proof_hash"))
	if len(begun) != 0 {
		t.Error("the command was executed twice")
	}
}

func TestAnErrorOfTheStoreIsReportedAndLosesNothing(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	c := fx.connect(fx.options(), nil)
	shown := c.begin("Ship")
	fx.store.mu.Lock()
	fx.store.err = errTest
	fx.store.mu.Unlock()
	c.next(shown, "shell", shell(0)).fails("INTERNAL", "Disk on fire.")
	c.call("kairos_search", args{"query": ""}).fails("INTERNAL", "Disk on fire.")
	fx.store.mu.Lock()
	fx.store.err = nil
	fx.store.mu.Unlock()
	c.next(shown, "shell", shell(0)).ok().want("challenge.type", "mcp")
}

func TestEachCallIsAudited(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	var mu sync.Mutex
	var seen []string
	o := fx.options()
	o.Audit = func(tool string, err error) {
		mu.Lock()
		defer mu.Unlock()
		text := "ok"
		if err != nil {
			text, _, _ = strings.Cut(err.Error(), ":")
		}
		seen = append(seen, tool+" "+text)
	}
	o.CheckShell = func(context.Context, string, string, time.Duration) (runbook.ShellProof, error) {
		panic("at the disco")
	}
	c := fx.connect(o, nil)
	shown := c.begin("Ship")
	c.next(shown, "shell", shell(1)).refused("COMMAND_FAILED")
	c.call("kairos_dump", args{}).fails("INVALID_URI", "")
	c.next(shown, "shell", shell(0)).fails("INTERNAL", "Internal error") // and the server goes on
	c.next(shown, "shell", shell(1)).refused("COMMAND_FAILED")
	want := "kairos_search ok, kairos_begin ok, kairos_next COMMAND_FAILED, kairos_dump INVALID_URI, kairos_next internal error in nanobot; its log has the details, kairos_next COMMAND_FAILED"
	wanttest.Equal(t, "audited:", strings.Join(seen, ", "), want)
}

func TestRunsAndRunbooksHaveARate(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	c := fx.connect(fx.options(), nil)
	uri := runbook.WorkspaceSource("ship").StepURI(1)
	for range 60 {
		c.call("kairos_begin", args{"uri": uri}).ok()
	}
	// Another one is allowed for each second that these have taken.
	again := c.call("kairos_begin", args{"uri": uri})
	for n := 0; n < 1000 && !again.isError; n++ {
		again = c.call("kairos_begin", args{"uri": uri})
	}
	again.fails("RATE_LIMITED", "Wait ")
	c.call("kairos_mint", args{"markdown_doc": "# A"}).fails("RATE_LIMITED", "at most 60 a minute")
}

func TestAChatWithoutANameIsNotServed(t *testing.T) {
	o := newFixture(t).options()
	o.Chat = &fakeChat{}
	closed := false
	if err := tools.Serve(t.Context(), closer{&closed}, o); err == nil || !closed {
		t.Errorf("served: %v, closed: %v", err, closed)
	}
}

type closer struct{ closed *bool }

func (closer) Read([]byte) (int, error)    { return 0, errors.New("read") }
func (closer) Write(p []byte) (int, error) { return len(p), nil }
func (c closer) Close() error              { *c.closed = true; return nil }
