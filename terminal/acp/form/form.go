// Package form asks people for what an agent wants to know: the fields of a form, a link that they
// are to open, and a choice among options.
package form

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/acp/view"
)

// maxElicitMessage limits the characters of the agent's message in a question, and maxRepeated
// those in the later questions of a form.
const maxElicitMessage, maxRepeated = 2500, 300

// elicitation is the agent's request elicitation/create: a form or a link for the person.
type elicitation struct {
	Mode    string     `json:"mode"`
	Message string     `json:"message"`
	Form    formSchema `json:"requestedSchema"`
	ID      string     `json:"elicitationId"`
	URL     string     `json:"url"`
}

// response is the response to elicitation/create.
type response struct {
	Action  string          `json:"action"`
	Content *map[string]any `json:"content,omitempty"` // of an accepted form
}

// Cancelled is the response if nobody can be asked.
var Cancelled = response{Action: actionCancel}

// The actions of a response.
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// errNotAskable says that a form has a field of a type that cannot be asked for.
var errNotAskable = errors.New("a required field has an unknown type")

// asker asks the person of a turn for the values of a form.
type asker struct {
	view   *view.View
	within time.Duration // that the person has for an answer
}

// Answer handles elicitation/create with a person who has some time for each answer.
func (l *Links) Answer(ctx context.Context, params json.RawMessage, v *view.View, within time.Duration) (
	any, *rpc.Error,
) {
	var r elicitation
	if err := json.Unmarshal(params, &r); err != nil {
		return nil, rpc.InvalidParams("%s", err)
	}
	e := asker{view: v, within: within}
	var answer response
	var err error
	switch r.Mode {
	case "form":
		answer, err = e.askForm(ctx, r)
	case "url":
		link, rerr := parseLink(r.URL)
		if rerr != nil {
			return nil, rerr
		}
		ctx, forget := l.add(ctx, r.ID)
		defer forget()
		answer, err = e.askLink(ctx, r, link)
	default:
		return nil, rpc.InvalidParams("unknown mode %q", r.Mode)
	}
	if err != nil {
		e.reportUnanswered(ctx, err)
		answer = Cancelled
	}
	v.Log("info", "elicitation: %s", answer.Action)
	return answer, nil
}

func (e asker) text(k words.Key, values ...any) string {
	return e.view.Words().Text(k, values...)
}

// ask asks one question. Everybody who may talk to the bot may answer.
func (e asker) ask(ctx context.Context, q terminal.Question) (string, error) {
	q.ID, q.Timeout = "elicitation", e.within
	answer, err := e.view.Ask(ctx, q)
	return strings.TrimSpace(answer.Text), err
}

// reportUnanswered tells the person why a request of the agent was cancelled, unless they know.
func (e asker) reportUnanswered(ctx context.Context, why error) {
	var dismissed *terminal.DismissedError
	switch {
	case ctx.Err() != nil || errors.As(why, &dismissed):
	case errors.Is(why, terminal.ErrNobodyToAsk):
		e.view.ReportNobody(e.text(words.ElicitNobody))
	case errors.Is(why, view.ErrNoAnswer):
		e.view.ReportRefusal(e.text(words.ElicitTimeout, e.within.Seconds()))
	case errors.Is(why, errNotAskable):
		e.view.ReportRefusal(e.text(words.ElicitUnknown))
	default:
		e.view.Log("warning", "elicitation: %s", why)
		e.view.ReportRefusal(e.text(words.ElicitFailed))
	}
}

// maxLink limits the length of an address, which is shown as a whole.
const maxLink = 2048

// parseLink checks the address of a link that the person is to open. It must not contain characters
// that end a link in Markdown or hide a part of it.
func parseLink(address string) (string, *rpc.Error) {
	u, err := url.Parse(address)
	hides := func(r rune) bool { return r == '<' || r == '>' || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if err != nil || len(address) > maxLink || strings.ContainsFunc(address, hides) || u.Scheme != "https" &&
		u.Scheme != "http" || u.Host == "" {
		return "", rpc.InvalidParams("url %q is no web address", terminal.Shorten(address, 200))
	}
	return u.String(), nil
}

// askLink shows a link until the person has opened it. The whole address is shown, so that people
// see where it leads.
func (e asker) askLink(ctx context.Context, request elicitation, link string) (response, error) {
	message := terminal.Shorten(strings.TrimSpace(terminal.Clean(request.Message)), maxElicitMessage)
	opened, err := e.askEither(ctx, strings.TrimSpace(message+"\n\n<"+link+">"), words.ButtonDone, words.ButtonCancel)
	switch {
	case errors.Is(context.Cause(ctx), terminal.ErrDoneElsewhere), err == nil && opened:
		return response{Action: actionAccept}, nil
	}
	return Cancelled, err
}

// askEither asks a question with two options, and reports whether the first was chosen.
func (e asker) askEither(ctx context.Context, text string, first, second words.Key) (bool, error) {
	options := []string{e.text(first), e.text(second)}
	answer, err := e.ask(ctx, terminal.Question{Text: text, Options: options, OtherText: terminal.OtherTextDismisses})
	return answer == options[0], err
}

// Links are the links that people are asked to open. The zero value has none.
type Links struct {
	mu   sync.Mutex
	open map[string]context.CancelCauseFunc // by the ID of the elicitation
}

// add returns a context that ends with ErrDoneElsewhere when the agent reports that the person has
// finished what a link is for. forget must be called when the link is no longer shown.
func (l *Links) add(ctx context.Context, id string) (_ context.Context, forget func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[string]context.CancelCauseFunc{}
	}
	l.open[id] = cancel
	return ctx, func() {
		cancel(nil)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, id)
	}
}

// Complete handles the notification elicitation/complete.
func (l *Links) Complete(params json.RawMessage) {
	var p struct {
		ID string `json:"elicitationId"`
	}
	_ = json.Unmarshal(params, &p) // without an ID it completes none
	l.mu.Lock()
	defer l.mu.Unlock()
	if cancel := l.open[p.ID]; cancel != nil {
		cancel(terminal.ErrDoneElsewhere)
	}
}
