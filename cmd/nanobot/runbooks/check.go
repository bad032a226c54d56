// Package runbooks implements "nanobot runbook": it lists and checks runbooks, verifies and exports
// runs, and executes a run with answers from a terminal or a script. It starts no process: its
// caller provides the function that executes a shell step.
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

// checkResult is the result of a check.
type checkResult struct {
	Label    string            `json:"label"`
	Steps    []runbook.Step    `json:"steps"`
	Errors   []runbook.Problem `json:"errors"`
	Warnings []runbook.Problem `json:"warnings"`
}

// Check prints the steps of a runbook and its mistakes. The error has exit status 1 if the runbook
// has mistakes.
func Check(path, text string, out io.Writer, asJSON bool) error {
	book, mistakes, warnings := runbook.Parse(text)
	var err error
	if asJSON {
		err = writeLine(out, checkResult{book.Label, book.Steps, mistakes, warnings})
	} else {
		err = printCheck(path, checkResult{book.Label, book.Steps, mistakes, warnings}, out)
	}
	if err == nil && len(mistakes) > 0 {
		err = exit.Error{Status: exit.Failed}
	}
	return err
}

func printCheck(path string, c checkResult, out io.Writer) error {
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
		fmt.Fprintf(w, "%d\t%s\t%s\n", s.Index, terminal.Clean(s.Label), describeChallenge(s))
	}
	return w.Flush()
}

// describeChallenge returns a short description of the proof that a step needs.
func describeChallenge(s runbook.Step) string {
	d := s.Challenge
	if d == nil {
		return "no proof"
	}
	text, details := d.Type, ""
	switch d.Type {
	case runbook.Shell:
		text += ": " + terminal.Visible(d.Command)
	case runbook.MCP:
		text += ": " + terminal.Visible(d.Tool)
	case runbook.UserInput:
		text += ": " + terminal.Visible(d.Prompt)
		if d.Approvals > 1 {
			details = fmt.Sprintf(" (approvals: %d)", d.Approvals)
		}
	case runbook.Comment:
		details = fmt.Sprintf(" (min_length: %v)", d.MinLength)
	}
	if !d.Required {
		details += " (not required)"
	}
	return terminal.Shorten(text, 100) + details
}

// listEntry is a runbook in the output of List.
type listEntry struct {
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
	all := []listEntry{}
	for _, name := range names {
		entry := listEntry{Name: name}
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
