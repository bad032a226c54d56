package intake

import (
	"os"
	"path/filepath"
	"strconv"

	"nanobot/channels"
	"nanobot/terminal"
)

// tempFiles are files that exist until the outbox has copied them.
type tempFiles struct {
	dir   string
	files []channels.File
}

// writeFiles writes the files of a reply to disk and opens them. The caller must call remove, also
// after an error.
func writeFiles(files []terminal.ControlFile) (t tempFiles, err error) {
	if len(files) == 0 {
		return t, nil
	}
	if t.dir, err = os.MkdirTemp("", "nanobot-reply-"); err != nil {
		return t, err
	}
	dir, err := filepath.EvalSymlinks(t.dir) // the outbox does not follow symbolic links
	if err != nil {
		return t, err
	}
	for i, f := range files {
		if len(f.Content) == 0 {
			continue // networks refuse empty files
		}
		folder := filepath.Join(dir, strconv.Itoa(i)) // two files may have the same name
		path := filepath.Join(folder, filepath.Base(f.Name))
		if err = os.Mkdir(folder, 0o700); err == nil {
			err = os.WriteFile(path, f.Content, 0o600)
		}
		var open *os.File
		if err == nil {
			open, err = os.Open(path)
		}
		if err != nil {
			return t, err
		}
		t.files = append(t.files, channels.File{
			Path: path, Name: filepath.Base(f.Name), Kind: channels.KindOf(f.Name), Size: int64(len(f.Content)), Open: open,
		})
	}
	return t, nil
}

func (t tempFiles) remove() error {
	for _, f := range t.files {
		_ = f.Open.Close() // the outbox may have closed it
	}
	if t.dir == "" {
		return nil
	}
	return os.RemoveAll(t.dir)
}
