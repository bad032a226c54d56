package tools_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nanobot/gateway/runbook"
	"nanobot/gateway/tools"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

func (fx *fixture) inChat(c *fakeChat) tools.Options {
	o := fx.options()
	o.Chat = c
	return o
}

func TestMessagesAndFilesGoToTheChat(t *testing.T) {
	fx := newFixture(t)
	k := &fakeChat{name: "telegram:1"}
	c := fx.connect(fx.inChat(k), nil)
	c.call("send_message", args{"text": "# Hello\n<b> & more"}).ok().want("sent", true)
	c.call("send_files", args{"files": []args{{"path": "a.png", "caption": "One"}, {"path": "/tmp/b.mp4"}}, "text": "Look"}).ok().want("sent", true, "files", 2)
	c.call("send_files", args{"files": []args{{"path": "c.pdf"}}}).ok().want("files", 1)
	want := []tools.Message{
		{Text: "# Hello\n<b> & more"},
		{Text: "Look", Files: []tools.File{{Path: "a.png", Caption: "One"}, {Path: "/tmp/b.mp4"}}},
		{Files: []tools.File{{Path: "c.pdf"}}},
	}
	if !equal(k.messages, want) {
		t.Errorf("sent: %+v", k.messages)
	}
	k.err = errors.New("c.pdf is not in mediaRoots")
	c.call("send_files", args{"files": []args{{"path": "c.pdf"}}}).fails("NOT_SENT", "C.pdf is not in mediaRoots.")
	c.call("send_message", args{"text": "x"}).fails("NOT_SENT", "")
	c.call("progress", args{"text": "x"}).fails("NOT_SHOWN", "")
	c.call("search_history", args{"query": "x"}).fails("NOT_SEARCHED", "")
}

func TestErrorsOfTheChatAreExplainedToTheAgent(t *testing.T) {
	fx := newFixture(t)
	k := &fakeChat{name: "telegram:1"}
	c := fx.connect(fx.inChat(k), nil)
	many := make([]args, 51)
	for i := range many {
		many[i] = args{"path": "x"}
	}
	for _, row := range []struct {
		tool, code, message string
		a                   any
	}{
		{"send_message", "INVALID_ARGUMENT", "text is required", args{}},
		{"send_message", "INVALID_ARGUMENT", "text is required", args{"text": " \n"}},
		{"send_message", "INVALID_ARGUMENT", "text must be a string", args{"text": 1}},
		{"send_message", "TOO_LARGE", "at most 262144", args{"text": strings.Repeat("x", 256<<10+1)}},
		{"send_files", "INVALID_ARGUMENT", "1 to 50 entries", args{"files": []args{}}},
		{"send_files", "INVALID_ARGUMENT", "1 to 50 entries", args{}},
		{"send_files", "INVALID_ARGUMENT", "got 51", args{"files": many}},
		{"send_files", "INVALID_ARGUMENT", "a list of objects", args{"files": "a.png"}},
		{"send_files", "INVALID_ARGUMENT", "files[1].path", args{"files": []args{{"path": "a"}, {"caption": "b"}}}},
		{"send_files", "INVALID_ARGUMENT", "files[0].path", args{"files": []args{{"path": "a\x00b"}}}},
		{"send_files", "TOO_LARGE", "files[0].caption", args{"files": []args{{"path": "a", "caption": strings.Repeat("x", 5000)}}}},
		{"ask_user", "INVALID_ARGUMENT", "question is required", args{}},
		{"ask_user", "INVALID_ARGUMENT", "list of strings", args{"question": "?", "options": "yes"}},
		{"ask_user", "INVALID_ARGUMENT", "options[1]", args{"question": "?", "options": []string{"a", ""}}},
		{"ask_user", "INVALID_ARGUMENT", "at most 20", args{"question": "?", "options": strings.Fields(strings.Repeat("x ", 21))}},
		{"ask_user", "INVALID_ARGUMENT", "timeout_seconds", args{"question": "?", "timeout_seconds": -1}},
		{"ask_user", "INVALID_ARGUMENT", "timeout_seconds", args{"question": "?", "timeout_seconds": 1e9}},
		{"progress", "INVALID_ARGUMENT", "text is required", args{}},
		{"progress", "TOO_LARGE", "text", args{"text": strings.Repeat("x", 1025)}},
		{"search_history", "INVALID_ARGUMENT", "limit must be from 1 to 100", args{"query": "", "limit": 0}},
		{"search_history", "INVALID_ARGUMENT", "limit must be from 1 to 100", args{"query": "", "limit": 101}},
		{"search_history", "INVALID_ARGUMENT", "limit must be a number", args{"query": "", "limit": "5"}},
	} {
		t.Logf("%s %s", row.tool, row.message)
		c.call(row.tool, row.a).fails(row.code, row.message)
	}
	if len(k.messages)+len(k.progress) != 0 || k.limit != 0 {
		t.Errorf("the chat got %+v", k)
	}
}

