package tools_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"nanobot/gateway/runbook"
	"nanobot/internal/musttest"
)

// versions are those of the protocol in which the server calls the client, and in which it does
// not.
var versions = map[string]string{"before": "2025-11-25", "from": "2026-07-28"}

func answering(action string, content map[string]any) *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: action, Content: content}, nil
	}}
}

const gate = "# Gate\n\n## Approve\n\n```json\n{\"challenge\": " + inputChallenge + "}\n```\n"

func TestAClientThatCanElicitIsAskedForAMissingConfirmation(t *testing.T) {
	for name, version := range versions {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t)
			fx.write("gate", gate)
			var asked *mcp.ElicitParams
			c := fx.connectAs(version, fx.options(), &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked = req.Params
				return &mcp.ElicitResult{Action: "accept", Content: args{"confirmation": "approved"}}, nil
			}})
			shown := c.begin("Gate")
			c.next(shown, "user_input", args{}).ok().want("message", "Protocol completed. No further steps.", "error_code", nil)
			if asked == nil || !strings.HasPrefix(asked.Message, "Ship it?") || !equal(asked.RequestedSchema.(map[string]any)["required"], []string{"confirmation"}) {
				t.Errorf("the client was asked %+v", asked)
			}
			stored, _ := fx.runs().Load(t.Context(), shown.str("run"))
			record, err := stored.Records[0].Parse()
			if err != nil || !strings.Contains(string(record.UserInput), `"confirmation":"approved"`) || record.Status != runbook.Succeeded {
				t.Errorf("the record is %s, %v", stored.Records[0].Record, err)
			}
		})
	}
}

func TestAConfirmationThatIsNotGivenIsCounted(t *testing.T) {
	for name, version := range versions {
		for _, row := range []struct {
			name, code, message string
			o                   *mcp.ClientOptions
		}{
			{"rejected", "USER_DECLINED", "User declined confirmation.", answering("accept", args{"confirmation": "rejected"})},
			{"declined", "USER_DECLINED", "User declined confirmation.", answering("decline", nil)},
			{"cancelled", "USER_DECLINED", "User cancelled or did not confirm.", answering("cancel", nil)},
			{"accepted without content", "USER_DECLINED", "User cancelled or did not confirm.", answering("accept", nil)},
			{"not supported", "MISSING_FIELD", "User input proof requires user_input.confirmation", nil},
			{"no forms", "MISSING_FIELD", "User input proof requires user_input.confirmation", &mcp.ClientOptions{
				ElicitationHandler: answering("accept", args{"confirmation": "approved"}).ElicitationHandler,
				Capabilities:       &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
			}},
		} {
			t.Run(name+"/"+row.name, func(t *testing.T) {
				fx := newFixture(t)
				fx.write("gate", gate)
				c := fx.connectAs(version, fx.options(), row.o)
				shown := c.begin("Gate")
				for n := 1; n <= 2; n++ {
					c.next(shown, "user_input", args{}).refused(row.code).want("message", row.message, "retry_count", n, "challenge", shown.at("challenge"), "must_obey", true)
				}
				c.next(shown, "user_input", args{}).refused("MAX_RETRIES_EXCEEDED").want("retry_count", 3)
				c.next(shown, "user_input", args{"confirmation": "yes"}).ok().want("next_action", "Run complete.")
			})
		}
	}
}

func TestAnAgentLearnsWhyAQuestionCouldNotBeAsked(t *testing.T) {
	fx := newFixture(t)
	fx.write("gate", gate)
	for name, o := range map[string]*mcp.ClientOptions{
		"the form is broken": {ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return nil, errors.New("the form is broken")
		}},
		"does not match": answering("accept", args{"confirmation": "maybe"}),
	} {
		c := fx.connectAs("2025-11-25", fx.options(), o)
		got := c.next(c.begin("Gate"), "user_input", args{}).refused("ELICITATION_FAILED").want("retry_count", 1)
		if !strings.Contains(got.str("message"), name) {
			t.Errorf("the message is %q, without %q", got.str("message"), name)
		}
	}
}

