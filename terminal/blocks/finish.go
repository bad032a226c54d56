package blocks

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"nanobot/terminal"
)

const (
	// maxDiff is how many bytes of a diff are sent.
	maxDiff = 4 << 20
	// maxNamed is how many files of a kind a message names.
	maxNamed = 20
)

// finalMessage says that the task is done, and what has changed.
func (x *turn) finalMessage() (terminal.Frame, error) {
	text := strings.TrimSpace(x.s.Summary)
	if text == "" {
		text = "Done."
	}
	f := terminal.Frame{Text: text}
	created, changed, deleted := x.changes.summary()
	lists := listFiles(namedFiles{"Created", created}, namedFiles{"Changed", changed}, namedFiles{"Deleted", deleted})
	if lists == nil {
		return f, nil
	}
	f.Text += "\n\n" + strings.Join(lists, "\n")
	return f, x.attachDiff(&f)
}

// repeatedMessage is finalMessage for a session of which the chat was told before.
func (x *turn) repeatedMessage() (terminal.Frame, error) {
	f, err := x.finalMessage()
	f.Text += "\n\nThis task is done. Send it as a new message to have it done again."
	return f, err
}

// namedFiles are files and what has become of them.
type namedFiles struct {
	word  string
	paths []string
}

// listFiles returns a line for each list that is not empty.
func listFiles(lists ...namedFiles) (lines []string) {
	for _, l := range lists {
		if len(l.paths) > 0 {
			lines = append(lines, l.word+": "+nameFiles(l.paths))
		}
	}
	return lines
}

// nameFiles lists files.
func nameFiles(paths []string) string {
	var names []string
	for _, path := range paths[:min(len(paths), maxNamed)] {
		names = append(names, terminal.CodeSpan(terminal.OneLine(path, 200)))
	}
	if more := len(paths) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// attachDiff sends what the session has changed as a document.
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

// newestChanges returns a turn on the newest session that has changed something, which is this one
// if it has, or nil if there is none. close frees it.
func (x *turn) newestChanges() (changed *turn, closeIt func(), err error) {
	if x.s != nil && slices.ContainsFunc(x.changes.list, change.matters) {
		return x, func() {}, nil
	}
	all, err := x.files.loadSessions()
	if err != nil {
		return nil, nil, err
	}
	for _, s := range all {
		if s.worksIn(x.space.dir) && slices.ContainsFunc(s.Changes, change.matters) {
			y, temp := &turn{t: x.t, set: x.set, files: x.files, space: x.space, writing: x.writing, s: s}, x.space.temp
			return y, func() {
				y.closeChanges()
				x.space.temp = temp
			}, y.openChanges()
		}
	}
	return nil, nil, nil
}

// nothingChanged answers /diff and /undo in a chat without changes.
const nothingChanged = "No task has changed a file here."

// showDiff carries out /diff.
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

// undo carries out /undo.
func (x *turn) undo() (terminal.Frame, error) {
	x, closeIt, err := x.newestChanges()
	if x == nil || err != nil {
		return terminal.Frame{Text: nothingChanged}, err
	}
	defer closeIt()
	x.writing.Lock()
	u := x.changes.undo()
	x.writing.Unlock()
	if err := x.save(); err != nil {
		return terminal.Frame{}, err
	}
	lines := listFiles(namedFiles{"Put back", u.restored}, namedFiles{"Removed", u.removed})
	head := "Undone: "
	if lines == nil {
		head = "Nothing was put back of: "
	}
	lines = slices.Insert(lines, 0, head+terminal.OneLine(x.s.Task, 200))
	for _, r := range u.refused[:min(len(u.refused), maxNamed)] {
		lines = append(lines, "⚠ Not put back: "+terminal.CodeSpan(terminal.OneLine(r.path, 200))+": "+r.reason)
	}
	if more := len(u.refused) - maxNamed; more > 0 {
		lines = append(lines, fmt.Sprintf("⚠ and %d more", more))
	}
	lines = append(lines, "Commands that were run (RUN_COMMAND) are not undone.")
	return terminal.Frame{Text: strings.Join(lines, "\n")}, nil
}
