package access

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/steps"
)

// shownLabel is the length up to which networks show the whole label of a button, in runes.
const shownLabel = 40

// kindWords name the kinds of options. What an option does depends on its kind alone, so its label
// begins with this name, whatever the agent calls it.
var kindWords = map[string]words.Key{
	"allow_once": words.ButtonAllowOnce, "allow_always": words.ButtonAllowAlways,
	"reject_once": words.ButtonReject, "reject_always": words.ButtonNever,
}

// kindSynonyms are the words with which an agent says no more than the kind of an option.
var kindSynonyms = map[string][]string{
	"allow_once":    {"yes", "ok", "okay", "allow", "accept", "approve", "permit", "once"},
	"allow_always":  {"yes", "ok", "okay", "allow", "accept", "approve", "permit", "always"},
	"reject_once":   {"no", "reject", "deny", "decline", "refuse", "once"},
	"reject_always": {"no", "reject", "deny", "decline", "refuse", "always", "never"},
}

// optionLabels returns the labels of an agent's options: the name of the kind, and the agent's
// own name of the option if it says more or if another option has the same kind. Labels differ
// within shownLabel, because the answer is matched by its label.
func optionLabels(w words.Words, options []option) []string {
	labels := make([]string, 0, len(options))
	for i, o := range options {
		kind, name := w.Text(kindWords[o.Kind]), terminal.OneLine(terminal.Visible(o.Name), steps.TitleLength)
		sameKind := func(other option) bool { return other.Kind == o.Kind }
		alone := !slices.ContainsFunc(options[:i], sameKind) && !slices.ContainsFunc(options[i+1:], sameKind)
		if name != "" && (!alone || saysMore(o.Kind, name) && !strings.EqualFold(kind, name)) {
			name = ": " + name
		} else {
			name = ""
		}
		label := kind + name
		taken := func(other string) bool {
			return strings.EqualFold(firstRunes(other, shownLabel), firstRunes(label, shownLabel))
		}
		for n := 2; slices.ContainsFunc(labels, taken); n++ {
			label = fmt.Sprintf("%s (%d)%s", firstRunes(kind, shownLabel/2), n, name)
		}
		labels = append(labels, label)
	}
	return labels
}

func firstRunes(s string, n int) string {
	runes := []rune(s)
	return string(runes[:min(len(runes), n)])
}

// saysMore reports whether the name of an option has a word that its kind does not imply, or no
// words at all.
func saysMore(kind, name string) bool {
	other := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '\'' && r != '’' }
	all := strings.FieldsFunc(strings.ToLower(name), other)
	added := func(word string) bool { return !slices.Contains(kindSynonyms[kind], word) }
	return len(all) == 0 || slices.ContainsFunc(all, added)
}
