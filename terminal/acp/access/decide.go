package access

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/acp/view"
	"nanobot/terminal/steps"
)

// Kinds are the protocol's kinds of tools. An unknown kind counts as the last.
var Kinds = []string{"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}

// option is one option of a permission request.
type option struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// response is the response to session/request_permission.
type response struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId,omitempty"`
	} `json:"outcome"`
}

// newResponse returns the response with an option; nil: the request was cancelled.
func newResponse(o *option) (a response) {
	a.Outcome.Outcome = "cancelled"
	if o != nil {
		a.Outcome.Outcome, a.Outcome.OptionID = "selected", o.ID
	}
	return a
}

// decision is the chosen option, nil for none, and the person or rule that chose it.
type decision struct {
	option *option
	by     string
	person bool // chosen by a person
}

// decider decides about the tool calls of one turn.
type decider struct {
	policy Policy
	view   *view.View
}

// decideRequest handles session/request_permission by a configured rule or by asking the person.
// granted is called with what a person allowed. The end of ctx cancels the request.
func (p decider) decideRequest(ctx context.Context, params json.RawMessage, granted func(*view.ToolCall, *option)) (
	any, *rpc.Error,
) {
	var ask struct {
		Tool struct {
			view.ToolFields
			Content json.RawMessage `json:"content"`
		} `json:"toolCall"`
		Options []option `json:"options"`
	}
	if err := json.Unmarshal(params, &ask); err != nil {
		return nil, rpc.InvalidParams("%s", err)
	}
	about := p.view.Tool(ask.Tool.ID.V)
	about.ApplyRequest(ask.Tool.ToolFields, ask.Tool.Content)
	if !slices.Contains(Kinds, about.Kind) {
		about.Kind = "other"
	}
	about.Files = coveredFiles(&about)
	// What an option of an unknown kind permits is unknown, so nobody chooses it.
	options := slices.DeleteFunc(ask.Options, func(o option) bool { return kindWords[o.Kind] == "" })
	d := p.decide(ctx, &about, options)
	// A rule allows one kind of tool, and the agent states the kind, so the rule covers no other
	// calls.
	if d.person && d.option != nil && strings.HasPrefix(d.option.Kind, "allow_") {
		granted(&about, d.option)
	}
	what := fmt.Sprintf("%q", about.Name())
	if input := cmp.Or(about.Input.Command, about.Input.Unknown); input != "" {
		what += " " + terminal.AuditQuote(input)
	}
	p.view.Audit("permission: %s: %s: %s", about.Kind, d, what)
	return newResponse(d.option), nil
}

// String describes the decision for the audit log: the kind and the name of the option, and who
// decided.
func (d decision) String() string {
	if d.option == nil {
		return "cancelled by " + d.by
	}
	return fmt.Sprintf("%s %q by %s", d.option.Kind, terminal.OneLine(d.option.Name, steps.TitleLength), d.by)
}

// ruleFor returns the configured rule for a kind of tool: ask, allow or deny.
func ruleFor(policy Policy, kind string) string {
	if r := policy.Rules[kind]; r != "" {
		return r
	}
	if policy.Permissions != "allow-reads" {
		return policy.Permissions
	}
	switch kind {
	case "read", "search", "think": // not fetch, which sends data to others
		return "allow"
	}
	return "ask"
}

func (p decider) decide(ctx context.Context, about *view.ToolCall, options []option) decision {
	switch r := ruleFor(p.policy, about.Kind); {
	case ctx.Err() != nil:
		return decision{by: "the end of the turn"}
	case len(options) == 0:
		return decision{by: "rule: the agent offers no options"}
	case r == "deny":
		return decision{option: optionOfKind(options, "reject"), by: "rule"}
	case r == "allow":
		if o := optionOfKind(options, "allow"); o != nil {
			return decision{option: o, by: "rule"}
		}
	}
	return p.askPerson(ctx, about, options, optionLabels(p.view.Words(), options))
}

// optionOfKind returns the option that allows or rejects, preferably once; nil if there is none.
func optionOfKind(options []option, what string) *option {
	return cmp.Or(findKind(options, what+"_once"), findKind(options, what+"_always"))
}

// findKind returns the first option of a kind; nil if there is none.
func findKind(options []option, kind string) *option {
	if i := slices.IndexFunc(options, func(o option) bool { return o.Kind == kind }); i >= 0 {
		return &options[i]
	}
	return nil
}

// askPerson asks the person, with a label for each option.
func (p decider) askPerson(ctx context.Context, about *view.ToolCall, options []option, labels []string) decision {
	d := p.awaitDecision(ctx, about, options, labels)
	if d.person && (d.option == nil || strings.HasPrefix(d.option.Kind, "reject_")) {
		p.view.MarkRejected()
	}
	return d
}

// awaitDecision asks the person and waits for the answer. No answer counts as a refusal, and the
// person is told, since they may have meant to answer.
func (p decider) awaitDecision(ctx context.Context, about *view.ToolCall, options []option, labels []string) decision {
	within, w := p.policy.AskTimeout, p.view.Words()
	answer, err := p.view.AskAbout(ctx, about, terminal.Question{
		ID: "permission", Options: labels, Timeout: within, Approval: true, OtherText: terminal.OtherTextDismisses,
	})
	no := optionOfKind(options, "reject")
	var dismissed *terminal.DismissedError
	switch {
	case ctx.Err() != nil:
		return decision{by: "the end of the turn"}
	case errors.As(err, &dismissed): // for this call only: the person has not refused it for ever
		return decision{option: findKind(options, "reject_once"), by: describeUser(dismissed.By) +
			", who wrote something else", person: true}
	case errors.Is(err, terminal.ErrNobodyToAsk):
		p.view.ReportNobody(w.Text(words.PermissionNobody, steps.EscapeTitle(about.Name())))
		return decision{option: no, by: "rule: there is nobody to ask"}
	case errors.Is(err, view.ErrNoAnswer):
		p.view.ReportRefusal(w.Text(words.PermissionTimeout, within.Seconds(), steps.EscapeTitle(about.Name())))
		return decision{option: no, by: "timeout"}
	case err != nil:
		p.view.ReportRefusal(w.Text(words.PermissionFailed, steps.EscapeTitle(about.Name())))
		return decision{option: no, by: "rule: the question was not asked: " +
			terminal.OneLine(err.Error(), steps.TitleLength)}
	}
	i := answer.Option - 1
	if i < 0 {
		i = slices.IndexFunc(labels, func(l string) bool { return strings.EqualFold(l, strings.TrimSpace(answer.Text)) })
	}
	if i < 0 || i >= len(options) {
		return decision{option: no, by: fmt.Sprintf("an answer that is not an option, %.40q", answer.Text)}
	}
	return decision{option: &options[i], by: describeUser(answer.By), person: true}
}

// describeUser names the person who decided, for the audit log.
func describeUser(id string) string {
	if id = terminal.OneLine(id, steps.TitleLength); id == "" {
		id = "the person"
	}
	return "user " + id
}
