package checkagent

import (
	"slices"

	"nanobot/terminal"
)

// verdict is the result of a case.
type verdict string

const (
	untried verdict = "" // nothing that the case is about has happened
	good    verdict = "ok"
	advice  verdict = "advice" // it works, and people would see something better
	failed  verdict = "failed"
)

// finding is a verdict with its explanation.
type finding struct {
	verdict verdict
	detail  string
}

// Names of protocols, for the cases that are about one of them.
var (
	ofLines  = []string{"plain", "rich"}
	ofFrames = []string{"rich"}
	ofPlain  = []string{"plain"}
)

// runsLines reports whether the agents of a protocol are started for each message and print lines.
func runsLines(protocol string) bool { return slices.Contains(ofLines, protocol) }

// conformance is one case. IDs keep their meaning, because scripts and reports have them.
type conformance struct {
	id        string
	protocols []string // nil: all
	rule      string   // the section of the manual
	fix       string
	assess    func(r *results) finding
}

// The sections of the manual.
const (
	manual       = "docs/protocol.md"
	ruleEnvelope = manual + "#input-the-envelope"
	ruleFrames   = manual + "#output-in-rich-frames"
	rulePlain    = manual + "#output-in-plain"
	ruleFiles    = manual + "#files"
	ruleAsk      = manual + "#questions-and-later-messages"
	ruleCommand  = manual + "#the-users-text-in-the-command"
	ruleSees     = manual + "#what-the-user-sees"
	ruleWarm     = manual + "#a-process-that-waits-for-its-message"
	ruleButtons  = manual + "#buttons"
	ruleUsage    = manual + "#usage"
	ruleWhich    = manual + "#which-protocol-fits-my-program"
)

// cases are all cases, in the order of the report.
var cases = []conformance{
	{"answers", nil, ruleWhich, "print the answer on stdout and exit with 0; try nanobot run", (*results).assessAnswer},
	{"ends", nil, ruleSees, "exit when the answer is printed", (*results).assessEnd},
	{
		"reads-one-line", ofLines, ruleEnvelope, "read one line (sys.stdin.readline()), not until the end of the input",
		(*results).assessOneLine,
	},
	{"reads-input", ofFrames, ruleEnvelope, "read the line of JSON from stdin", (*results).assessRead},
	{
		"flushes", ofFrames, ruleFrames, "flush after each frame: print(…, flush=True), fflush, stdbuf -oL",
		(*results).assessFlush,
	},
	{
		"output-before-input", ofFrames, ruleWarm, "print nothing before the envelope is read, for terminal.warm",
		(*results).assessEarlyOutput,
	},
	{"empty-text", nil, ruleEnvelope, "accept an empty text", survival("empty")},
	{"blank-text", ofLines, ruleEnvelope, "accept a text of blanks", survival("blank")},
	{
		"huge-text", nil, ruleEnvelope, "read lines of any length: bufio.Scanner needs a Buffer",
		survival("huge"),
	},
	{"emoji", nil, ruleEnvelope, "read and print UTF-8 in every locale", textIntact("emoji", "🙂", "👩‍👩‍👧", "漢字")},
	{"right-to-left", nil, ruleEnvelope, "read and print UTF-8 in every locale", textIntact("right", "שלום", "مرحبا")},
	{
		"lone-surrogate", ofLines, ruleFrames, "cut texts between characters, not in the middle of a UTF-16 pair or of UTF-8",
		(*results).assessCharacters,
	},
	{
		"quotes-and-options", nil, ruleCommand, "never pass the text to a shell or eval, and put it after --",
		(*results).assessHostile,
	},
	{"ten-files", nil, ruleEnvelope, "accept many files, with blanks and umlauts in names", survival("files")},
	{"missing-file", nil, ruleFiles, "print an error frame if a file cannot be read", survival("missing")},
	{"all-fields", ofLines, ruleEnvelope, "ignore the fields that you do not need", survival("fields")},
	{"unknown-field", ofLines, ruleEnvelope, "ignore unknown fields: later versions have more", survival("new-field")},
	{"no-user", ofLines, ruleEnvelope, "do not expect user or message_id: a schedule has none", survival("no-user")},
	{
		"stdin-closed-early", ofLines, ruleWarm, "exit if the input is empty: the daemon was killed",
		(*results).assessClosedInput,
	},
	{"sigterm", ofLines, ruleSees, "exit on SIGTERM within 3 s, also while it waits for input", stops("stop-waiting")},
	{"sigterm-working", ofLines, ruleSees, "exit on SIGTERM within 3 s, also while it works", stops("stop-working")},
	{"child-left", ofLines, ruleSees, "wait for the processes that you start, or end them", (*results).assessChildren},
	{
		"exit-code-without-error", ofLines, ruleFrames, "print an error frame that says what is wrong, or exit with 0",
		(*results).assessExitCode,
	},
	{"error-frame", ofFrames, ruleFrames, "give the error a text for people, and a code", (*results).assessErrorFrames},
	{
		"stderr-noise", ofLines, ruleSees, `print log frames instead, or set terminal.stderr to "onError"`,
		(*results).assessStderr,
	},
	{"two-at-once", nil, ruleEnvelope, "keep data of chats in user_data_dir, and lock the rest", (*results).assessPair},
	{"second-message", nil, ruleEnvelope, "accept what an earlier turn has left in user_data_dir", survival("again")},
	{"second-attempt", nil, ruleEnvelope, "answer again if attempt is 2: the first was lost", (*results).assessAttempt},
	{"own-folder", ofLines, ruleEnvelope, "write to user_data_dir: chats share the workspace", (*results).assessFolder},
	{"unknown-frame", ofFrames, ruleFrames, "use the types of the manual", without(terminal.UnknownFrame)},
	{
		"almost-right-frame", ofFrames, ruleFrames, "print one object a line, with the keys of the manual",
		without(terminal.AlmostRightFrame),
	},
	{"usage-frame", ofFrames, ruleUsage, "print whole numbers of tokens, and dollars", without(terminal.WrongUsage)},
	{"buttons", ofFrames, ruleButtons, "at most 25 different buttons of 80 characters", without(terminal.WrongButtons)},
	{"long-line", ofLines, ruleSees, "print shorter lines: send a file by its path", (*results).assessLongLine},
	{"frames-in-plain", ofPlain, ruleWhich, `set terminal.protocol to "rich"`, without(terminal.FramesInPlain)},
	{"control-characters", ofLines, ruleSees, "print no colours if stdout is no terminal", (*results).assessControls},
	{"sends-files", ofLines, ruleFiles, "send files that exist, from terminal.mediaRoots", (*results).assessSentFiles},
	{"ask-ignored", ofFrames, ruleAsk, "set terminal.interactive, or use buttons", without(terminal.AskIgnored)},
	{"ask", ofFrames, ruleAsk, "flush the question, read one line, and go on", (*results).assessAsk},
	{"ask-unanswered", ofFrames, ruleAsk, `accept an answer with "error":"timeout"`, (*results).assessUnanswered},
	{"inject", ofFrames, ruleAsk, "read lines during the work, and accept the type inject", (*results).assessInject},
}
