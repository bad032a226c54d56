package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"nanobot/channels"
	"nanobot/cmd/nanobot/format"
	"nanobot/config"
)

// findings are what a check has found.
type findings []channels.Finding

// good is the finding of a check that passed, doubtful a warning, and bad a failure.
func good(format string, args ...any) findings {
	return findings{{Status: channels.Good, Detail: fmt.Sprintf(format, args...)}}
}

func doubtful(detail, fix string) findings {
	return findings{{Status: channels.Doubtful, Detail: detail, Fix: fix}}
}

func bad(detail, fix string) findings {
	return findings{{Status: channels.Bad, Detail: detail, Fix: fix}}
}

// add adds the findings of a check of the current agent. Those of another process have the name of
// their check already.
func (d *doctor) add(check string, found findings) {
	if d.agent != "" {
		check += "." + d.agent
	}
	for _, f := range found {
		f.Check = cmp.Or(f.Check, check)
		d.findings = append(d.findings, f)
	}
}

// printFindings prints the findings since the last call, without secrets. It is called after each
// check, so that people see results while an agent or a network is slow.
func (d *doctor) printFindings() {
	hide := secretRedactor(d.cfg)
	for ; d.printed < len(d.findings); d.printed++ {
		f := &d.findings[d.printed]
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

// printSummary prints the remaining findings, and the number of findings of each kind.
func (d *doctor) printSummary() error {
	d.printFindings()
	if d.JSON {
		return format.WriteJSON(d.Out, d.findings)
	}
	count := map[channels.Verdict]int{}
	for _, f := range d.findings {
		count[f.Status]++
	}
	_, err := fmt.Fprintf(d.Out, "\n%d ok, %d warn, %d fail\n", count[channels.Good], count[channels.Doubtful],
		count[channels.Bad])
	return err
}

// secretRedactor returns a replacer that hides all secrets of a config, which may be nil.
func secretRedactor(cfg *config.Config) *strings.Replacer {
	if cfg == nil {
		return strings.NewReplacer()
	}
	all := cfg.SecretsToHide()
	for _, p := range cfg.Terminal.Providers {
		all = append(all, p.APIKeys...)
	}
	var values []string
	for _, s := range all {
		if v, err := s.Reveal(); err == nil {
			values = append(values, v)
		}
	}
	return newRedactor(values)
}

// newRedactor returns a replacer that hides values in a text. Values of less than six characters
// stay, because they also occur in ordinary words.
func newRedactor(values []string) *strings.Replacer {
	var pairs []string
	for _, v := range values {
		if len(v) >= 6 {
			pairs = append(pairs, v, "***")
		}
	}
	return strings.NewReplacer(pairs...)
}
