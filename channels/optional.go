package channels

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"nanobot/internal/words"
)

// These are all the optional interfaces of a channel. The gateway and the program find them by type
// assertion; channelstest checks each one that a channel implements. Unless a comment says
// otherwise, a method may be called from many goroutines while Run, Plan and Send are running.

// Editor is a channel that can change messages after Send. The gateway uses it during a turn for
// messages that show progress or a draft; a channel without it gets progress as separate messages.
// The gateway calls both methods from background goroutines with a time limit in ctx.
type Editor interface {
	// Edit replaces text and buttons of the message with this ID; it adds no files and no message.
	// Setting the same text again is no error. A message that no longer exists is a *SendError with
	// Permanent set. After another error the gateway calls Edit again, with the newest content,
	// but not before SendError.After. An edit with Details lasts on every Editor: the message then
	// stays in the chat, also after a restart, and Remove may have no effect on it.
	Edit(ctx context.Context, id string, o Outgoing) error
	// Remove deletes the message with this ID and no other. A message that no longer exists is no
	// error. The gateway repeats Remove after SendError.After, and at the next start after a crash.
	Remove(ctx context.Context, chat Chat, id string) error
}

// Replacer is an Editor whose edits last: an edited message can become the final answer. For an
// Editor that is not a Replacer the gateway shows a Draft, and removes it once the answer was sent.
type Replacer interface {
	Editor
	// Replace permanently turns the message with this ID into o and returns the receipt of that
	// message. o has text and no files. The sender of the chat calls it instead of Send and may
	// repeat it, so a repetition must change nothing. If the message no longer exists, the error is
	// ErrGone and a *SendError with Permanent set: the gateway then sends o as a new message.
	Replace(ctx context.Context, id string, o Outgoing) (Receipt, error)
}

// QuestionCloser is a channel whose sent messages cannot be replaced, but whose buttons can be.
type QuestionCloser interface {
	// CloseQuestion permanently shows the outcome of a question, as Markdown, below the message
	// with this ID, instead of its buttons. A question that is closed stays as it is. A message
	// that no longer exists is a *SendError with Permanent set.
	CloseQuestion(ctx context.Context, chat Chat, id, outcome string) error
}

// Drafter is a channel on whose network an answer can be shown while it is written, without a
// message that has to be removed.
type Drafter interface {
	// Drafts reports whether that works in a chat. It makes no network call. The result may become
	// false after an error of Draft.
	Drafts(chat Chat) bool
	// Draft shows the unfinished answer; another draft or a message of the bot replaces it, and it
	// disappears some time after the last call. key is the same for all drafts of one answer. The
	// error is as that of Edit.
	Draft(ctx context.Context, key string, o Outgoing) error
}

// Reactor is a channel that can show the state of a message's turn as a reaction to the message.
type Reactor interface {
	// Reacts reports whether reactions are used in a chat. It makes no network call. The result may
	// become false after an error of React.
	Reacts(chat Chat) bool
	// React replaces the bot's reaction to the message with this ID.
	React(ctx context.Context, chat Chat, id string, r Reaction) error
}

// Reaction is the state of a turn that a reaction shows.
type Reaction string

// The reactions. NoReaction removes the reaction.
const (
	NoReaction Reaction = ""
	Taken      Reaction = "taken"  // the message waits or is worked on
	Finished   Reaction = "done"   // its turn has ended
	Broken     Reaction = "failed" // its turn has failed
)

// ErrBusy says that a call was not made because too many calls wait for the rate limit. Another
// call of the same chat would be refused as well.
var ErrBusy = errors.New("too much waits to be sent")

// ErrGone says that the message no longer exists.
var ErrGone = errors.New("the message is gone")

// FileLimiter is a channel whose network limits the size of a file.
type FileLimiter interface {
	// FileLimit returns the size in bytes of the largest file that a chat accepts, and a phrase
	// for people in a language, a BCP 47 tag: "Telegram accepts files up to 50 MB". The gateway
	// calls it in a turn, before it copies a file. It must not make a network call. Plan accepts
	// every file up to this size.
	FileLimit(chat Chat, language string) (limit int64, phrase string)
}

