package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// askTimeout is how long a question waits for an answer. The turn's own timeout is usually shorter.
const askTimeout = time.Hour

// errNoAnswer says that nobody answered in time.
var errNoAnswer = errors.New("timeout")

// ask puts an agent's question to the chat and waits for the answer. A turn that runs again after a crash finds the question it had
// asked, and the answer if one was given meanwhile.
func (t *turn) ask(ctx context.Context, q terminal.Question) (a terminal.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	id := questionID(t.item.ID, q)
	answered := t.g.answers.expect(id)
	defer t.g.answers.forget(id)
	earlier, asked, err := t.g.o.Store.Question(ctx, id)
	switch {
	case err != nil:
		return terminal.Answer{}, fmt.Errorf("look up question: %w", err)
	case asked && earlier.Answer != nil:
		return terminal.Answer{Text: *earlier.Answer}, nil
	case !asked:
		if err := t.putQuestion(ctx, id, q); err != nil {
			return terminal.Answer{}, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, errNoAnswer)
	defer cancel()
	select {
	case text := <-answered:
		return terminal.Answer{Text: text}, nil
	case <-ctx.Done():
		return terminal.Answer{}, context.Cause(ctx)
	}
}

// questionID is the same for the same question of the same item, and short enough for a button.
func questionID(item int64, q terminal.Question) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s", item, q.ID, q.Text))
	return hex.EncodeToString(sum[:8])
}

// putQuestion shows a question as buttons where the channel has them and as a numbered list for all.
func (t *turn) putQuestion(ctx context.Context, id string, q terminal.Question) error {
	lines, buttons := []string{q.Text}, []channels.Button(nil)
	for i, option := range q.Options {
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, option))
		buttons = append(buttons, channels.Button{Label: option, Data: fmt.Sprintf("answer:%s:%d", id, i+1)})
	}
	parts, err := t.ch.Plan(channels.Message{Chat: t.item.In.Chat, Kind: channels.Answer, Text: strings.Join(lines, "\n"), ReplyTo: t.item.In.ID, Buttons: buttons})
	if err != nil {
		return fmt.Errorf("plan question: %w", err)
	}
	question := store.Question{ID: id, Item: t.item.ID, Chat: t.item.In.Chat, Text: q.Text, Options: q.Options, Expires: time.Now().Add(askTimeout)}
	if err := t.g.o.Store.Ask(ctx, question, store.Letter{Item: t.item.ID, Parts: parts}); err != nil {
		return fmt.Errorf("store question: %w", err)
	}
	t.g.senders.serve(t.item.In.Chat, nil)
	return nil
}

// answer takes a message as the answer to the question that is open in its chat, if there is one: a press on its button, the number or
// the words of an option, or any text when there are no options. It reports whether the message was one.
func (g *Gateway) answer(ctx context.Context, in channels.Incoming) (bool, error) {
	q, ok, err := g.question(ctx, in)
	if err != nil || !ok {
		return false, err
	}
	text, ok := choose(q, in)
	if !ok {
		return false, nil
	}
	reply := &store.Reply{Question: q.ID, Text: text, By: in.User.ID}
	// When the question was closed meanwhile, text is a message like others. A button is only a button.
	_, verdict, err := g.accept(ctx, store.Arrival{In: in, Settle: in.Press != "", Reply: reply})
	if err != nil || verdict == store.Queued || verdict == store.Claimed {
		return true, err
	}
	// Somebody else may have been first.
	if q, _, err = g.o.Store.Question(ctx, q.ID); err != nil {
		return true, fmt.Errorf("read answer: %w", err)
	}
	if q.Answer != nil {
		g.answers.tell(q.ID, *q.Answer)
	}
	return true, nil
}

func (g *Gateway) question(ctx context.Context, in channels.Incoming) (store.Question, bool, error) {
	if data, ok := strings.CutPrefix(in.Press, "answer:"); ok {
		id, _, _ := strings.Cut(data, ":")
		q, ok, err := g.o.Store.Question(ctx, id)
		return q, ok && q.Answer == nil && q.Chat == in.Chat, err
	}
	if g.running(in.Chat) == nil || in.Press != "" {
		return store.Question{}, false, nil
	}
	return g.o.Store.OpenQuestion(ctx, in.Chat, time.Now())
}

// choose finds the option that a message means.
func choose(q store.Question, in channels.Incoming) (string, bool) {
	said := strings.TrimSpace(in.Text)
	if _, number, ok := strings.Cut(strings.TrimPrefix(in.Press, "answer:"), ":"); ok {
		said = number
	}
	if len(q.Options) == 0 {
		return in.Text, said != ""
	}
	if n, err := strconv.Atoi(said); err == nil && n >= 1 && n <= len(q.Options) {
		return q.Options[n-1], true
	}
	for _, option := range q.Options {
		if strings.EqualFold(option, said) {
			return option, true
		}
	}
	return "", false
}
