package terminal

import "context"

// LastLine is lastLine with its text, for a test.
type LastLine struct{ *lastLine }

func NewLastLine() LastLine { return LastLine{newLastLine()} }

func (l LastLine) Run(ctx context.Context, emit func(Frame) error) { l.run(ctx, emit) }
