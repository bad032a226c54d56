package channelstest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
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
	{"QuestionCloser: a closed question has no buttons", closedQuestionHasNoButtons},
	{"Drafter: a draft replaces the one before it and is no message", draftIsShown},
	{"Drafter: a message replaces the draft", messageReplacesDraft},
	{"Reactor: a reaction replaces the one before it", reactionIsReplaced},
	{"Reactor: Reacts and React send nothing", reactionIsNoMessage},
	{"FileLimiter: FileLimit returns a size and a phrase", fileLimitIsStated},
	{"FileLimiter: Plan accepts a file of that size", fileLimitIsPlanned},
	{"ConnectionKeeper: Send works after CloseIdleConnections", sendAfterClosing},
	{"Typer: Typing is shown and sends nothing", typingIsShown},
	{"Typer: Typing shows nothing once its context has ended", typingEnds},
	{"Repeater: Send is idempotent per Key", sendIsIdempotent},
	{"ChatLocator: the chat of a topic is no topic", parentIsNoTopic},
	{"Linker: what has an address has one of the web", linksAreAddresses},
	{"ChatChecker: CheckChat accepts only IDs that a chat can have", chatsAreChecked},
	{"Resumer: without a cursor everything is received", resumeFromNothing},
	{"Resumer: Run continues after the cursor", resumeContinues},
	{"CursorKeeper: a stored cursor skips no message", keptCursorLosesNothing},
	{"CursorKeeper: Run continues if a cursor cannot be stored", failedCursorIsStoredLater},
	{"MemoryUser: a message in parts is received whole and once", partsBecomeOne},
	{"MemoryUser: parts are completed after a restart", partsSurviveRestart},
	{"Mounter: the handler answers before, during and after Run", handlerAnswers},
	{"Streamer: CloseStreams ends every stream", closeStreamsEndsAll},
	{"Streamer: a client may connect again", streamsMayReconnect},
	{"Publisher: Watched reports whether an operator is connected", watchedReportsOperators},
	{"Publisher: every operator sees the events in order", eventsArriveInOrder},
	{"Publisher: events are stored nowhere", eventsAreNotStored},
	{"Publisher: Publish does not wait for an operator", publishDoesNotWait},
	{"HealthReporter: Health is nil while messages are received", healthIsNil},
	{"HealthReporter: Health reports an outage and its end", healthReportsOutage},
	{"WordsUser: words follow the language of the message", wordsFollowLanguage},
	{"Menu: SetMenu makes no network call", setMenuIsSilent},
	{"Menu: Run shows the menu", runShowsMenu},
	{"ChatMenu: SetChatMenu replaces the commands of a chat", setChatMenuReplaces},
	{"MenuReader: the source is read only when a menu is shown", menuSourceIsReadLate},
	{"Examiner: Examine finds nothing wrong and changes nothing", examineChangesNothing},
	{"Examiner: a network that is out of reach is Bad", examineFindsOutage},
	{"Examiner: Examine does not disturb a running daemon", examineDisturbsNothing},
	{"Closer: Close works without Run, and twice", closeMayBeRepeated},
	{"Closer: the next start continues where Close ended", closeLosesNothing},
}

// requireFields returns an error if a test has not set all of these fields of Subject.
func (fx fixture) requireFields(names ...string) error {
	for _, name := range names {
		if reflect.ValueOf(fx.Subject).FieldByName(name).IsZero() {
			return fmt.Errorf("the channel implements the interface, but its test does not set Subject.%s", name)
		}
	}
	return nil
}

// optionalInterface returns the subject's channel as an optional interface, or errNotApplicable if
// the channel does not implement it. fields are the fields of Subject that its check needs.
func optionalInterface[T any](fx fixture, fields ...string) (T, error) {
	c, ok := fx.Channel.(T)
	if !ok {
		return c, errNotApplicable
	}
	return c, fx.requireFields(fields...)
}

// pollEvery is how often eventually evaluates its condition.
const pollEvery = 10 * time.Millisecond

// eventually polls a condition that no event announces, and reports whether it became true.
func eventually(holds func() bool) bool {
	for deadline := time.Now().Add(waitLimit); time.Now().Before(deadline); time.Sleep(pollEvery) {
		if holds() {
			return true
		}
	}
	return holds()
}

// returnsInTime reports whether f returns within waitLimit.
func returnsInTime(f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-time.After(waitLimit):
		return false
	}
}

// withChannel returns the fixture with another channel, for example after Restart.
func (fx fixture) withChannel(ch channels.Channel) fixture {
	fx.Channel = ch
	return fx
}

// isPermanent reports whether the gateway would not try again after this error.
func isPermanent(err error) bool {
	var refused *channels.SendError
	return errors.As(err, &refused) && refused.Permanent
}

// startAndReceiveFirst starts the channel and waits until it has received a message.
func (fx fixture) startAndReceiveFirst(ctx context.Context) (*collectingRun, error) {
	c := fx.startCollecting(ctx)
	fx.UserSends("first")
	return c, c.waitForText("first")
}

// collectingRun is a running channel whose received messages are collected. A message that is
// received again under the same ID counts once, as it does in the gateway.
type collectingRun struct {
	channelRun
	received *receivedMessages
	arrived  chan struct{}
}

func (fx fixture) startCollecting(ctx context.Context, known ...channels.Incoming) *collectingRun {
	c := &collectingRun{received: newReceivedMessages(0), arrived: make(chan struct{}, 1)}
	seen := map[string]string{}
	for _, m := range known {
		seen[m.ID] = m.Text
	}
	c.channelRun = fx.startRun(ctx, func(_ context.Context, m channels.Incoming) error {
		if text, ok := seen[m.ID]; !ok || text != m.Text { // Run calls receive for one chat from one goroutine
			seen[m.ID] = m.Text
			c.received.add(m)
		}
		select {
		case c.arrived <- struct{}{}:
		default:
		}
		return nil
	})
	return c
}

// waitForText waits until a message with this text was received.
func (c *collectingRun) waitForText(text string) error {
	timeout := time.After(waitLimit)
	for {
		for _, m := range c.received.messages() {
			if m.Text == text {
				return nil
			}
		}
		select {
		case <-c.arrived:
		case err := <-c.done:
			c.done <- err
			return errors.Join(fmt.Errorf("Run returned before %q was received", text), err)
		case <-timeout:
			return fmt.Errorf("%q was not received, but %q", text, c.received.texts())
		}
	}
}
