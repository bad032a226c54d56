package blocks

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"nanobot/terminal"
)

const (
	// maxDiff limits the diff that is sent, in bytes.
	maxDiff = 4 << 20
	// maxListedFiles limits the files in each list of a message.
	maxListedFiles = 20
)

// finalMessage returns the summary of the task and of its changes.
func (x *turn) finalMessage() (terminal.Frame, error) {
	text := strings.TrimSpace(x.s.Summary)
	if text == "" {
		text = "Done."
	}
	f := terminal.Frame{Text: text}
	created, changed, deleted := x.changes.summary()
	lists := listFiles(fileGroup{"Created", created}, fileGroup{"Changed", changed}, fileGroup{"Deleted", deleted})
	if lists == nil {
		return f, nil
	}
	f.Text += "\n\n" + strings.Join(lists, "\n")
	return f, x.attachDiff(&f)
}

// repeatedMessage is finalMessage for a session whose end was already reported.
func (x *turn) repeatedMessage() (terminal.Frame, error) {
	f, err := x.finalMessage()
	f.Text += "\n\nThis task is done. Send it as a new message to have it done again."
	return f, err
}

// fileGroup is a labelled list of files.
type fileGroup struct {
	label string
	paths []string
}

// listFiles returns a line for each list that is not empty.
func listFiles(lists ...fileGroup) (lines []string) {
	for _, l := range lists {
		if len(l.paths) > 0 {
			lines = append(lines, l.label+": "+joinFileNames(l.paths))
		}
	}
	return lines
}

// joinFileNames lists files on one line.
func joinFileNames(paths []string) string {
	var names []string
	for _, path := range paths[:min(len(paths), maxListedFiles)] {
		names = append(names, terminal.CodeSpan(terminal.OneLine(path, 200)))
	}
	if more := len(paths) - maxListedFiles; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// attachDiff attaches the changes of the session as a document.
func (x *turn) attachDiff(f *terminal.Frame) error {
	diff, omitted := x.changes.diff(maxDiff)
	switch {
	case omitted == 1:
		f.Text += "\n\nThe diff leaves out 1 file, because it would be too large."
	case omitted > 1:
		f.Text += fmt.Sprintf("\n\nThe diff leaves out %d files, because it would be too large.", omitted)
	}
	if diff == "" {
		return nil
	}
	name := x.s.ID + ".diff"
	if err := writeFile(x.files.outbox, name, []byte(diff), false); err != nil {
		return err
	}
	f.ProtocolDir = filepath.Join(x.files.path, outboxName)
	f.Media = []string{filepath.Join(f.ProtocolDir, name)}
	return nil
}

// newestChanges returns a turn for the newest session that has changed files, which may be x
// itself, or nil if there is none. The caller calls closeIt.
func (x *turn) newestChanges() (changed *turn, closeIt func(), err error) {
	if x.s != nil && slices.ContainsFunc(x.changes.list, change.mayDiffer) {
		return x, func() {}, nil
	}
	all, err := x.files.loadSessions()
	if err != nil {
		return nil, nil, err
	}
	for _, s := range all {
		if s.worksIn(x.space.dir) && slices.ContainsFunc(s.Changes, change.mayDiffer) {
			y, temp := &turn{t: x.t, settings: x.settings, files: x.files, space: x.space, fileMu: x.fileMu, s: s}, x.space.temp
			return y, func() {
				y.closeChanges()
				x.space.temp = temp
			}, y.openChanges()
		}
	}
	return nil, nil, nil
}

// nothingChanged is the reply to /diff and /undo in a chat without changes.
const nothingChanged = "No task has changed a file here."

// showDiff runs /diff.
func (x *turn) showDiff() (terminal.Frame, error) {
	x, closeIt, err := x.newestChanges()
	if x == nil || err != nil {
		return terminal.Frame{Text: nothingChanged}, err
	}
	defer closeIt()
	f := terminal.Frame{Text: "What this task has changed: " + terminal.OneLine(x.s.Task, 200)}
	if err := x.attachDiff(&f); err != nil {
		return f, err
	}
	if len(f.Media) == 0 {
		f.Text = "The files are as they were before this task: " + terminal.OneLine(x.s.Task, 200)
	}
	return f, nil
}

// undo runs /undo.
func (x *turn) undo() (terminal.Frame, error) {
	x, closeIt, err := x.newestChanges()
	if x == nil || err != nil {
		return terminal.Frame{Text: nothingChanged}, err
	}
	defer closeIt()
	x.fileMu.Lock()
	u := x.changes.undo()
	x.fileMu.Unlock()
	if err := x.save(); err != nil {
		return terminal.Frame{}, err
	}
	lines := listFiles(fileGroup{"Put back", u.restored}, fileGroup{"Removed", u.removed})
	head := "Undone: "
	if lines == nil {
		head = "Nothing was put back of: "
	}
	lines = slices.Insert(lines, 0, head+terminal.OneLine(x.s.Task, 200))
	for _, r := range u.refused[:min(len(u.refused), maxListedFiles)] {
		lines = append(lines, "⚠ Not put back: "+terminal.CodeSpan(terminal.OneLine(r.path, 200))+": "+r.reason)
	}
	if more := len(u.refused) - maxListedFiles; more > 0 {
		lines = append(lines, fmt.Sprintf("⚠ and %d more", more))
	}
	lines = append(lines, "Commands that were run (RUN_COMMAND) are not undone.")
	return terminal.Frame{Text: strings.Join(lines, "\n")}, nil
}
