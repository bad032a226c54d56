package receiving

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"nanobot/channels/downloads"
)

// localError is the error of copying a file of a local Bot API server. It has no path, because the
// path contains the token.
type localError struct{ err error }

func (e *localError) Error() string {
	return "use a file of the local Bot API server: " + e.err.Error()
}

func (d *downloader) localError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &localError{errors.New(d.api.Redact(err.Error()))}
}

// copyLocalFile copies a file of a local Bot API server into a chat's folder. The original path
// contains the token, so it is not passed on, and the file belongs to the server.
func (d *downloader) copyLocalFile(stored string, folder *downloads.Folder, name string) (string, error) {
	info, err := os.Lstat(stored)
	switch {
	case err != nil:
		return "", d.localError(err)
	case !info.Mode().IsRegular():
		return "", d.localError(errors.New("it is not a regular file"))
	}
	if err := d.checkSize(info.Size()); err != nil {
		return "", err
	}
	if path, ok := folder.Find(name, info.Size()); ok && info.Size() > 0 {
		return path, nil
	}
	from, err := os.Open(stored)
	if err != nil {
		return "", d.localError(err)
	}
	defer from.Close()
	saved, err := folder.Save(name, func(to io.Writer) error {
		if _, err := io.Copy(to, from); err != nil {
			return errors.New(d.api.Redact(err.Error()))
		}
		return nil
	})
	return saved.Path, err
}
