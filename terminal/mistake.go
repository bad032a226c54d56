package terminal

// Mistake is what is wrong with a line of an agent's output. Only the log shows it in a chat.
type Mistake struct {
	Kind MistakeKind
	Line string // its beginning; "": unknown
}

// MistakeKind is a kind of mistake.
type MistakeKind string

// The kinds of mistakes.
const (
	UnknownFrame     MistakeKind = "unknown-frame"      // a type that no frame has
	AlmostRightFrame MistakeKind = "almost-right-frame" // a wrong key, or a frame over several lines
	EmptyMessage     MistakeKind = "empty-message"      // a message without text and files
	WrongUsage       MistakeKind = "usage-frame"        // a usage frame that is ignored
	WrongButtons     MistakeKind = "buttons"            // buttons that cannot be shown
	AskIgnored       MistakeKind = "ask-ignored"        // a question that was not asked
	LongLine         MistakeKind = "long-line"          // a line that was skipped
	FramesInPlain    MistakeKind = "frames-in-plain"    // frames, where the output is plain text
)

// maxMistakenLine is how much of a line a Mistake has, in bytes: more than is shown, so that no
// secret is cut before it is hidden.
const maxMistakenLine = 4 << 10

// NewMistake returns a mistake in a line. It does not refer to the line.
func NewMistake(kind MistakeKind, line []byte) *Mistake {
	return &Mistake{Kind: kind, Line: string(line[:min(len(line), maxMistakenLine)])}
}