// ConnectionKeeper is a channel that keeps connections open between requests.
type ConnectionKeeper interface {
	// CloseIdleConnections closes those that no request uses. The gateway calls it when file
	// descriptors are exhausted.
	CloseIdleConnections()
}

// Typer is a channel that can show a typing indicator.
type Typer interface {
	// Typing shows the indicator for a few seconds. The gateway calls it every four seconds during
	// a turn, in a goroutine of that turn, until ctx ends. Typing must not send a message, and must
	// show nothing once ctx has ended. The gateway only logs an error.
	Typing(ctx context.Context, chat Chat) error
}

// Repeater is a channel whose Send is idempotent per Key: sending the same Outgoing again with the
// same Key has no second effect and returns the same receipt.
type Repeater interface {
	// Repeatable reports whether that holds. The gateway asks before it repeats a call whose
	// outcome is unknown. The result must not change while the channel exists.
	Repeatable() bool
}

// ChatLocator is a channel whose chats' IDs say where the chats are. Its settings implement it,
// too.
type ChatLocator interface {
	// LocateChat returns the ID of the chat that a topic belongs to, and that of the topic, both ""
	// for a chat that is no topic, and whether the chat is a group. SendError.Closed is about a
	// chat with all its topics. It makes no network call.
	LocateChat(id string) (parent, topic string, group bool)
}

// Linker is a channel on whose network messages have addresses.
type Linker interface {
	// LinkMessage returns the address of the message with this ID, for the people of its chat, or
	// "" if it has none or its address is not known. group says that several people can write in
	// the chat. It makes no network call.
	LinkMessage(chat Chat, group bool, id string) string
}

// ChatChecker is a channel that knows the form of its chats' IDs. Its settings implement it, too,
// so that chats in the config can be checked.
type ChatChecker interface {
	// CheckChat returns an error for people if no chat can have this ID, and ErrChatDeleted if the
	// chat was deleted for good. It makes no call to the network: a chat with a possible ID need
	// not exist.
	CheckChat(id string) error
}

// ErrChatDeleted says that a chat was deleted for good.
var ErrChatDeleted = errors.New("the chat was deleted")

// Resumer is a channel that continues from a cursor after a restart.
type Resumer interface {
	// Resume sets the position at which Run begins. The gateway calls it before each Run, with the
	// Cursor stored last or "" if there is none. Run then receives every message after the cursor,
	// in order. It may receive earlier ones again, but only under their old IDs.
	Resume(cursor string)
}

// CursorKeeper is a Resumer whose cursor also advances while no message is received.
type CursorKeeper interface {
	// KeepCursor sets the function that stores a cursor without a message. The gateway calls
	// KeepCursor before each Run. Run calls keep, from one goroutine at a time, and never with a
	// cursor that passes a message not yet received. An error from keep is no reason to end Run:
	// the cursor stored before still holds.
	KeepCursor(keep func(ctx context.Context, cursor string) error)
}

// Mounter is a channel that serves HTTP, to its network or to browsers.
type Mounter interface {
	// Mount returns a pattern of http.ServeMux and its handler, or "" if the channel needs none as
	// it is configured. The program calls Mount once, before Run. The handler must answer before,
	// during and after Run; a message that it cannot store it refuses with an error status.
	Mount() (pattern string, h http.Handler)
}

// Streamer is a Mounter with responses that do not end by themselves, such as event streams.
type Streamer interface {
	// CloseStreams ends all open streams; their clients may connect again. The HTTP server calls it
	// from its own goroutine when it begins to stop, because it waits for open requests.
	// CloseStreams must not wait for a client, and is harmless when no stream is open.
	CloseStreams()
}

