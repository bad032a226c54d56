// Package channelstest is the conformance suite that every channel must pass. It drives a channel
// through the contract of package channels and inspects the calls that the channel's test network
// has received. It knows nothing of any particular network.
package channelstest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"nanobot/channels"
)

// waitLimit bounds every wait of a check. It is long because only a channel that fails a check
// waits for so long, and because test machines can be slow.
const waitLimit = 5 * time.Minute

// Subject is a channel under test, with access to its test network. Every subject of a test has the
// same chat and the same settings, as after a restart, but a new network. The network must refuse
// every call that the real network would refuse.
type Subject struct {
	Channel channels.Channel
	Chat    channels.Chat
	// Sent returns the calls for Chat that the network has accepted so far, in order.
	Sent func() []SentCall
	// UserSends makes a user send a text in Chat. It may be called before Run, which then receives
	// the message later.
	UserSends func(text string)
	// Redelivers is true if the network offers a message again that Receive has returned an error
	// for.
	Redelivers bool
	// ShowsPaths is true if the channel shows the paths of files instead of sending their content,
	// as a terminal on the same machine does.
	ShowsPaths bool
	// ForPrograms is true if the channel writes for programs, which get texts and names unchanged.
	ForPrograms bool
	// Normalize removes everything from a text that the network may change. The default is
	// StripLayout; networks that render Markdown use StripMarkup.
	Normalize func(text string) string
	// CloseIdleConnections closes the connections that outlive Run by design. It is called before
	// leaked goroutines are counted, and may be nil.
	CloseIdleConnections func()
	// OutlivesRun is the function of goroutines that may begin during Run although Run does not
	// start them; "": there are none.
	OutlivesRun string
	// PressButton makes a user press the button with this label under the newest message in Chat.
	// It is nil if the network shows no buttons.
	PressButton func(label string) error
	// Remote is nil if the channel is on the same machine as its users.
	Remote *Remote
	Optional
}

// Optional has the fields that the checks of the optional interfaces need. A field is required if
// the channel implements an interface that is named at the end of the field's comment.
type Optional struct {
	// VisibleTexts returns the texts of the bot's messages that Chat shows now, in order: as
	// edited, and without removed ones. Editor, Replacer.
	VisibleTexts func() []string
	// DraftText returns the draft that Chat shows now, or "". Drafter.
	DraftText func() string
	// MessageToReact makes a user send a message to a chat in which the bot reacts. reactions
	// returns the bot's reactions to it. Reactor.
	MessageToReact func() (chat channels.Chat, id string, reactions func() []string)
	// TypingCount returns how many typing indicators were shown in Chat. Typer.
	TypingCount func() int
	// Restart returns a new channel with the same settings and state on the same network, as after
	// a restart of the daemon. Editor, Resumer, CursorKeeper, Examiner, Closer.
	Restart func() channels.Channel
	// Memory is the channel's memory, which survives Restart. MemoryUser.
	Memory *Memory
	// UserSendsInParts makes a user send a message in Chat that the network delivers in parts. A
	// network that delivers every message whole sets DeliversWhole instead. MemoryUser.
	UserSendsInParts func(text string)
	DeliversWhole    bool
	// AdvanceCursor makes the network move on to a new cursor without a message for the bot.
	// CursorKeeper.
	AdvanceCursor func()
	// BreakReceiving prevents Run from receiving until repair is called. A user may send messages
	// in between. HealthReporter.
	BreakReceiving func() (repair func())
	// Menu returns the names of the commands that the network shows in every chat. ChatMenu returns
	// those that it shows in Chat, in addition or instead. Menu, ChatMenu.
	Menu, ChatMenu func() []string
	// OpenStream connects an operator and returns once the connection is established. Streamer,
	// Publisher.
	OpenStream func() OperatorStream
	// Disconnect makes the network unreachable until the end of the check. Examiner.
	Disconnect func()
	// Secrets are texts that must not be in any Finding. Examiner.
	Secrets []string
}

