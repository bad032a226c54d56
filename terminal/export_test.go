package terminal

import "context"

// Check checks a file that an agent sends, and closes it.
func Check(root, path string) (File, error) {
	return closed(mediaRules{roots: []string{root}}.check(path))
}

// Inspect is the part of Check after symbolic links were resolved.
func Inspect(path string) (File, error) { return closed(mediaRules{}.openAndCheck(path)) }

// CheckGuarded is Check with a FileGuard.
func CheckGuarded(root, path string, g FileGuard) (File, error) {
	return closed(mediaRules{roots: []string{root}, guard: g}.check(path))
}

func closed(f File, err error) (File, error) {
	f.close()
	return f, err
}

// ClockGranularity is by how much a file's time may be behind the clock when the file is written.
const ClockGranularity = clockGranularity

// LastLine is lastLine with its text, for a test.
type LastLine struct{ *lastLine }

func NewLastLine() LastLine { return LastLine{newLastLine()} }

func (l LastLine) Run(ctx context.Context, emit func(Frame) error) { l.run(ctx, emit) }

// ProtectedNames is protectedNames.
var ProtectedNames = protectedNames
