package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"

	"nanobot/channels"
)

// Run polls until ctx ends. It returns an error only if Telegram does not know the token.
func (c *Channel) Run(ctx context.Context, receive channels.Receive) error {
	if ctx.Err() != nil {
		return nil
	}
	defer c.api.http.CloseIdleConnections()
	ctx, cancel := context.WithCancel(ctx)
	in := newIntake(c, receive)
	defer in.side.Wait() //nolint:errcheck // what goes on at the side logs its own errors
	defer cancel()
	err := c.identify(ctx)
	if err == nil {
		in.side.Go(func() error { c.showMenu(ctx); return nil })
		err = in.run(ctx)
	}
	if ctx.Err() != nil {
		return nil // told to end
	}
	return err
}

// identify asks who we are. Without its name a bot cannot tell when it is spoken to.
func (c *Channel) identify(ctx context.Context) error {
	trouble := c.newTrouble("cannot reach Telegram, will retry")
	for {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		err := c.api.call(call, "getMe", struct{}{}, &c.me)
		cancel()
		if err == nil {
			c.log.Info("connected", zap.String("bot", "@"+c.me.Username))
			return nil
		}
		if wrong := wrongToken(err); wrong != nil {
			return wrong
		}
		if !trouble.wait(ctx, err) {
			return ctx.Err()
		}
	}
}

// callTimeout is how long a call may take that moves no file.
const callTimeout = 30 * time.Second

// wrongToken returns what to tell the operator if Telegram does not know the token.
func wrongToken(err error) error {
	var no *refusal
	if errors.As(err, &no) && (no.Code == http.StatusUnauthorized || no.Code == http.StatusNotFound) {
		return fmt.Errorf("the server does not know this bot: check channels.telegram.token and apiBase: %w", no)
	}
	return nil
}

// showMenu tells Telegram our commands. Without them the bot works as well.
func (c *Channel) showMenu(ctx context.Context) {
	type command struct {
		Command     string `json:"command"`
		Description string `json:"description"`
	}
	var menu []command
	for _, m := range c.menu {
		menu = append(menu, command{m.Name, m.Help})
	}
	if len(menu) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := c.api.call(ctx, "setMyCommands", map[string]any{"commands": menu}, nil)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		c.log.Warn("command menu not set", zap.Error(err))
	}
}

// run takes in updates and hands them on, and asks for more only then.
func (in *intake) run(ctx context.Context) error {
	network := in.c.newTrouble("poll failed, will retry")
	disk := in.c.newTrouble("message not received, will retry")
	for ctx.Err() == nil {
		if err := in.deliver(ctx); err != nil {
			if !disk.wait(ctx, err) {
				return nil
			}
			continue
		}
		disk.over()
		if len(in.queue) > 0 {
			in.rest(ctx)
		}
		batch, err := in.poll(ctx)
		if err == nil {
			err = in.take(ctx, batch)
		}
		if err == nil {
			network.over()
			continue
		}
		if wrong := wrongToken(err); wrong != nil {
			return wrong
		}
		if !network.wait(ctx, explain(err)) {
			return nil
		}
	}
	return nil
}

// poll asks for updates. While some wait to be handed on, those are not confirmed and come again at once, so there is
// nothing to wait for.
func (in *intake) poll(ctx context.Context) ([]json.RawMessage, error) {
	wait := in.c.o.Timing.Poll
	if len(in.queue) > 0 {
		wait = 0
	}
	params := map[string]any{
		"offset": in.offset(), "timeout": int(wait / time.Second), "limit": batchSize,
		"allowed_updates": []string{"message", "callback_query"},
	}
	call, cancel := context.WithTimeoutCause(ctx, wait+in.c.o.Timing.Margin, errStalled)
	defer cancel()
	var batch []json.RawMessage
	err := in.c.api.call(call, "getUpdates", params, &batch)
	if err != nil && ctx.Err() == nil && call.Err() != nil {
		in.c.api.http.CloseIdleConnections() // what made this poll hang would make the next one hang
		return nil, errStalled
	}
	return batch, err
}

// batchSize is the most that Telegram hands out at once.
const batchSize = 100

var errStalled = errors.New("getUpdates: no answer in time; connecting anew")

// explain says in plain words what stands in the way of polling.
func explain(err error) error {
	var no *refusal
	if errors.As(err, &no) && no.Code == http.StatusConflict {
		if no.says("webhook") {
			return fmt.Errorf("a webhook is set for this bot, so it cannot be polled; deleteWebhook removes it: %w", err)
		}
		return fmt.Errorf("somebody else polls with this bot's token; a token serves one program only: %w", err)
	}
	return err
}

// trouble waits between tries, longer each time, and logs when the error changes.
type trouble struct {
	log   *zap.Logger
	what  string
	last  string
	pause *backoff.ExponentialBackOff
}

func (c *Channel) newTrouble(what string) *trouble {
	pause := backoff.NewExponentialBackOff()
	pause.MaxInterval = 30 * time.Second
	return &trouble{log: c.log, what: what, pause: pause}
}

// wait reports whether to try again.
func (t *trouble) wait(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	d := t.pause.NextBackOff()
	var no *refusal
	if errors.As(err, &no) {
		d = max(d, no.wait())
	}
	if err.Error() != t.last {
		t.last = err.Error()
		t.log.Warn(t.what, zap.Duration("after", d), zap.Error(err))
	}
	return sleep(ctx, d)
}

func (t *trouble) over() {
	t.last = ""
	t.pause.Reset()
}
