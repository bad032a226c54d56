package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/hooks"
	"nanobot/internal/words"
)

// HookHandler serves the hooks of the settings. count, if not nil, counts the calls; see
// hooks.Options.
func (g *Gateway) HookHandler(count func(hook, status string)) http.Handler {
	return hooks.New(hooks.Options{
		Hooks:  func() map[string]hooks.Hook { return g.currentSettings().Hooks },
		Accept: g.acceptCall, Count: count, Log: g.o.Log,
	})
}

// acceptCall stores the message of a hook's call.
func (g *Gateway) acceptCall(ctx context.Context, m hooks.Message) (duplicate bool, err error) {
	if !g.inPhase(leading) {
		return false, hooks.ErrStopped
	}
	message := AutomaticMessage{
		Origin: channels.ByHook(m.Hook), Chat: m.Chat, Text: g.hookText(m), Key: m.Key,
		Limit: hooks.MaxWaiting, Agent: m.Agent,
	}
	accepted, err := g.deliver(ctx, message)
	switch {
	case errors.Is(err, ErrQueueFull):
		err = hooks.ErrFull
	case errors.Is(err, ErrEmpty): // only invisible characters: there is nothing to say
		err = nil
	}
	return accepted.Duplicate, err
}

// hookText returns the text of a message, with what people must know about it.
func (g *Gateway) hookText(m hooks.Message) string {
	w, name := g.words.For(""), channels.EscapeMarkdown(m.Hook)
	switch {
	case m.FailedLine != "":
		return w.Text(words.HookTemplateFailed, name, m.FailedLine) + "\n\n" + m.Text
	case strings.TrimSpace(m.Text) == "":
		return w.Text(words.HookCalled, name)
	}
	return m.Text
}
