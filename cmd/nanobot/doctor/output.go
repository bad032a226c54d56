package doctor

import (
	"fmt"
	"strings"

	"nanobot/channels"
	"nanobot/cmd/nanobot/format"
)

// show prints the findings since the last call, without secrets. It is called after each check,
// since an agent or a network may take its time.
func (d *doctor) show() {
	hide := d.secrets()
	for ; d.shown < len(d.found); d.shown++ {
		f := &d.found[d.shown]
		f.Detail, f.Fix = hide.Replace(format.OneLine(f.Detail)), hide.Replace(f.Fix)
		if d.JSON {
			continue
		}
		fmt.Fprintf(d.Out, "%-4s  %-16s  %s\n", f.Status, f.Check, f.Detail)
		if f.Fix != "" {
			fmt.Fprintf(d.Out, "      %-16s  → %s\n", "", f.Fix)
		}
	}
}

// finish prints the rest of the findings, and how many there are of each kind.
func (d *doctor) finish() error {
	d.show()
	if d.JSON {
		return format.WriteJSON(d.Out, d.found)
	}
	count := map[channels.Verdict]int{}
	for _, f := range d.found {
		count[f.Status]++
	}
	_, err := fmt.Fprintf(d.Out, "\n%d ok, %d warn, %d fail\n", count[channels.Good], count[channels.Doubtful], count[channels.Bad])
	return err
}

// secrets returns a replacer of everything in a text that must not be shown.
func (d *doctor) secrets() *strings.Replacer {
	if d.cfg == nil {
		return strings.NewReplacer()
	}
	all := d.cfg.SecretsToHide()
	for _, p := range d.cfg.Terminal.Providers {
		all = append(all, p.APIKeys...)
	}
	var values []string
	for _, s := range all {
		if v, err := s.Reveal(); err == nil {
			values = append(values, v)
		}
	}
	return redactor(values)
}

// redactor returns a replacer that hides values in a text. Values of less than six characters are
// parts of words and not secret.
func redactor(values []string) *strings.Replacer {
	var pairs []string
	for _, v := range values {
		if len(v) >= 6 {
			pairs = append(pairs, v, "***")
		}
	}
	return strings.NewReplacer(pairs...)
}
