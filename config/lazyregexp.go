package config

import (
	"regexp"
	"sync"
)

// lazyRegexp returns a function that compiles an expression at its first call: most configs need
// few of the expressions of this package.
func lazyRegexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
