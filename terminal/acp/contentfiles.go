package acp

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal"
)

// maxAlbum limits the files of one message.
const maxAlbum = 10

// pendingFiles are files that wait to be sent as one message.
type pendingFiles struct {
	dir   string // of files that the gateway wrote; "" if there are none
	paths []string
}

// write stores a file in a temporary folder. The chat's folder is not safe, because the agent may
// have created symbolic links in it.
func (p *pendingFiles) write(name string, data []byte) error {
	if p.dir == "" {
		parent, err := filepath.EvalSymlinks(os.TempDir())
		if err != nil {
			return err
		}
		if p.dir, err = os.MkdirTemp(parent, "nanobot-acp-"); err != nil {
			return err
		}
	}
	path := filepath.Join(p.dir, name)
	if _, err := os.Lstat(path); err == nil {
		ext := filepath.Ext(name)
		path = filepath.Join(p.dir, fmt.Sprintf("%s-%d%s", name[:len(name)-len(ext)], len(p.paths)+1, ext))
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		_ = os.Remove(path)
		return err
	}
	p.paths = append(p.paths, path)
	return nil
}

// remove clears the list and deletes the files that the gateway wrote.
func (p *pendingFiles) remove() {
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
	*p = pendingFiles{}
}

// addFile queues a file to be sent together with others that follow soon.
func (v *view) addFile(name string, data []byte) {
	v.sendText()
	if err := v.files.write(name, data); err != nil {
		v.log("warning", "file of the agent's not written: %s", err)
		v.reportUnshowable("file", name, words.NewError(words.DataNotWritten))
		return
	}
	v.scheduleFiles()
}

func (v *view) addPath(path string) {
	v.sendText()
	v.files.paths = append(v.files.paths, path)
	v.scheduleFiles()
}

func (v *view) scheduleFiles() {
	if len(v.files.paths) >= maxAlbum {
		v.sendFiles()
		return
	}
	v.schedule(&v.filesAt, albumWindow)
}

// sendFiles sends the queued files. More of the turn follows.
func (v *view) sendFiles() {
	if len(v.files.paths) > 0 {
		v.emitFiles(&v.files, terminal.Frame{Silent: true})
	}
}

// emitFiles sends files with a message. Emit has copied them when it returns.
func (v *view) emitFiles(files *pendingFiles, f terminal.Frame) {
	v.filesAt = time.Time{}
	f.Kind, f.Media, f.ProtocolDir, f.GroupDocuments = terminal.Message, files.paths, files.dir, true
	v.emit(f)
	files.remove()
}

// reportUnshowable tells the person about content that cannot be shown.
func (v *view) reportUnshowable(what, name string, err error) {
	text := words.FileUnshown
	switch what {
	case "image":
		text = words.PictureUnshown
	case "audio":
		text = words.SoundUnshown
	}
	reason := v.turn.Words.Reason(err)
	if name != "" {
		reason += " (" + terminal.CodeSpan(terminal.OneLine(name, titleLength)) + ")"
	}
	v.flushMessages()
	v.emitText("⚠ " + v.turn.Words.Text(text, reason))
}