func TestAQuestionWaitsForItsAnswer(t *testing.T) {
	fx := newFixture(t)
	var asked []terminal.Question
	k := &fakeChat{name: "telegram:1", ask: func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
		asked = append(asked, q)
		return terminal.Answer{Text: "blue", By: "telegram:7"}, nil
	}}
	c := fx.connect(fx.inChat(k), nil)
	c.call("ask_user", args{"question": "Which?", "options": []string{"red", "blue"}, "timeout_seconds": 1.5}).ok().want("answer", "blue", "by", "telegram:7")
	c.call("ask_user", args{"question": "And?"}).ok()
	want := []terminal.Question{{Text: "Which?", Options: []string{"red", "blue"}, Timeout: 1500 * time.Millisecond}, {Text: "And?"}}
	if !equal(asked, want) {
		t.Errorf("asked: %+v", asked)
	}
	k.ask = nil
	c.call("ask_user", args{"question": "And?"}).fails("NOT_ANSWERED", "Nobody answered.")
}

func TestProgressAndHistory(t *testing.T) {
	fx := newFixture(t)
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	k := &fakeChat{name: "telegram:1", found: []tools.HistoryMessage{{Role: "user", Text: "hello", Time: at}, {Role: "agent", Text: strings.Repeat("ü", 8000)}}}
	c := fx.connect(fx.inChat(k), nil)
	c.call("progress", args{"text": "Testing"}).ok().want("shown", true)
	wanttest.EqualSlices(t, "progress:", k.progress, []string{"Testing"})
	got := c.call("search_history", args{"query": "hello"}).ok().want("messages.0", args{"role": "user", "text": "hello", "time": "2026-05-04T03:02:01Z"})
	if text := got.str("messages.1.text"); len(text) > 8300 || !strings.HasSuffix(text, "ü […]") {
		t.Errorf("a text of %d bytes was returned", len(text))
	}
	if k.query != "hello" || k.limit != 20 {
		t.Errorf("searched for %q, %d", k.query, k.limit)
	}
	c.call("search_history", args{"limit": 3}).ok()
	if k.query != "" || k.limit != 3 {
		t.Errorf("searched for %q, %d", k.query, k.limit)
	}
	k.found = nil
	c.call("search_history", args{"query": "x"}).ok().want("messages", []string{})
}

func TestAnAgentThatFloodsTheChatIsRateLimited(t *testing.T) {
	fx := newFixture(t)
	tooMany := &tools.RateLimitError{Reason: "too many messages. Wait 2 s, then try again."}
	k := &fakeChat{name: "telegram:1", ask: func(context.Context, terminal.Question) (terminal.Answer, error) { return terminal.Answer{}, tooMany }}
	c := fx.connect(fx.inChat(k), nil)
	for range 130 { // only the chat bounds how much is sent to it
		c.call("send_message", args{"text": "x"}).ok()
		c.call("progress", args{"text": "x"}).ok()
	}
	k.err = tooMany
	for tool, a := range map[string]args{
		"send_message": {"text": "x"}, "send_files": {"files": []args{{"path": "x"}}}, "ask_user": {"question": "x"}, "progress": {"text": "x"},
	} {
		c.call(tool, a).fails("RATE_LIMITED", "Too many messages. Wait 2 s, then try again.")
	}
}

// TestAChatSeesItsOwnRunsAlone tries to use the run of one chat from another, and without any.
func TestAChatSeesItsOwnRunsAlone(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	connections := map[string]*client{
		"one":   fx.connect(fx.inChat(&fakeChat{name: "telegram:1"}), nil),
		"two":   fx.connect(fx.inChat(&fakeChat{name: "telegram:12"}), nil),
		"alone": fx.connect(fx.options(), nil),
	}
	begun := map[string]result{}
	for name, c := range connections {
		begun[name] = c.begin("Ship")
	}
	before := map[string]string{}
	for k, v := range fx.store.values {
		before[k] = v
	}
	for name, c := range connections {
		for owner, shown := range begun {
			if owner == name {
				continue
			}
			uri, solution := shown.str("current_step.uri"), shown.solution("shell", shell(0))
			c.call("kairos_next", args{"uri": uri, "run": shown.str("run"), "solution": solution}).fails("NOT_FOUND", "There is no run")
			c.call("kairos_attest", args{"uri": uri, "run": shown.str("run"), "outcome": "failure", "message": "mine"}).fails("NOT_FOUND", "There is no run")
		}
	}
	if !equal(before, fx.store.values) {
		t.Error("a run was changed")
	}
	// The nonce of another chat's run is one that nobody has issued.
	connections["two"].next(begun["one"], "shell", shell(0)).refused("NONCE_MISMATCH").want("run", begun["two"].str("run"))
	again := fx.connect(fx.inChat(&fakeChat{name: "telegram:12"}), nil)
	again.next(begun["one"], "shell", shell(0)).fails("NOT_FOUND", "Call kairos_begin")
	again.next(begun["alone"], "shell", shell(0)).fails("NOT_FOUND", "Call kairos_begin")
	again.next(begun["two"], "shell", shell(0)).ok().want("challenge.type", "mcp")
	stored, _ := fx.runs().Load(t.Context(), begun["two"].str("run"))
	wanttest.Equal(t, "the run belongs to", stored.Chat, "telegram:12")
}

