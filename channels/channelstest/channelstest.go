// Package channelstest is the one suite that every channel passes. It drives a channel through its
// contract alone and looks at what the network behind it saw; it knows nothing of any particular
// network.
package channelstest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"nanobot/channels"
)

// patience is how long a check waits for what must come at once. Only a channel that fails a check
// takes so long.
const patience = 5 * time.Minute

// Subject is a channel under test and what its network can tell. Chat and the channel's settings
// are the same for each subject, as they are after a restart; the network behind it is new and
// strict: what the real one would refuse, it refuses.
type Subject struct {
	Channel channels.Channel
	Chat    channels.Chat
	// Sent returns what the network took for Chat so far, one element a call, in order.
	Sent func() []SentCall
	// UserSends makes a user say something in Chat. It may be called before Run and keeps what is said
	// until Run is there.
	UserSends func(text string)
	// Redelivers is whether a message that could not be received is offered again.
	Redelivers bool
	// ShowsPaths is whether files are shown by their path instead of being carried, as on a terminal of
	// the same machine.
	ShowsPaths bool
	// ForPrograms is whether it writes for programs, which are given texts and names as they are.
	ForPrograms bool
	// Normalize reduces a text to what must arrive whatever the network makes of it. Nil is Solid;
	// Letters is for networks that render Markdown.
	Normalize func(text string) string
	// CloseIdleConnections closes connections that outlive Run by design. It is called before goroutines are
	// counted; nil is fine.
	CloseIdleConnections func()
	// PressButton makes a user press the button with this label under the newest message in Chat, as the
	// network shows it now. It is nil if the network shows no buttons.
	PressButton func(label string) error
	Optional
}

// Optional is what the checks of the optional interfaces need from the network. A field is required
// if the channel implements one of the interfaces that its comment names.
type Optional struct {
	// VisibleTexts returns the texts of the bot's messages that Chat shows now, in order: edited, and
	// without those that were removed. Editor, Replacer.
	VisibleTexts func() []string
	// TypingCount returns how often a typing indicator was shown in Chat. Typer.
	TypingCount func() int
	// Restart returns a channel with the same settings and state on the same network, as after a
	// restart of the daemon. Editor, Resumer, CursorKeeper, Examiner, Closer.
	Restart func() channels.Channel
	// Memory is what the channel remembers, also after a Restart. MemoryUser.
	Memory *Memory
	// UserSendsInParts makes a user say something in Chat that the network delivers in parts. Undivided
	// says instead that the network delivers every message whole. MemoryUser.
	UserSendsInParts func(text string)
	DeliversWhole    bool
	// AdvanceCursor makes the network move on far enough for a new cursor, without a message for the bot.
	// CursorKeeper.
	AdvanceCursor func()
	// BreakReceiving prevents Run from receiving until mend is called. It may let a user say more.
	// HealthReporter.
	BreakReceiving func() (mend func())
	// Menu returns the names of the commands that the network shows in every chat, and ChatMenu
	// those that it shows in addition, or instead, in Chat. Menu, ChatMenu.
	Menu, ChatMenu func() []string
	// OpenStream connects an operator and returns once the connection stands. Streamer, Publisher.
	OpenStream func() OperatorStream
	// Disconnect makes the network unreachable for the rest of the check. Examiner.
	Disconnect func()
	// Secrets are texts that no Finding may contain. Examiner.
	Secrets []string
}

// OperatorStream is the connection of an operator.
type OperatorStream struct {
	// Next waits for the next event of a name. It reports false once the stream has ended.
	Next func(event string) (data map[string]any, open bool)
	// Close disconnects the operator.
	Close func()
}

// SentCall is one call that the network took.
type SentCall struct {
	Text  string
	Files []SentFile
}

// SentFile is a file as the network got it. Content is not looked at where files are Local.
type SentFile struct {
	Name    string
	Content string
}

// Run checks a channel against the whole contract. newSubject is called at least once a check; what
// it starts it ends in t.Cleanup.
func Run(t *testing.T, newSubject func(t *testing.T) Subject) {
	for _, c := range slices.Concat(checks, optionalChecks) {
		t.Run(c.name, func(t *testing.T) {
			err := c.run(t.Context(), newBench(t, newSubject))
			if errors.Is(err, errNotApplicable) {
				t.Skip(err)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// errNotApplicable is what a check returns that asks for more than the network can do.
var errNotApplicable = errors.New("the network cannot do this")

// check is one promise of the contract.
type check struct {
	name string
	run  func(ctx context.Context, b bench) error
}

// bench is what a check works with.
type bench struct {
	Subject
	again   func() Subject // another one, as after a restart
	dir     string         // a folder for files
	longest int            // bytes of the longest text
}

func newBench(t *testing.T, newSubject func(t *testing.T) Subject) bench {
	return bench{
		Subject: newSubject(t),
		again:   func() Subject { return newSubject(t) },
		dir:     t.TempDir(),
		longest: 1 << 20,
	}
}

// checks are in the order of the files they are in: plan, text, screen, honest, media, send,
// receive, run.
var checks = []check{
	{"Plan gives the same answer each time", planIsDeterministic},
	{"Plan makes no network call", planIsSilent},
	{"Plan leaves the message as it was", planDoesNotScribble},
	{"Plan keeps chat and kind", planKeepsChatAndKind},
	{"an empty message makes no call", emptyMakesNoCall},
	{"a plan can be stored and sent after a restart", planSurvivesStorage},

	{"each kind of message arrives", everyKindArrives},
	{"text of any length arrives whole and in order", textArrives},
	{"code arrives whole and in order", codeArrives},
	{"tables arrive whole and in order", tablesArrive},
	{"emoji and accents are never cut", clustersStayWhole},

	{"a screen of any content is one call that fits", screensFit},
	{"the screen of an answer arrives below its whole text", screensFollowText},
	{"a button that stays can be pressed again", buttonsStay},

	{"no text and no name turns the direction of what follows", nothingTurns},
	{"a link that shows another address says where it leads", linksAreHonest},

	{"files of every kind arrive with their names", everyKindOfFileArrives},
	{"many files arrive in order", manyFilesArrive},
	{"text and files of one message all arrive", textArrivesWithFiles},
	{"two files of the same name both arrive", namesakesArrive},
	{"a file that is only content arrives with its name", contentArrives},

	{"a cancelled Send sends nothing and may be repeated", cancelledSendSendsNothing},
	{"each Send has a receipt of its own", receiptsDiffer},
	{"Send may be called from many goroutines", sendIsConcurrent},

	{"Run receives what is said in order", receivesInOrder},
	{"an incoming message says where it is from", incomingIsAddressed},
	{"what could not be received is offered again", failedReceiveIsRepeated},

	{"Run returns nil when its context ends", runEnds},
	{"Run returns nil when its context ends during a receive", runEndsDuringReceive},
	{"Run returns nil when its context had ended before", runDoesNotStart},
	{"Run leaves no goroutine", runLeavesNothing},
}
