package downloads

import (
	"crypto/rand"
	"io"
	"strings"

	"nanobot/channels"
)

// SaveFiles saves open regular files that nobody has sent; see channels.FileSaver. It reads them as
// far as their size.
func (a *Folders) SaveFiles(chat string, files []channels.File) (paths []string, discard func(), err error) {
	folder, err := a.Open(chat)
	if err != nil {
		return nil, nil, err
	}
	defer folder.Close() //nolint:errcheck // read-only handle
	var saved []File
	// A file of the same name and length would be taken for the same file.
	prefix := strings.ToLower(rand.Text()[:12]) + "-"
	for _, f := range files {
		s, err := folder.Save(prefix+SavedName(f.Name, "file"), func(to io.Writer) error {
			_, err := io.Copy(to, io.NewSectionReader(f.Open, 0, f.Size))
			return err
		})
		if err != nil {
			folder.Discard(saved, false)
			return nil, nil, err
		}
		saved, paths = append(saved, s), append(paths, s.Path)
	}
	return paths, func() { a.discard(chat, saved) }, nil
}

// discard removes files that were just saved.
func (a *Folders) discard(chat string, files []File) {
	if folder, err := a.Open(chat); err == nil {
		folder.Discard(files, false)
		_ = folder.Close() // it was only read
	}
}
