package form

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nanobot/terminal"
)

// MaxChoices limits the buttons of a picker. Longer lists are shown as text.
const MaxChoices = 20

// Option is one alternative: the name that the person sees and the value that the agent expects.
type Option struct{ Name, Value string }

// NewOption returns an option. One without a name is called by its value.
func NewOption(name, value string) Option {
	return Option{cmp.Or(strings.TrimSpace(name), value), value}
}

// maxOptionName limits the length of an option's label.
const maxOptionName = 200

// Labels returns a unique label that can be seen for each option.
func Labels(all []Option, now string) []string {
	names := make([]string, 0, len(all))
	used, next := map[string]bool{}, map[string]int{}
	for i, o := range all {
		label := terminal.OneLine(o.Name, maxOptionName)
		if label == "" {
			label = fmt.Sprintf("(%d)", i+1)
		}
		if o.Value == now {
			label = "✓ " + label
		}
		name := label
		for next[label] = max(next[label], 2); used[name]; next[label]++ {
			name = fmt.Sprintf("%s (%d)", label, next[label])
		}
		used[name] = true
		names = append(names, name)
	}
	return names
}

// FindOption finds the option that a person typed: by value, name or number, else by a part of the
// name that is unique. A button sends the value, which may be the name of another option.
func FindOption(all []Option, said string) *Option {
	said = strings.TrimSpace(said)
	if found := matchOption(all, said, valueOf, nameOf); found != nil {
		return found
	}
	if _, err := strconv.Atoi(said); err == nil || said == "" {
		return nil
	}
	var found *Option
	for i, o := range all {
		if !strings.Contains(strings.ToLower(o.Name), strings.ToLower(said)) {
			continue
		}
		if found != nil {
			return nil
		}
		found = &all[i]
	}
	return found
}

// matchOption returns the first option of which one of the keys is the text, in upper or lower
// case, or which has this number; nil if there is none.
func matchOption(all []Option, said string, keys ...func(Option) string) *Option {
	exactly := func(a, b string) bool { return a == b }
	for _, same := range []func(a, b string) bool{exactly, strings.EqualFold} {
		for _, key := range keys {
			if i := slices.IndexFunc(all, func(o Option) bool { return same(key(o), said) }); i >= 0 {
				return &all[i]
			}
		}
	}
	if n, err := strconv.Atoi(said); err == nil && n >= 1 && n <= len(all) {
		return &all[n-1]
	}
	return nil
}

func nameOf(o Option) string { return o.Name }

func valueOf(o Option) string { return o.Value }
