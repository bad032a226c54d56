package words

import "errors"

// Error is an error whose text for people is in the catalogue.
type Error struct {
	key    Key
	values []any
}

// NewError returns an error with a text of the catalogue, whose values are as for Text.
func NewError(k Key, values ...any) *Error { return &Error{k, values} }

// Error returns the English text, for logs.
func (e *Error) Error() string { return Words{}.Text(e.key, e.values...) }

// Reason returns the text of an error for people. An error that is not from the catalogue keeps its
// own text.
func (w Words) Reason(err error) string {
	if own, ok := errors.AsType[*Error](err); ok {
		return w.Text(own.key, own.values...)
	}
	return err.Error()
}
