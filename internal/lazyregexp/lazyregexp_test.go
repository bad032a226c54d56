package lazyregexp_test

import (
	"testing"

	"nanobot/internal/lazyregexp"
)

func TestAnExpressionIsCompiledOnce(t *testing.T) {
	digits := lazyregexp.New(`^[0-9]+$`)
	if !digits().MatchString("42") || digits().MatchString("4a2") {
		t.Error("does not match as its expression says")
	}
	if first := digits(); digits() != first {
		t.Error("compiled twice")
	}
}

func TestAnInvalidExpressionPanicsAtItsFirstUse(t *testing.T) {
	broken := lazyregexp.New(`(`)
	defer func() {
		if recover() == nil {
			t.Error("does not panic")
		}
	}()
	broken()
}
