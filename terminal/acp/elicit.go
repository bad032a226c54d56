package acp

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"
	"unicode"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/acp/view"
)

// maxElicitMessage limits the characters of the agent's message in a question.
const maxElicitMessage = 2500

// elicitation is the agent's request elicitation/create: a form or a link for the person.
type elicitation struct {
	Mode    string     `json:"mode"`
	Message string     `json:"message"`
	Form    formSchema `json:"requestedSchema"`
	ID      string     `json:"elicitationId"`
	URL     string     `json:"url"`
}

// elicitationAnswer is the response to elicitation/create.
type elicitationAnswer struct {
	Action  string          `json:"action"`
	Content *map[string]any `json:"content,omitempty"` // of an accepted form
}

// elicitMethod is the method of an elicitation.
const elicitMethod = "elicitation/create"

// The actions of a response.
const (
	elicitAccept  = "accept"
	elicitDecline = "decline"
	elicitCancel  = "cancel"
)

// errNotAskable says that a form has a field of a type that cannot be asked for.
var errNotAskable = errors.New("a required field has an unknown type")

// handleElicitation handles elicitation/create. Forms and links are asked one after the other, so
// that it is clear what a text answers. The end of the turn cancels the request.
func (s *session) handleElicitation(ctx context.Context, turn *activeTurn, params json.RawMessage) (any, *rpc.Error) {
	var e elicitation
	if err := json.Unmarshal(params, &e); err != nil {
		return nil, rpc.InvalidParams("%s", err)
	}
	ctx, done, ok := s.bindToTurn(ctx, turn)
	if !ok { // no turn is running, so nobody can be asked
		return elicitationAnswer{Action: elicitCancel}, nil
	}
	defer done()
	select {
	case s.questionSemaphore <- struct{}{}:
		defer func() { <-s.questionSemaphore }()
	case <-ctx.Done():
		return elicitationAnswer{Action: elicitCancel}, nil
	}
	asker := elicitor{view: turn.view, within: time.Duration(s.cfg.AskTimeout) * time.Second}
	var answer elicitationAnswer
	var err error
	switch e.Mode {
	case "form":
		answer, err = asker.askForm(ctx, e)
	case "url":
		link, rerr := parseLink(e.URL)
		if rerr != nil {
			return nil, rerr
		}
		ctx, forget := s.expectCompletion(ctx, e.ID)
		defer forget()
		answer, err = asker.askLink(ctx, e, link)
	default:
		return nil, rpc.InvalidParams("unknown mode %q", e.Mode)
	}
	if err != nil {
		asker.reportUnanswered(ctx, err)
		answer = elicitationAnswer{Action: elicitCancel}
	}
	if answer.Action != elicitAccept {
		turn.view.MarkRejected()
	}
	turn.view.Log("info", "elicitation: %s", answer.Action)
	return answer, nil
}

// elicitor asks the person of a turn for the values of a form.
type elicitor struct {
	view   *view.View
	within time.Duration
}

func (e elicitor) text(k words.Key, values ...any) string {
	return e.view.Words().Text(k, values...)
}

// ask asks one question. Everybody who may talk to the bot may answer.
func (e elicitor) ask(ctx context.Context, q terminal.Question) (string, error) {
	q.ID, q.Timeout = "elicitation", e.within
	answer, err := e.view.Ask(ctx, q)
	return strings.TrimSpace(answer.Text), err
}

// reportUnanswered tells the person why a request of the agent was cancelled, unless they know.
func (e elicitor) reportUnanswered(ctx context.Context, why error) {
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
	if err != nil || len(address) > maxLink || strings.ContainsFunc(address, hides) || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return "", rpc.InvalidParams("url %q is no web address", terminal.Shorten(address, 200))
	}
	return u.String(), nil
}

// askLink shows a link until the person has opened it. The whole address is shown, so that people
// see where it leads.
func (e elicitor) askLink(ctx context.Context, request elicitation, link string) (elicitationAnswer, error) {
	message := terminal.Shorten(strings.TrimSpace(terminal.Clean(request.Message)), maxElicitMessage)
	opened, cancel := e.text(words.ButtonDone), e.text(words.ButtonCancel)
	answer, err := e.ask(ctx, terminal.Question{
		Text: strings.TrimSpace(message + "\n\n<" + link + ">"), Options: []string{opened, cancel}, OtherText: terminal.OtherTextDismisses,
	})
	switch {
	case errors.Is(context.Cause(ctx), terminal.ErrDoneElsewhere):
		return elicitationAnswer{Action: elicitAccept}, nil
	case err != nil:
		return elicitationAnswer{}, err
	case answer == opened:
		return elicitationAnswer{Action: elicitAccept}, nil
	}
	return elicitationAnswer{Action: elicitCancel}, nil
}

// expectCompletion returns a context that ends with ErrDoneElsewhere when the agent reports that
// the person has finished what a link is for. forget must be called when the link is no longer
// shown.
func (s *session) expectCompletion(ctx context.Context, id string) (_ context.Context, forget func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.links == nil {
		s.links = map[string]context.CancelCauseFunc{}
	}
	s.links[id] = cancel
	return ctx, func() {
		cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.links, id)
	}
}

// completeElicitation handles the notification elicitation/complete.
func (s *session) completeElicitation(params json.RawMessage) {
	var p struct {
		ID string `json:"elicitationId"`
	}
	_ = json.Unmarshal(params, &p) // without an ID it completes none
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.links[p.ID]; cancel != nil {
		cancel(terminal.ErrDoneElsewhere)
	}
}
