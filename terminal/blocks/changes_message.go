package blocks

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/steps"
)

const (
	// maxDiff limits the diff that is sent, in bytes.
	maxDiff = 4 << 20
	// maxListedFiles limits the files in each list of a message.
	maxListedFiles = 20
)

// endTexts say that the last command was not executed, if the model itself says nothing.
var endTexts = map[steps.State]words.Key{
	steps.Failed: words.AgentStepFailed, steps.Refused: words.AgentRefused,
}

// emitEnd emits the summary of the task on the board, and its final message. A diff that is not
// part of the summary, or has no board to be shown on, is a document of the message.
func (x *turn) emitEnd(message func() terminal.Frame) (terminal.Outcome, error) {
	diff, omitted := x.changes.diff(maxDiff)
	changes, folded := steps.FoldDiff(strings.Join(x.changeLists(), "\n"), diff)
	folded = folded && omitted == 0 && !x.t.BoardHidden() && x.t.HasBoard()
	if err := x.foldBoard(terminal.Fold{Changes: changes, Required: folded && diff != ""}); err != nil {
		return terminal.Outcome{}, err
	}
	return x.endWithMessage(func() (terminal.Frame, error) {
		f, err := message(), error(nil)
		if !folded {
			err = x.attachDiff(&f, diff, omitted)
		}
		return f, err
	})
}

// finalMessage returns the summary of the task and of its changes.
func (x *turn) finalMessage() terminal.Frame {
	text := strings.TrimSpace(x.s.Summary)
	if text == "" {
		text = x.text(cmp.Or(endTexts[x.s.Last], words.BlocksDone))
	}
	if lists := x.changeLists(); lists != nil {
		text += "\n\n" + strings.Join(lists, "\n")
	}
	return terminal.Frame{Text: text}
}

// changeLists returns a line each for the created, the changed and the deleted files.
func (x *turn) changeLists() []string {
	created, changed, deleted := x.changes.summary()
	return listFiles(x.t.Words, fileGroup{words.BlocksCreated, created}, fileGroup{words.BlocksChanged, changed},
		fileGroup{words.BlocksDeleted, deleted})
}

// repeatedMessage is finalMessage for a session whose end was already reported.
func (x *turn) repeatedMessage() terminal.Frame {
	f := x.finalMessage()
	f.Text += "\n\n" + x.text(words.BlocksDoneAlready)
	return f
}

// fileGroup is a labelled list of files.
type fileGroup struct {
	label words.Key
	paths []string
}

// listFiles returns a line for each list that is not empty.
func listFiles(w words.Words, lists ...fileGroup) (lines []string) {
	for _, l := range lists {
		if len(l.paths) > 0 {
			lines = append(lines, w.Text(l.label, joinFileNames(w, l.paths)))
		}
	}
	return lines
}

// joinFileNames lists files on one line.
func joinFileNames(w words.Words, paths []string) string {
	var names []string
	for _, path := range paths[:min(len(paths), maxListedFiles)] {
		names = append(names, terminal.CodeSpan(terminal.OneLine(path, 200)))
	}
	if more := len(paths) - maxListedFiles; more > 0 {
		names = append(names, w.Text(words.BlocksMoreFiles, more))
	}
	return strings.Join(names, ", ")
}

// attachDiff attaches the changes of the session as a document.
func (x *turn) attachDiff(f *terminal.Frame, diff string, omitted int) error {
	if omitted > 0 {
		f.Text += "\n\n" + x.text(words.BlocksDiffOmits, omitted)
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
				y.changes.close()
				x.space.temp = temp
			}, y.openChanges()
		}
	}
	return nil, nil, nil
}

// showDiff runs /diff. Who has typed the command waits for the message, which notifies nobody.
func (x *turn) showDiff() (terminal.Frame, error) {
	noChange := terminal.Frame{Text: x.text(words.BlocksNothingChanged), Silent: true}
	x, closeIt, err := x.newestChanges()
	if x == nil || err != nil {
		return noChange, err
	}
	defer closeIt()
	f := terminal.Frame{Text: x.text(words.BlocksChangedBy, terminal.OneLine(x.s.Task, 200)), Silent: true}
	diff, omitted := x.changes.diff(maxDiff)
	if err := x.attachDiff(&f, diff, omitted); err != nil {
		return f, err
	}
	if len(f.Media) == 0 {
		f.Text = x.text(words.BlocksUnchangedBy, terminal.OneLine(x.s.Task, 200))
	}
	return f, nil
}

// undo runs /undo. Its message notifies nobody either.
func (x *turn) undo() (terminal.Frame, error) {
	noChange := terminal.Frame{Text: x.text(words.BlocksNothingChanged), Silent: true}
	x, closeIt, err := x.newestChanges()
	if x == nil || err != nil {
		return noChange, err
	}
	defer closeIt()
	x.fileMu.Lock()
	u := x.changes.undo()
	x.fileMu.Unlock()
	if err := x.save(); err != nil {
		return terminal.Frame{}, err
	}
	lines := listFiles(x.t.Words, fileGroup{words.BlocksRestored, u.restored}, fileGroup{words.BlocksRemoved, u.removed})
	head := words.BlocksUndone
	if lines == nil {
		head = words.BlocksNothingUndone
	}
	lines = slices.Insert(lines, 0, x.text(head, terminal.OneLine(x.s.Task, 200)))
	for _, r := range u.refused[:min(len(u.refused), maxListedFiles)] {
		lines = append(lines, x.text(words.BlocksNotRestored, terminal.CodeSpan(terminal.OneLine(r.path, 200)),
			errorReason(x.t.Words, r.reason)))
	}
	if more := len(u.refused) - maxListedFiles; more > 0 {
		lines = append(lines, x.text(words.BlocksMoreRefused, more))
	}
	lines = append(lines, x.text(words.BlocksCommandsStay))
	return terminal.Frame{Text: strings.Join(lines, "\n"), Silent: true}, nil
}
