package telegram

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// localError is why a file of a local Bot API server cannot be had. The path is left out: it contains the token.
type localError struct{ err error }

func (e *localError) Error() string {
	return "take over a file of the local Bot API server: " + e.err.Error()
}

func (c *Channel) localError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &localError{errors.New(c.api.clean(err.Error()))}
}

// adopt gives a file that a local Bot API server has on this disk a name in a chat's folder. Its own path contains the
// token, which is for nobody else. Where it cannot be linked it is copied.
func (c *Channel) adopt(stored, folder, name string) (string, error) {
	size, err := sizeOf(stored)
	switch {
	case err != nil:
		return "", c.localError(err)
	case size < 0:
		return "", c.localError(errors.New("it is not a regular file"))
	}
	if err := c.within(size); err != nil {
		return "", err
	}
	part, err := os.CreateTemp(folder, unfinishedFile+"*")
	if err != nil {
		return "", err
	}
	defer os.Remove(part.Name()) //nolint:errcheck // it has another name by then, or nobody needs it
	defer part.Close()
	linked := part.Name() + "-linked"
	if os.Link(stored, linked) == nil {
		defer os.Remove(linked) //nolint:errcheck // as above
		return c.publish(linked, folder, name)
	}
	from, err := os.Open(stored)
	if err != nil {
		return "", c.localError(err)
	}
	defer from.Close()
	if _, err := io.Copy(part, from); err != nil {
		return "", errors.New(c.api.clean(err.Error()))
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return "", err
	}
	return c.publish(part.Name(), folder, name)
}
