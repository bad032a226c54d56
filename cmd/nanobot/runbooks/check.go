// Package runbooks is what nanobot runbook does: it lists, checks, verifies and exports runbooks
// and runs, and drives a run from a terminal or a script. It starts no process: how a shell step is
// executed is handed in.
package runbooks

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"nanobot/cmd/nanobot/exit"
	"nanobot/gateway/runbook"
	"nanobot/terminal"
)

// writeLine writes a value as one line of JSON.
func writeLine(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// checked is the result of a check.
type checked struct {
	Label    string            `json:"label"`
	Steps    []runbook.Step    `json:"steps"`
	Errors   []runbook.Problem `json:"errors"`
	Warnings []runbook.Problem `json:"warnings"`
}

// Check prints what a runbook's text says and what is wrong with it. The error carries exit status
// 1 if the runbook is refused.
func Check(path, text string, out io.Writer, asJSON bool) error {
	book, mistakes, warnings := runbook.Parse(text)
	var err error
	if asJSON {
		err = writeLine(out, checked{book.Label, book.Steps, mistakes, warnings})
	} else {
		err = printCheck(path, checked{book.Label, book.Steps, mistakes, warnings}, out)
	}
	if err == nil && len(mistakes) > 0 {
		err = exit.Error{Status: exit.Failed}
	}
	return err
}

func printCheck(path string, c checked, out io.Writer) error {
	for _, p := range c.Errors {
		fmt.Fprintf(out, "%s:%d: %s\n", path, p.Line, terminal.Clean(p.Message))
	}
	for _, p := range c.Warnings {
		fmt.Fprintf(out, "%s:%d: warning: %s\n", path, p.Line, terminal.Clean(p.Message))
	}
	if len(c.Errors) > 0 {
		return nil
	}
	fmt.Fprintln(out, terminal.Clean(c.Label))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range c.Steps {
		fmt.Fprintf(w, "%d\t%s\t%s\n", s.Index, terminal.Clean(s.Label), describe(s))
	}
	return w.Flush()
}

// describe says in a few words how a step is proved.
func describe(s runbook.Step) string {
	d := s.Challenge
	if d == nil {
		return "no proof"
	}
	text := d.Type
	switch d.Type {
	case runbook.Shell:
		text += ": " + terminal.Visible(d.Command)
	case runbook.MCP:
		text += ": " + terminal.Visible(d.Tool)
	case runbook.UserInput:
		text += ": " + terminal.Visible(d.Prompt)
	}
	if !d.Required {
		text += " (not required)"
	}
	return terminal.Shorten(text, 100)
}

// listed is a runbook in a list.
type listed struct {
	Name   string            `json:"name"`
	Label  string            `json:"label"`
	Steps  int               `json:"steps"`
	Errors []runbook.Problem `json:"errors"`
}

// List prints the runbooks of a folder.
func List(folder string, out io.Writer, asJSON bool) error {
	names, err := runbook.Folder(folder).Names()
	if err != nil {
		return err
	}
	all := []listed{}
	for _, name := range names {
		entry := listed{Name: name}
		text, _, err := runbook.Folder(folder).Read(name)
		if err != nil {
			entry.Errors = []runbook.Problem{{Message: err.Error()}}
		} else {
			book, mistakes, _ := runbook.Parse(text)
			entry.Label, entry.Steps, entry.Errors = book.Label, len(book.Steps), mistakes
		}
		all = append(all, entry)
	}
	if asJSON {
		return writeLine(out, all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintf(out, "There are no runbooks in %s.\n", folder)
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tLABEL\tSTEPS")
	for _, e := range all {
		fmt.Fprintf(w, "%s\t%s\t%d", terminal.Clean(e.Name), terminal.Clean(e.Label), e.Steps)
		if len(e.Errors) > 0 {
			fmt.Fprintf(w, "\tcannot be run: %s", terminal.Clean(e.Errors[0].Message))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
