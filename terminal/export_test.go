package terminal

// Check is what is found out about a file that an agent sends, which is closed again; Inspect is
// the part behind the following of links.
func Check(root, path string) (File, error) {
	return closed(mediaRules{roots: []string{root}}.check(path))
}

// Inspect is told a path without links.
func Inspect(path string) (File, error) { return closed(mediaRules{}.openAndCheck(path)) }

// CheckGuarded is Check where some files are out of bounds.
func CheckGuarded(root, path string, g FileGuard) (File, error) {
	return closed(mediaRules{roots: []string{root}, guard: g}.check(path))
}

func closed(f File, err error) (File, error) {
	f.close()
	return f, err
}

// ClockGranularity is how far a file's time may be behind that of the turn in which it was written.
const ClockGranularity = clockGranularity