// TestOnlyARightSolutionIsAskedFor checks that nobody is bothered by a solution that is wrong
// anyway.
func TestOnlyARightSolutionIsAskedFor(t *testing.T) {
	fx := newFixture(t)
	fx.write("gate", gate)
	fx.write("pair", strings.ReplaceAll(strings.Replace(gate, "# Gate", "# Pair", 1), `"Ship it?"`, `"Ship it?", "approvals": 2`))
	c := fx.connectAs("2025-11-25", fx.options(), &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		t.Error("the user was asked")
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}})
	shown := c.begin("Gate")
	c.call("kairos_next", args{"uri": shown.str("current_step.uri"), "solution": args{"type": "user_input", "nonce": "x"}}).refused("NONCE_MISMATCH")
	c.next(shown, "comment", args{"text": testComment}).refused("TYPE_MISMATCH")
	c.next(shown, "user_input", args{"confirmation": "yes"}).ok()
	c.next(c.begin("Pair"), "user_input", args{}).refused("ELICITATION_FAILED").want("message", "This step needs the approval of 2 people.")
}

// TestAnAnswerThatComesTooLateChangesNothing has another connection prove the step while the user
// is asked.
func TestAnAnswerThatComesTooLateChangesNothing(t *testing.T) {
	fx := newFixture(t)
	fx.write("gate", gate+step("After", commentChallenge))
	other := fx.connect(fx.options(), nil)
	var shown, proved result
	c := fx.connectAs("2025-11-25", fx.options(), &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		proved = other.next(shown, "user_input", args{"confirmation": "yes"}).ok()
		return &mcp.ElicitResult{Action: "decline"}, nil
	}})
	shown = c.begin("Gate")
	c.next(shown, "user_input", args{}).ok().want("error_code", nil, "proof_hash", proved.at("proof_hash"), "challenge", proved.at("challenge"))
}

// TestAClientThatGoesAwayDuringAQuestionIsNotCounted leaves the server while its user is asked.
func TestAClientThatGoesAwayDuringAQuestionIsNotCounted(t *testing.T) {
	fx := newFixture(t)
	fx.write("gate", gate)
	asked, answered := make(chan struct{}), make(chan struct{})
	c := fx.connectAs("2025-11-25", fx.options(), &mcp.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	shown := c.begin("Gate")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(answered)
		_, _ = c.CallTool(ctx, &mcp.CallToolParams{Name: "kairos_next", Arguments: args{"uri": shown.str("current_step.uri"), "solution": shown.solution("user_input", args{})}})
	}()
	<-asked
	cancel()
	<-answered
	_ = c.Close()
	err := <-c.served
	c.served <- err // for the cleanup
	stored, loadErr := fx.runs().Load(t.Context(), shown.str("run"))
	if err != nil || loadErr != nil || stored.Issued.Failures != 0 || stored.Status != runbook.Waiting {
		t.Errorf("served: %v; the run is %+v, %v", err, stored, loadErr)
	}
}

func TestALongCallSendsProgressNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.write("ship", fourSteps("Ship"))
		var told []float64
		o := fx.options()
		o.CheckShell = func(context.Context, string, string, time.Duration) (runbook.ShellProof, error) {
			time.Sleep(time.Minute)
			return runbook.ShellProof{}, nil
		}
		c := fx.connect(o, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			told = append(told, req.Params.Progress)
		}})
		shown := c.begin("Ship")
		params := &mcp.CallToolParams{Name: "kairos_next", Arguments: args{"uri": shown.str("current_step.uri"), "solution": shown.solution("shell", shell(0))}}
		params.SetProgressToken("mine")
		got := musttest.Get(c.CallTool(t.Context(), params))(t)
		fx.read(got).ok().want("challenge.type", "mcp")
		synctest.Wait()
		if len(told) < 3 || told[0] != 1 || told[2] != 3 {
			t.Errorf("the client was told %v", told)
		}
	})
}
