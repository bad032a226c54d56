package acp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"nanobot/terminal"
)

// maxAlbum is how many files are sent in one message.
const maxAlbum = 10

// pending are files that wait to be sent.
type pending struct {
	dir   string // of those that we wrote; "" if there are none
	paths []string
}

// write puts a file into a folder of its own: not the chat's, where the agent may have put links.
func (p *pending) write(name string, data []byte) error {
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

// remove forgets all files, and takes away those that we wrote.
func (p *pending) remove() {
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
	*p = pending{}
}

// addFile sends a file with those that come close to it.
func (v *view) addFile(name string, data []byte) {
	v.sendText()
	if err := v.files.write(name, data); err != nil {
		v.log("warning", "file of the agent's not written: %s", err)
		v.complain("file", name, errors.New("it could not be written"))
		return
	}
	v.added()
}

func (v *view) addPath(path string) {
	v.sendText()
	v.files.paths = append(v.files.paths, path)
	v.added()
}

func (v *view) added() {
	if len(v.files.paths) >= maxAlbum {
		v.sendFiles()
		return
	}
	v.soon(&v.filesAt, albumWithin)
}

func (v *view) sendFiles() {
	if len(v.files.paths) > 0 {
		v.sendWith("")
	}
}

// sendWith sends the files that wait, with a text. When Emit has returned, they have been copied.
func (v *view) sendWith(text string) {
	v.filesAt = time.Time{}
	v.emit(terminal.Frame{Kind: terminal.Message, Text: text, Media: v.files.paths, ProtocolDir: v.files.dir})
	v.files.remove()
}

// complain tells the person of something that was to be shown and cannot be.
func (v *view) complain(what, name string, err error) {
	switch what {
	case "image":
		what = "picture"
	case "audio":
		what = "sound"
	}
	if name != "" {
		what += " " + terminal.CodeSpan(terminal.OneLine(name, titleLength))
	}
	v.settleText()
	v.emitText(fmt.Sprintf("⚠ The agent sent a %s that cannot be shown: %s.", what, err))
}