// OperatorStream is the connection of an operator to the channel's event stream.
type OperatorStream struct {
	// Next waits for the next event with this name. It reports false once the stream has ended.
	Next func(event string) (data map[string]any, open bool)
	// Close disconnects the operator.
	Close func()
}

// SentCall is one call that the network has accepted.
type SentCall struct {
	Text  string
	Files []SentFile
}

// SentFile is a file as the network received it. Content is ignored if the channel shows paths.
type SentFile struct {
	Name    string
	Content string
}

// Run checks a channel against the whole contract. It calls newSubject at least once per check;
// newSubject registers the end of everything it starts with t.Cleanup.
func Run(t *testing.T, newSubject func(t *testing.T) Subject) {
	for _, c := range slices.Concat(checks, remoteChecks, optionalChecks) {
		t.Run(c.name, func(t *testing.T) {
			err := c.run(t.Context(), newFixture(t, newSubject))
			if errors.Is(err, errNotApplicable) {
				t.Skip(err)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// errNotApplicable is returned by a check that the network cannot support.
var errNotApplicable = errors.New("the network cannot do this")

// check tests one rule of the contract.
type check struct {
	name string
	run  func(ctx context.Context, fx fixture) error
}

// fixture is the environment of one check.
type fixture struct {
	Subject
	newSubject   func() Subject // another subject, as after a restart
	dir          string         // for the files that the check writes
	maxTextBytes int            // size of the longest text
}

func newFixture(t *testing.T, newSubject func(t *testing.T) Subject) fixture {
	return fixture{
		Subject:      newSubject(t),
		newSubject:   func() Subject { return newSubject(t) },
		dir:          t.TempDir(),
		maxTextBytes: 1 << 20,
	}
}

// checks are ordered by file: plan, text, screen, buttons, deception, media, send, receive, run.
var checks = []check{
	{"Plan returns the same plan each time", planIsDeterministic},
	{"Plan makes no network call", planMakesNoCall},
	{"Plan does not change the message", planLeavesMessageUnchanged},
	{"Plan keeps chat and kind", planKeepsChatAndKind},
	{"an empty message makes no call", emptyMakesNoCall},
	{"a plan can be stored and sent after a restart", planSurvivesStorage},

	{"each kind of message arrives", everyKindArrives},
	{"text of any length arrives whole and in order", textArrives},
	{"code arrives whole and in order", codeArrives},
	{"tables arrive whole and in order", tablesArrive},
	{"emoji and accents are never cut", graphemesStayWhole},

	{"a screen of any content is one call that fits", screensFit},
	{"the screen of an answer arrives below its whole text", screensFollowText},
	{"a press is received and removes the buttons", pressRemovesButtons},
	{"a button that stays can be pressed again", stayingButtonsWorkAgain},

	{"no text and no file name reverses the direction of other text", directionIsNotReversed},
	{"a link that shows another address also shows its target", linkTargetsAreShown},

	{"files of every kind arrive with their names", everyKindOfFileArrives},
	{"many files arrive in order", manyFilesArrive},
	{"text and files of one message all arrive", textArrivesWithFiles},
	{"two files of the same name both arrive", sameNamesArrive},
	{"a file that is only content arrives with its name", contentArrives},

	{"a cancelled Send sends nothing and may be repeated", cancelledSendSendsNothing},
	{"each Send has a receipt of its own", receiptsDiffer},
	{"Send may be called from many goroutines", sendIsConcurrent},

	{"Run receives messages in order", receivesInOrder},
	{"an incoming message has a chat, an ID and a user", incomingHasChatIDAndUser},
	{"a message that could not be received is offered again", failedReceiveIsRepeated},

	{"Run returns nil when its context ends", runEnds},
	{"Run returns nil when its context ends during a receive", runEndsDuringReceive},
	{"Run returns nil when its context has ended before", runReturnsIfCancelledBefore},
	{"Run returns nil when its context ends while nothing can be received", runEndsWhileReceiveFails},
	{"Run may be called again", runMayBeRepeated},
	{"Run leaves no goroutine", runLeaksNoGoroutine},
}
