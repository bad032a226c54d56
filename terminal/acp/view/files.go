package view

import (
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/steps"
)

// maxAlbum limits the files of one message.
const maxAlbum = 10

// pendingFiles are files that wait to be sent as one message.
type pendingFiles struct {
	temp  terminal.TempFiles
	paths []string
}

// write stores a file.
func (p *pendingFiles) write(name string, data []byte) error {
	file, err := p.temp.Add(name, data)
	if err == nil {
		p.paths = append(p.paths, file.Path)
	}
	return err
}

// remove clears the list and deletes the files that the gateway wrote.
func (p *pendingFiles) remove() {
	p.temp.Remove()
	p.paths = nil
}

// addFile queues a file to be sent together with others that follow soon.
func (m *messages) addFile(name string, data []byte) {
	m.sendText()
	if err := m.files.write(name, data); err != nil {
		m.log("warning", "file of the agent's not written: %s", err)
		m.reportUnshowable("file", name, words.NewError(words.DataNotWritten))
		return
	}
	m.scheduleFiles()
}

func (m *messages) addPath(path string) {
	m.sendText()
	m.files.paths = append(m.files.paths, path)
	m.scheduleFiles()
}

func (m *messages) scheduleFiles() {
	if len(m.files.paths) >= maxAlbum {
		m.sendFiles()
		return
	}
	m.due.files.Schedule(albumWindow)
}

// sendFiles sends the queued files. More of the turn follows.
func (m *messages) sendFiles() {
	if len(m.files.paths) > 0 {
		m.answered = true
		m.emitFiles(&m.files, terminal.Frame{Silent: true})
	}
}

// emitFiles sends files with a message. Emit has copied them when it returns.
func (m *messages) emitFiles(files *pendingFiles, f terminal.Frame) {
	m.due.files.Cancel()
	f.Kind, f.Media, f.ProtocolDir, f.GroupDocuments = terminal.Message, files.paths, files.temp.Dir(), true
	m.emit(f)
	files.remove()
}

// reportUnshowable tells the person about content that cannot be shown.
func (m *messages) reportUnshowable(what, name string, err error) {
	text := words.FileUnshown
	switch what {
	case "image":
		text = words.PictureUnshown
	case "audio":
		text = words.SoundUnshown
	}
	reason := m.turn.Words.Reason(err)
	if name != "" {
		reason += " (" + terminal.CodeSpan(terminal.OneLine(name, steps.TitleLength)) + ")"
	}
	m.flush()
	m.emitText("⚠ " + m.turn.Words.Text(text, reason))
}