// beginFor begins a run that a person drives, in a chat or at a terminal.
func (fx *fixture) beginFor(by, chat string) runbook.Run {
	fx.Helper()
	book, source, err := runbook.Folder(fx.folder).Load("ship")
	if err != nil {
		fx.Fatal(err)
	}
	run, _, err := fx.runs().Begin(fx.Context(), runbook.Start{Runbook: book, Source: source, By: by, Chat: chat})
	if err != nil {
		fx.Fatal(err)
	}
	return run
}

// TestAnAgentReportsNoCommandsInARunThatAPersonBegan is the run of /run: nanobot executes its
// commands itself, and an agent proves only what is an agent's to prove.
func TestAnAgentReportsNoCommandsInARunThatAPersonBegan(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	run := fx.beginFor("telegram:7", "telegram:1")
	c := fx.connect(fx.inChat(&fakeChat{name: "telegram:1"}), nil)
	uri := run.Source.StepURI
	solution := args{"type": "shell", "nonce": run.Issued.Nonce, "proof_hash": genesis, "shell": shell(0)}
	for _, s := range []any{solution, without(solution, args{"shell": shell(1)}), args{}, nil} {
		got := c.call("kairos_next", args{"uri": uri(1), "run": run.ID, "solution": s}).fails("NOT_ALLOWED", "A person began this run")
		if strings.Contains(got.text, run.Issued.Nonce) {
			t.Error("the agent was told the nonce")
		}
	}
	if now, err := fx.runs().Load(t.Context(), run.ID); err != nil || now.Encode() != run.Encode() {
		t.Errorf("the run was changed: %+v, %v", now, err)
	}
	proved, a, err := runbook.Transition(t.Context(), fx.runs(), run.ID, runbook.Prove, runbook.Proof{Step: 1, By: "gateway", Type: "shell", Value: runbook.ShellProof{}})
	if err != nil {
		t.Fatal(err)
	}
	c.call("kairos_next", args{"uri": uri(2), "solution": args{
		"type": "mcp", "nonce": a.Challenge.Nonce, "proof_hash": proved.LastHash(), "mcp": args{"tool_name": "deploy", "success": true},
	}}).ok().want("challenge.type", "user_input")
}

func TestAnAgentDoesNotEndARunThatAPersonBegan(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	run := fx.beginFor("telegram:7", "telegram:1")
	c := fx.connect(fx.inChat(&fakeChat{name: "telegram:1"}), nil)
	rate := args{"uri": run.Source.StepURI(1), "run": run.ID, "outcome": "failure", "message": "I give up"}
	c.call("kairos_attest", rate).fails("NOT_ALLOWED", "A person began this run")
	if now, err := fx.runs().Load(t.Context(), run.ID); err != nil || now.Encode() != run.Encode() {
		t.Errorf("the run was changed: %+v, %v", now, err)
	}
}

func TestTheRunsOfTheTerminalAreNotAnAgents(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	run := fx.beginFor("cli:1000", "")
	c := fx.connect(fx.options(), nil)
	solution := args{"type": "shell", "nonce": run.Issued.Nonce, "proof_hash": genesis, "shell": shell(0)}
	c.call("kairos_next", args{"uri": run.Source.StepURI(1), "run": run.ID, "solution": solution}).fails("NOT_FOUND", "There is no run")
	c.call("kairos_next", args{"uri": run.Source.StepURI(1), "solution": solution}).fails("NOT_FOUND", "Call kairos_begin")
}

// fakePeople decides on the steps of a chat's runs.
type fakePeople struct {
	fixture *fixture
	decide  func(run string, step int) error
	asked   []int
}

func (p *fakePeople) run(_ context.Context, run string, step int) error {
	p.asked = append(p.asked, step)
	return p.decide(run, step)
}

