package receiving

import (
	"context"
	"errors"

	"go.uber.org/zap"
)

var errAcceptTimeout = errors.New("not accepted in time")

var errShuttingDown = errors.New("shutting down")

// handleDelivery accepts an update, as a deliverFunc. running is the context of Run.
func (in *acceptor) handleDelivery(running, ctx context.Context, raw []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errAcceptTimeout)
	defer cancel()
	outcome := make(chan error, 1)
	if !in.startTask(func() { outcome <- in.acceptDelivery(running, raw) }) {
		return errShuttingDown
	}
	select {
	case err := <-outcome:
		return err
	case <-running.Done():
		return errShuttingDown
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// acceptDelivery accepts an update from the webhook. Repeated errors are logged once.
func (in *acceptor) acceptDelivery(ctx context.Context, raw []byte) error {
	u, ok := in.decodeUpdate(raw)
	if !ok || !in.prepareUpdate(ctx, u) {
		return nil
	}
	err := in.acceptUpdate(ctx, u, func() string { return "" })
	switch {
	case err == nil:
		in.webhookFailures.resolve(in)
	case ctx.Err() == nil:
		in.webhookFailures.report(in, err, func() {
			in.r.log.Warn("message not received, Telegram will deliver it again", zap.Error(err))
		})
	}
	return err
}
