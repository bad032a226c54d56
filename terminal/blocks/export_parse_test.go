package blocks

// Parser reads a response for `nanobot parse`.
var Parser = parser

// Hints returns the hints about a response.
func Hints(response string) []string {
	_, hints := parseWithHints(response)
	return hints
}

// ReplaceLines replaces lines of a content.
var ReplaceLines = replaceLines

// ProtocolText is the description of the commands in every outbox.
const ProtocolText = protocolText

// Outbox is the message to the model in one round.
type Outbox struct {
	Session  string
	Sequence int
	Task     string
	Files    []WorkspaceFile
	More     int
	Results  []Result
	Hints    []string
	Earlier  []string
	Contents []RequestedFile
}

// WorkspaceFile is one file of the listing.
type WorkspaceFile struct {
	Path string
	Size int64
}

// RequestedFile is a file that READ_FILE has requested.
type RequestedFile struct {
	Path          string
	Found, Binary bool
	Size          int64
	Content       string
	Cut           bool
}

// Text returns the outbox as the model reads it.
func (o Outbox) Text() string {
	inner := outbox{session: o.Session, sequence: o.Sequence, task: o.Task, files: fileListing{more: o.More}, results: o.Results, hints: o.Hints, earlier: o.Earlier}
	for _, f := range o.Files {
		inner.files.shown = append(inner.files.shown, workspaceFile{f.Path, f.Size})
	}
	for _, f := range o.Contents {
		inner.contents = append(inner.contents, requestedFile{f.Path, f.Found, f.Binary, f.Size, f.Content, f.Cut})
	}
	return inner.text()
}
