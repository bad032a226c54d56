package rich

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"nanobot/terminal"
)

// maxButtons and maxLabel are Discord's limits: five rows of five buttons, and 80 characters on a
// button.
const maxButtons, maxLabel = 25, 80

// maxExamined limits the log lines about one frame.
const maxExamined = 100

// isVisible reports whether a character shows on a button. Some letters and symbols are blank.
func isVisible(r rune) bool {
	const blank = "\u115f\u1160\u2800\u3164\uffa0"
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !strings.ContainsRune(blank, r)
}

// checkButtons returns the buttons of a message frame that can be shown, each on one line. The
// others are logged.
func checkButtons(t terminal.Turn, labels []string) ([]string, error) {
	var kept []string
	for i, label := range labels {
		if i == maxExamined {
			return kept, emitWarning(t, terminal.WrongButtons,
				fmt.Sprintf("buttons after the first %d of a message frame were left out", maxExamined))
		}
		label = strings.Join(strings.Fields(terminal.Clean(label)), " ")
		problem := ""
		switch {
		case !strings.ContainsFunc(label, isVisible):
			problem = "an empty button was left out"
		case utf8.RuneCountInString(label) > maxLabel:
			problem = fmt.Sprintf("button %.40q… was left out: it has more than %d characters", label, maxLabel)
		case slices.Contains(kept, label):
			problem = fmt.Sprintf("button %q was left out: there is another one like it", label)
		case len(kept) == maxButtons:
			problem = fmt.Sprintf("%d buttons of a message frame are shown, and the others left out", maxButtons)
		default:
			kept = append(kept, label)
			continue
		}
		if err := emitWarning(t, terminal.WrongButtons, problem); err != nil {
			return nil, err
		}
		if len(kept) == maxButtons {
			break
		}
	}
	return kept, nil
}
