package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"nanobot/gateway/runbook"
)

// canElicit reports whether the client can show a form to its user.
func canElicit(req *mcp.CallToolRequest) bool {
	p := req.Session.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil // older clients declare neither
}

// noServerCalls is the protocol version from which on servers do not call clients: a result states
// the required input, and the client repeats the call with it.
const noServerCalls = "2026-07-28"

// inputRequired is the result that makes the client show a form and repeat the call.
type inputRequired struct{ form *mcp.ElicitParams }

func (*inputRequired) Error() string { return "the client must ask its user" }

func (n *inputRequired) result() *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{confirmation: n.form}}
}

const confirmation = "confirmation"

// approvalForm returns the form that asks for the approval of a step.
func approvalForm(r runbook.Run, step runbook.Step) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Mode:    "form",
		Message: fmt.Sprintf("%s\n\nStep %d of %s: %s", step.Challenge.Prompt, step.Index, r.Runbook().Label, step.Label),
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"confirmation":{"type":"string","title":"Confirmation",` +
			`"enum":["approved","rejected"]}},"required":["confirmation"]}`),
	}
}

// confirmByForm lets the client ask its user to approve the current step. An approval becomes the
// solution; anything else is the answer.
func (p *proofCall) confirmByForm(ctx context.Context, before runbook.Run) (a any, done bool, err error) {
	step, _ := before.CurrentStep()
	waiting, cancel := p.untilInputEnds(ctx)
	defer cancel()
	said, err := p.elicit(waiting, approvalForm(before, step))
	if input, ok := err.(*inputRequired); ok { //nolint:errorlint // it is made here
		return nil, true, input
	}
	why := runbook.Refusal{Step: before.Step}
	switch {
	case waiting.Err() != nil:
		return nil, true, waiting.Err()
	case err != nil:
		why.NotAskedReason = toSentence(err)
	case said.Action == "accept" && said.Content[confirmation] == "approved":
		return nil, false, p.setField(runbook.UserInput, map[string]string{
			confirmation: "approved", "timestamp": time.Now().UTC().Format(time.RFC3339),
		})
	case said.Action == "decline" || said.Action == "accept" && said.Content[confirmation] == "rejected":
	default:
		why.Cancelled = true
	}
	return p.countRefusal(ctx, why)
}

// elicit shows a form. For a newer client the form is the result of this call, and its content
// comes with the next call.
func (p *proofCall) elicit(ctx context.Context, form *mcp.ElicitParams) (said *mcp.ElicitResult, err error) {
	if p.req.Session.InitializeParams().ProtocolVersion >= noServerCalls {
		if said, ok := p.req.Params.InputResponses[confirmation].(*mcp.ElicitResult); ok {
			return said, nil
		}
		return nil, &inputRequired{form}
	}
	err = withProgress(ctx, p.req, func(ctx context.Context) (err error) {
		said, err = p.req.Session.Elicit(ctx, form)
		return err
	})
	return said, err
}

// progressInterval is how often a client is notified that a call is still running. Clients abandon
// calls that are silent for a minute.
const progressInterval = 15 * time.Second

// withProgress calls f, and meanwhile sends progress notifications if the client has asked for
// them.
func withProgress(ctx context.Context, req *mcp.CallToolRequest, f func(context.Context) error) error {
	token := req.Params.GetProgressToken()
	if token == nil {
		return f(ctx)
	}
	beats, stop := context.WithCancel(ctx)
	var beating errgroup.Group
	beating.Go(func() error {
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for n := 1.0; ; n++ {
			select {
			case <-beats.Done():
				return nil
			case <-ticker.C:
				_ = req.Session.NotifyProgress(beats,
					&mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: "Waiting."})
			}
		}
	})
	defer func() {
		stop()
		_ = beating.Wait()
	}()
	return f(ctx)
}