func TestInAChatOnlyItsPeopleProveUserInput(t *testing.T) {
	fx := newFixture(t)
	fx.write("gate", gate+step("After", commentChallenge))
	p := &fakePeople{fixture: fx}
	o := fx.inChat(&fakeChat{name: "telegram:1"})
	o.Decide = p.run
	c := fx.connect(o, answering("accept", args{"confirmation": "approved"})) // whose user is not asked

	shown := c.begin("Gate")
	c.next(shown, "user_input", args{}).refused("MISSING_FIELD").want("retry_count", 1)
	p.decide = func(run string, step int) error {
		_, _, err := runbook.Transition(t.Context(), fx.runs(), run, runbook.Approve, runbook.Approval{Step: step, By: "telegram:7"})
		return err
	}
	accepted := c.next(shown, "user_input", args{"confirmation": "the agent says yes"}).ok().want("challenge.type", "comment", "error_code", nil)
	stored, _ := fx.runs().Load(t.Context(), shown.str("run"))
	if record, err := stored.Records[0].Parse(); err != nil || record.By != "telegram:7" || accepted.str("proof_hash") != stored.Records[0].ProofHash {
		t.Errorf("the record is %s, %v; the answer %s", stored.Records[0].Record, err, accepted.text)
	}
	wanttest.EqualSlices(t, "asked about the steps", p.asked, []int{1})

	shown = c.begin("Gate")
	p.decide = func(run string, step int) error {
		_, _, err := runbook.Transition(t.Context(), fx.runs(), run, runbook.Decline, runbook.Refusal{Step: step, By: "telegram:7", End: true})
		return err
	}
	c.next(shown, "user_input", args{"confirmation": "yes"}).refused("USER_DECLINED").want(
		"message", "User declined confirmation.", "next_action", "Run ended.", "must_obey", true, "retry_count", 1, "current_step", shown.at("current_step"))
	c.next(shown, "user_input", args{"confirmation": "yes"}).fails("RUN_ENDED", "kairos_begin")
}

func TestAnAgentLearnsThatTheChatHasNotDecided(t *testing.T) {
	fx := newFixture(t)
	fx.write("gate", gate)
	p := &fakePeople{fixture: fx, decide: func(string, int) error { return &tools.NotAskedError{Err: errors.New("the channel is gone")} }}
	o := fx.inChat(&fakeChat{name: "telegram:1"})
	o.Decide = p.run
	c := fx.connect(o, nil)
	shown := c.begin("Gate")
	c.next(shown, "user_input", args{"confirmation": "yes"}).refused("ELICITATION_FAILED").want("message", "The channel is gone.", "retry_count", 1)
	p.decide = func(string, int) error { return nil }
	c.next(shown, "user_input", args{"confirmation": "yes"}).fails("UNDECIDED", "Call kairos_next again")
	p.decide = func(run string, _ int) error { // by another press or command
		_, err := fx.runs().Apply(t.Context(), run, func(r runbook.Run, env runbook.Env) (runbook.Run, error) {
			return runbook.Abort(r, "telegram:7", "no time", env)
		})
		return err
	}
	c.next(shown, "user_input", args{"confirmation": "yes"}).fails("RUN_ENDED", "kairos_begin")
	alone := fx.connect(fx.inChat(&fakeChat{name: "telegram:1"}), nil)
	alone.next(alone.begin("Gate"), "user_input", args{"confirmation": "yes"}).refused("ELICITATION_FAILED")
}

// TestAnApprovalOutlivesACallThatEndsEarly is a gate of two people: the daemon restarts, or the
// store fails, when one of them has approved.
func TestAnApprovalOutlivesACallThatEndsEarly(t *testing.T) {
	fx := newFixture(t)
	fx.write("gate", "# Gate\n\n"+step("Ask", `{"type": "user_input", "user_input": {"prompt": "Ship it?", "approvals": 2}}`))
	p := &fakePeople{fixture: fx}
	o := fx.inChat(&fakeChat{name: "telegram:1"})
	o.Decide = p.run
	c := fx.connect(o, nil)
	shown := c.begin("Gate")
	approveAs := func(by string) func(string, int) error {
		return func(run string, step int) error {
			_, _, err := runbook.Transition(t.Context(), fx.runs(), run, runbook.Approve, runbook.Approval{Step: step, By: by})
			return err
		}
	}
	var before string
	p.decide = func(run string, step int) error {
		err := approveAs("telegram:7")(run, step)
		before = fx.store.values["runbook/run/"+run]
		return errors.Join(err, errors.New("the bot is about to restart"))
	}
	c.next(shown, "user_input", args{"confirmation": "yes"}).fails("UNDECIDED", "The bot is about to restart. Call kairos_next again")
	wanttest.Equal(t, "the run was changed to", fx.store.values["runbook/run/"+shown.str("run")], before)
	p.decide = approveAs("telegram:8")
	c.next(shown, "user_input", args{"confirmation": "yes"}).ok().want("next_action", "Run complete.")
}
