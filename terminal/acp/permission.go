package acp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nanobot/terminal"
)

// askGrace is how much longer than it should a question may take.
const askGrace = 10 * time.Second

// toolKinds are the kinds of tool that there are. Any other counts as the last.
var toolKinds = []string{"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}

// permissionOption is an answer that the agent offers.
type permissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// permissionAnswer is what the agent is told.
type permissionAnswer struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId,omitempty"`
	} `json:"outcome"`
}

// decision is an option, nil for none, and who chose it.
type decision struct {
	option *permissionOption
	by     string
	person bool // it was a person
}

// permissions decides about the tool calls of one turn.
type permissions struct {
	turn   terminal.Turn
	policy Settings
	view   *view
}

// answer answers session/request_permission: by a rule of the configuration, or by the person.
// granted is told what a person allowed. When ctx ends, the request is cancelled.
func (p permissions) answer(ctx context.Context, params json.RawMessage, granted func(*tool, *permissionOption)) (any, *rpcError) {
	var ask struct {
		Tool struct {
			toolFields
			Content json.RawMessage `json:"content"`
		} `json:"toolCall"`
		Options []permissionOption `json:"options"`
	}
	if err := json.Unmarshal(params, &ask); err != nil {
		return nil, invalid("%s", err)
	}
	about := p.view.known(ask.Tool.ID.v)
	about.apply(ask.Tool.toolFields, ask.Tool.Content)
	if !slices.Contains(toolKinds, about.kind) {
		about.kind = "other"
	}
	about.named = about.places()
	d := p.decide(ctx, &about, ask.Options)
	var answer permissionAnswer
	answer.Outcome.Outcome = "cancelled"
	chosen := "cancelled"
	if d.option != nil {
		answer.Outcome.Outcome, answer.Outcome.OptionID = "selected", d.option.ID
		chosen = terminal.OneLine(d.option.Name, titleLength)
		// A rule is for one kind of tool, and the agent chooses the kind: what it allows covers
		// nothing else.
		if d.person && strings.HasPrefix(d.option.Kind, "allow_") {
			granted(&about, d.option)
		}
	}
	p.view.decided("permission: %s %q: %s by %s", about.kind, about.name(), chosen, d.by)
	return answer, nil
}

// decided notes something for the operator's record.
func (v *view) decided(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.over {
		v.emit(terminal.Frame{Kind: terminal.Log, Level: "info", Text: fmt.Sprintf(format, args...), Audit: true})
	}
}

// known returns a copy of what is known of a tool call.
func (v *view) known(id string) tool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t := v.board.byID[id]; t != nil {
		copied := *t
		copied.printed = nil
		return copied
	}
	return tool{id: id}
}

// rule returns what the configuration says about a kind of tool.
func rule(policy Settings, kind string) string {
	if r := policy.Rules[kind]; r != "" {
		return r
	}
	if policy.Permissions != "allow-reads" {
		return policy.Permissions
	}
	switch kind {
	case "read", "search", "think": // a fetch tells others something
		return "allow"
	}
	return "ask"
}

func (p permissions) decide(ctx context.Context, about *tool, options []permissionOption) decision {
	switch r := rule(p.policy, about.kind); {
	case ctx.Err() != nil:
		return decision{by: "the end of the turn"}
	case len(options) == 0:
		return decision{by: "want of options"}
	case r == "deny":
		return decision{option: pick(options, "reject"), by: "rule"}
	case r == "allow":
		if o := pick(options, "allow"); o != nil {
			return decision{option: o, by: "rule"}
		}
	}
	return p.askPerson(ctx, about, options)
}

// pick returns the option that allows or rejects, rather once than always; nil if there is none.
func pick(options []permissionOption, what string) *permissionOption {
	for _, kind := range []string{what + "_once", what + "_always"} {
		if i := slices.IndexFunc(options, func(o permissionOption) bool { return o.Kind == kind }); i >= 0 {
			return &options[i]
		}
	}
	return nil
}

// askPerson has the person choose. No answer is a no, which is said: the person may have meant to
// answer.
func (p permissions) askPerson(ctx context.Context, about *tool, options []permissionOption) decision {
	within := time.Duration(p.policy.AskTimeout) * time.Second
	p.view.pause()
	names := optionNames(options)
	// Who asks counts the time from when the question is there.
	limited, cancel := context.WithTimeout(ctx, within+askGrace)
	defer cancel()
	began := time.Now()
	answer, err := p.turn.Ask(limited, terminal.Question{
		// A question is never the same as another: who allows something once has not allowed it
		// again.
		ID: "permission-" + rand.Text(), Text: about.question(p.turn.ExecEnv.Dir), Options: names, Timeout: within, Approval: true,
	})
	no := pick(options, "reject")
	switch {
	case ctx.Err() != nil:
		return decision{by: "the end of the turn"}
	case errors.Is(err, terminal.ErrNobodyToAsk):
		p.view.refuse(&p.view.lonely, "There is nobody here to be asked, so what needs a permission is refused: "+asTyped(about.name()))
		return decision{option: no, by: "rule: nobody is there to be asked"}
	case err != nil && time.Since(began) >= within:
		p.view.refuse(nil, fmt.Sprintf("Nobody answered within %g s, so this was refused: %s", within.Seconds(), asTyped(about.name())))
		return decision{option: no, by: "timeout"}
	case err != nil:
		p.view.refuse(nil, "The question could not be asked, so this was refused: "+asTyped(about.name()))
		return decision{option: no, by: "want of an answer: " + terminal.OneLine(err.Error(), titleLength)}
	}
	i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, strings.TrimSpace(answer.Text)) })
	if i < 0 {
		return decision{option: no, by: fmt.Sprintf("an answer that is no option, %.40q", answer.Text)}
	}
	by := terminal.OneLine(answer.By, titleLength)
	if by == "" {
		by = "the person"
	}
	return decision{option: &options[i], by: "user " + by, person: true}
}

// refuse says that something was taken as a no, if it has not been said once, where that is enough.
func (v *view) refuse(once *bool, text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over || once != nil && *once {
		return
	}
	if once != nil {
		*once = true
	}
	v.settle()
	v.emitText("🔐 " + text)
}

// optionNames returns names that can be told apart, since that is how the answer is found.
func optionNames(options []permissionOption) []string {
	names := make([]string, 0, len(options))
	for _, o := range options {
		name := terminal.OneLine(o.Name, titleLength)
		if name == "" {
			name = terminal.OneLine(strings.ReplaceAll(o.Kind, "_", " ")+" "+o.ID, titleLength)
		}
		base := name
		taken := func(other string) bool { return strings.EqualFold(other, name) }
		for n := 2; slices.ContainsFunc(names, taken); n++ {
			name = fmt.Sprintf("%s (%d)", base, n)
		}
		names = append(names, name)
	}
	return names
}
