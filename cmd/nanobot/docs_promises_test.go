package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// promiseFile has the results of the last run with real agents.
const promiseFile = "testdata/promises.json"

// promiseTable is what real agents do through the daemon. Its lists have the order of the page.
type promiseTable struct {
	Agents   []string      `json:"agents"`
	Promises []promiseLine `json:"promises"`
}

// promiseLine has the results of one promise by agent.
type promiseLine struct {
	Name    string                   `json:"name"`
	Promise string                   `json:"promise"`
	Results map[string]promiseResult `json:"results"`
}

// The results of a promise.
const (
	kept   = "yes"
	lacked = "no"     // the agent cannot do it, for the reason in the note
	broken = "broken" // the test has failed
	notRun = "not run"
)

// promiseResult is a cell of the table.
type promiseResult struct {
	Result string `json:"result"`
	Note   string `json:"note,omitempty"`
}

func readPromises(t *testing.T) (table promiseTable) {
	t.Helper()
	musttest.Do(t, json.Unmarshal(musttest.Get(os.ReadFile(promiseFile))(t), &table))
	return table
}

// result returns a cell.
func (p promiseTable) result(promise, agent string) promiseResult {
	for _, line := range p.Promises {
		if r, ok := line.Results[agent]; ok && line.Name == promise {
			return r
		}
	}
	return promiseResult{Result: notRun}
}

// markdown renders a list of the promises that every agent keeps and a table of the others, with a
// numbered list of the reasons below it.
func (p promiseTable) markdown() string {
	var all, table, list strings.Builder
	fmt.Fprintf(&table, "| promise | %s |\n|%s\n", strings.Join(p.Agents, " | "), strings.Repeat(" --- |", len(p.Agents)+1))
	var notes []string
	for _, line := range p.Promises {
		if p.keptByAll(line.Name) {
			all.WriteString("- " + line.Promise + "\n")
			continue
		}
		table.WriteString("| " + line.Promise + " |")
		for _, agent := range p.Agents {
			r := p.result(line.Name, agent)
			if table.WriteString(" " + r.Result); r.Note != "" {
				n := slices.Index(notes, r.Note) + 1
				if n == 0 {
					notes = append(notes, r.Note)
					n = len(notes)
					reason := strings.TrimPrefix(r.Note, "The agent ")
					fmt.Fprintf(&list, "%d. %s%s\n", n, strings.ToUpper(reason[:1]), reason[1:])
				}
				fmt.Fprintf(&table, " (%d)", n)
			}
			table.WriteString(" |")
		}
		table.WriteByte('\n')
	}
	return fmt.Sprintf("With all of them:\n\n%s\nWith some of them:\n\n%s\n%s", all.String(), table.String(), list.String())
}

// keptByAll reports whether every agent keeps a promise.
func (p promiseTable) keptByAll(promise string) bool {
	return !slices.ContainsFunc(p.Agents, func(agent string) bool {
		return p.result(promise, agent) != promiseResult{Result: kept}
	})
}

// The generated part of docs/acp.md is between these two lines.
const (
	promisesBegin = "<!-- generated from cmd/nanobot/testdata/promises.json, which make test-agents checks -->\n"
	promisesEnd   = "<!-- end of the generated part -->\n"
)

func TestRealAgentsAreDocumentedAsTheyWereMeasured(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "..", "docs", "acp.md")
	text := musttest.Get(os.ReadFile(page))(t)
	before, rest, begins := strings.Cut(string(text), promisesBegin)
	_, after, ends := strings.Cut(rest, promisesEnd)
	if !begins || !ends {
		t.Fatalf("%s has no generated part", page)
	}
	want := before + promisesBegin + readPromises(t).markdown() + promisesEnd + after
	switch {
	case want == string(text):
	case *update:
		musttest.Do(t, os.WriteFile(page, []byte(want), 0o644))
	default:
		t.Errorf("%s differs from %s; write it with -update", page, promiseFile)
	}
}