// Publisher is a channel that shows operators events of the gateway, such as the start of a turn.
type Publisher interface {
	// Watched reports whether an operator is connected. The console asks before it reads from the
	// store what Publish would show.
	Watched() bool
	// Publish sends an event to the operators connected now, in the order of the calls, and to
	// nobody else. Nothing is stored. data is encoded as JSON, perhaps after Publish has returned,
	// so the caller must not change it. Publish must not wait for a client.
	Publish(event string, data any)
}

// HealthReporter is a channel that can report whether it receives messages.
type HealthReporter interface {
	// Health returns why nothing can be received at the moment, or nil. Health checks and /status
	// call it at any time, also before Run, so it must return at once and make no network call. It
	// returns nil again as soon as receiving works. An error turns readiness red and ends nothing.
	Health() error
}

// Command is a slash command in a channel's menu.
type Command struct {
	Name, Help string
	// HelpIn has Help by language, such as "de"; nil: it is not translated.
	HelpIn map[string]string
	// Args says that people may write arguments after the command.
	Args bool
	// Private says that only the person who uses the command sees the answer, where the network can
	// do that. The gateway also sets Notification.Private of the answer.
	Private bool
}

// HelpFor returns the description of the command in a language of HelpIn, else Help.
func (c Command) HelpFor(language string) string {
	if help, ok := c.HelpIn[language]; ok {
		return help
	}
	return c.Help
}

// MenuName returns the name of a command in menus that allow only lower-case letters, digits and
// underscores, such as security_review for security-review. The gateway restores the name when a
// person uses the command.
func MenuName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(name))
}

// WordsUser is a channel that adds words of its own to messages.
type WordsUser interface {
	// SetWords sets the catalogue of the words. The gateway calls it once, before any other method.
	// A channel without a catalogue uses a nil one.
	SetWords(c *words.Catalogue)
}

// Menu is a channel that can show a menu of commands in every chat.
type Menu interface {
	// SetMenu sets the commands of the menu. The gateway calls it before each Run, and when the
	// commands or their descriptions change. It must neither make a network call nor keep the
	// slice: Run sends the menu, and works without one if the network refuses it. Names that the
	// network does not allow are left out.
	SetMenu(commands []Command)
}

// ChatMenu is a Menu to which commands can be added in one chat.
type ChatMenu interface {
	// SetChatMenu replaces the commands that a chat has in addition to those of SetMenu; with no
	// commands only those of SetMenu remain. Names that the network does not allow are left out.
	// The gateway calls it in the background when the agent's commands have changed, and repeats it
	// for some hours after an error that is no *SendError with Permanent set.
	SetChatMenu(ctx context.Context, chat Chat, commands []Command) error
}

// MenuReader is a channel that reads what a person can choose in a chat when it is to be shown.
type MenuReader interface {
	// SetMenuSource sets the function that reads it, which is safe for concurrent use. The gateway
	// calls it once, before any other method. A channel without a source has no menu.
	SetMenuSource(read MenuSource)
}

// MenuSource returns what a person can choose in a chat.
type MenuSource func(ctx context.Context, chat Chat, user User) (Choices, error)

// Choices are what a person can choose in a chat.
type Choices struct {
	// Commands are those of the gateway and of the agent.
	Commands []Command
	// Agent answers the next message. Agents are those that can be chosen; there is no choice among
	// less than two.
	Agent  string
	Agents []string
}

// Examiner is a channel that can diagnose its configuration and its network for `nanobot doctor`.
type Examiner interface {
	// Examine reports findings about a channel on which Run is never called; a daemon with the same
	// settings may be running in another process. It must not send, receive, acknowledge or change
	// anything. An unreachable network is a Finding with status Bad, not a panic or a hang.
	Examine(ctx context.Context, e ExamineOptions) []Finding
}

// Closer is a channel that holds resources beyond Run, such as an open database.
type Closer interface {
	// Close releases them. The program calls it once, when Run and the HTTP server have returned
	// and no Send is running, also if Run was never called. A second Close changes nothing. What
	// was stored must be complete for the next start; an error says that it may not be.
	Close() error
}
