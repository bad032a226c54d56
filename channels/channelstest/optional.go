package channelstest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nanobot/channels"
)

// optionalChecks are the checks of the optional interfaces, in the order of channels/optional.go.
// The check of an interface that a channel does not implement is skipped.
var optionalChecks = []check{
	{"Editor: Edit changes one message", editChangesOne},
	{"Editor: the same text again is no error", editMayChangeNothing},
	{"Editor: a removed message cannot be edited", editOfRemovedIsRefused},
	{"Editor: Remove deletes one message", removeDeletesOne},
	{"Editor: Remove of a removed message is no error", removeMayBeRepeated},
	{"Editor: Remove works after a restart", removeWorksAfterRestart},
	{"Replacer: Replace lasts and may be repeated", replaceMayBeRepeated},
	{"Replacer: a removed message is ErrGone", replaceOfRemovedIsGone},
	{"FileLimiter: FileLimit gives a size and a phrase", fileLimitIsStated},
	{"FileLimiter: Plan accepts a file of that size", fileLimitIsPlanned},
	{"Typer: Typing is shown and sends nothing", typingIsShown},
	{"Typer: Typing shows nothing once its context has ended", typingEnds},
	{"Repeater: Send is idempotent per Key", sendIsIdempotent},
	{"Resumer: without a cursor everything is received", resumeFromNothing},
	{"Resumer: Run continues after the cursor", resumeContinues},
	{"CursorKeeper: a kept cursor passes no message", keptCursorLosesNothing},
	{"CursorKeeper: Run survives a cursor that is not kept", keepMayFail},
	{"MemoryUser: a message in parts is received whole and once", partsBecomeOne},
	{"MemoryUser: parts are completed after a restart", partsSurviveRestart},
	{"Mounter: the handler answers before, during and after Run", handlerAnswers},
	{"Streamer: CloseStreams ends every stream", hangUpEndsStreams},
	{"Streamer: a client may connect again", streamsMayReturn},
	{"Publisher: Watched tells whether an operator is connected", watchedIsTrue},
	{"Publisher: every operator sees the events in order", eventsArriveInOrder},
	{"Publisher: events are stored nowhere", eventsAreNotStored},
	{"Publisher: Publish does not wait for an operator", publishDoesNotWait},
	{"HealthReporter: Health is nil when all is well", healthIsNil},
	{"HealthReporter: Health tells of trouble and of its end", healthTellsTrouble},
	{"Menu: SetMenu makes no network call", setMenuIsSilent},
	{"Menu: Run shows the menu", runShowsMenu},
	{"ChatMenu: SetChatMenu replaces the commands of a chat", setChatMenuReplaces},
	{"Examiner: Examine finds nothing wrong and changes nothing", examineChangesNothing},
	{"Examiner: a network that is out of reach is Bad", examineFindsOutage},
	{"Examiner: Examine does not disturb a running daemon", examineDisturbsNothing},
	{"Closer: Close works without Run, and twice", closeMayBeRepeated},
	{"Closer: the next start goes on where Close ended", closeLosesNothing},
}

// required reports a field of Optional that a test has left out.
func required(given bool, field string) error {
	if given {
		return nil
	}
	return fmt.Errorf("the channel implements the interface, but its test does not set Subject.%s", field)
}

// as returns the subject's channel as an optional interface. The error is errNotApplicable if the
// channel does not implement it.
func as[T any](b bench) (T, error) {
	c, ok := b.Channel.(T)
	if !ok {
		return c, errNotApplicable
	}
	return c, nil
}

// pollEvery is how often eventually looks.
const pollEvery = 10 * time.Millisecond

// eventually waits for a condition that nothing announces, and reports whether it came true.
func eventually(holds func() bool) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(pollEvery) {
		if holds() {
			return true
		}
	}
	return holds()
}

// returns reports whether f returns in time.
func returns(f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-time.After(patience):
		return false
	}
}

// on is the bench with another channel, as Restart returns one.
func (b bench) on(ch channels.Channel) bench {
	b.Channel = ch
	return b
}

// permanent reports whether an error keeps the gateway from trying again.
func permanent(err error) bool {
	var refused *channels.SendError
	return errors.As(err, &refused) && refused.Permanent
}

// receiveFirst runs the channel until it has received one message that a user says now.
func (b bench) receiveFirst(ctx context.Context) (*conversation, error) {
	c := b.converse(ctx)
	b.UserSends("first")
	return c, c.hear("first")
}

// conversation collects what a running channel receives. A message that is received again under its
// old ID counts once, as in the gateway.
type conversation struct {
	intake
	heard *heard
	told  chan struct{}
}

func (b bench) converse(ctx context.Context, known ...channels.Incoming) *conversation {
	c := &conversation{heard: listen(0), told: make(chan struct{}, 1)}
	seen := map[string]string{}
	for _, m := range known {
		seen[m.ID] = m.Text
	}
	c.intake = b.run(ctx, func(_ context.Context, m channels.Incoming) error {
		if text, ok := seen[m.ID]; !ok || text != m.Text { // one goroutine calls receive for one chat
			seen[m.ID] = m.Text
			c.heard.add(m)
		}
		select {
		case c.told <- struct{}{}:
		default:
		}
		return nil
	})
	return c
}

// hear waits until a text was received.
func (c *conversation) hear(text string) error {
	timeout := time.After(patience)
	for {
		for _, m := range c.heard.messages() {
			if m.Text == text {
				return nil
			}
		}
		select {
		case <-c.told:
		case err := <-c.done:
			c.done <- err
			return errors.Join(fmt.Errorf("Run returned before %q was received", text), err)
		case <-timeout:
			return fmt.Errorf("%q was not received, but %q", text, c.heard.texts())
		}
	}
}
