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
	return e.Form != nil || e.URL == nil // a client of an older version says neither
}

// severalRounds is the version of the protocol from which on a server does not call the client: the
// result says what is needed, and the client repeats the call with it.
const severalRounds = "2026-07-28"

// inputNeeded is the result that has the client show a form and repeat the call.
type inputNeeded struct{ form *mcp.ElicitParams }

func (*inputNeeded) Error() string { return "the client must ask its user" }

func (n *inputNeeded) result() *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{confirmation: n.form}}
}

const confirmation = "confirmation"

// newForm returns the form that asks for the approval of a step.
func newForm(r runbook.Run, step runbook.Step) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Mode:    "form",
		Message: fmt.Sprintf("%s\n\nStep %d of %s: %s", step.Challenge.Prompt, step.Index, r.Runbook().Label, step.Label),
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"confirmation":{"type":"string","title":"Confirmation",` +
			`"enum":["approved","rejected"]}},"required":["confirmation"]}`),
	}
}

// confirm has the client ask its user to approve the present step. An approval becomes the
// solution; all else is the answer.
func (p *proving) confirm(ctx context.Context, before runbook.Run) (a any, done bool, err error) {
	step, _ := before.CurrentStep()
	waiting, cancel := p.untilEnd(ctx)
	defer cancel()
	said, err := p.elicit(waiting, newForm(before, step))
	if input, ok := err.(*inputNeeded); ok { //nolint:errorlint // it is made here
		return nil, true, input
	}
	why := runbook.Refusal{Step: before.Step}
	switch {
	case waiting.Err() != nil:
		return nil, true, waiting.Err()
	case err != nil:
		why.NotAskedReason = sentence(err)
	case said.Action == "accept" && said.Content[confirmation] == "approved":
		return nil, false, p.setField(runbook.UserInput, map[string]string{
			confirmation: "approved", "timestamp": time.Now().UTC().Format(time.RFC3339),
		})
	case said.Action == "decline" || said.Action == "accept" && said.Content[confirmation] == "rejected":
	default:
		why.Cancelled = true
	}
	return p.refuse(ctx, why)
}

// elicit shows a form. With a client of a newer version that is the result of this call, and the
// form's content comes with the next one.
func (p *proving) elicit(ctx context.Context, form *mcp.ElicitParams) (said *mcp.ElicitResult, err error) {
	if p.req.Session.InitializeParams().ProtocolVersion >= severalRounds {
		if said, ok := p.req.Params.InputResponses[confirmation].(*mcp.ElicitResult); ok {
			return said, nil
		}
		return nil, &inputNeeded{form}
	}
	err = whileWaiting(ctx, p.req, func(ctx context.Context) (err error) {
		said, err = p.req.Session.Elicit(ctx, form)
		return err
	})
	return said, err
}

// heartbeat is how often a client is told that a call goes on. Clients give up on calls that are
// silent for a minute.
const heartbeat = 15 * time.Second

// whileWaiting calls f, and meanwhile tells a client that wants to know it that the call goes on.
func whileWaiting(ctx context.Context, req *mcp.CallToolRequest, f func(context.Context) error) error {
	token := req.Params.GetProgressToken()
	if token == nil {
		return f(ctx)
	}
	beats, stop := context.WithCancel(ctx)
	var beating errgroup.Group
	beating.Go(func() error {
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for n := 1.0; ; n++ {
			select {
			case <-beats.Done():
				return nil
			case <-ticker.C:
				_ = req.Session.NotifyProgress(beats, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: "Waiting."})
			}
		}
	})
	defer func() {
		stop()
		_ = beating.Wait()
	}()
	return f(ctx)
}
