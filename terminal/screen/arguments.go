package screen

const (
	maxArguments = 32    // further ones are ignored
	maxArgument  = 65535 // larger values are clamped
)

// arguments are the parameters of a control sequence.
type arguments struct {
	value [maxArguments]int32 // -1 if empty
	colon [maxArguments]bool  // preceded by a colon instead of a semicolon
	last  int                 // index of the last one
	full  bool                // more than maxArguments
}

func (a *arguments) reset() {
	a.value[0], a.colon[0] = -1, false
	a.last, a.full = 0, false
}

func (a *arguments) count() int { return a.last + 1 }

// get returns parameter i, or other if it is missing or empty.
func (a *arguments) get(i, other int) int {
	if i > a.last || a.value[i] < 0 {
		return other
	}
	return int(a.value[i])
}

// positive returns a count in parameter i: 0, empty and missing mean 1.
func (a *arguments) positive(i int) int { return max(a.get(i, 1), 1) }

func (a *arguments) addArgument(colon bool) {
	if a.last+1 >= maxArguments {
		a.full = true
		return
	}
	a.last++
	a.value[a.last], a.colon[a.last] = -1, colon
}

func (a *arguments) addDigit(b byte) {
	if a.full {
		return
	}
	v := &a.value[a.last]
	*v = min(max(*v, 0)*10+int32(b-'0'), maxArgument)
}
