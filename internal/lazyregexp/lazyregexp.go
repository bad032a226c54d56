// Package lazyregexp compiles regular expressions at their first use, so that those which a command
// never uses cost it neither start time nor memory.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles an expression at its first call and then returns the same
// result. It panics if the expression is invalid.
func New(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
