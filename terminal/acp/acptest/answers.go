package acptest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"nanobot/terminal"
	"nanobot/terminal/protocoltest"
)

// Answer returns a person who gives these answers one after the other, where "press N" presses a
// button, and the questions that were asked.
func Answer(t testing.TB, answers ...string) (protocoltest.Ask, *[]terminal.Question) {
	t.Helper()
	asked := &[]terminal.Question{}
	return func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
		*asked = append(*asked, q)
		if len(answers) == 0 {
			t.Errorf("asked once too often: %+v", q)
			return terminal.Answer{}, errors.New("no more answers")
		}
		said := answers[0]
		answers = answers[1:]
		var n int
		if got, _ := fmt.Sscanf(said, "press %d", &n); got == 1 {
			return terminal.Answer{Text: q.Options[n-1]}, nil
		}
		if said == "something else" {
			return terminal.Answer{}, &terminal.DismissedError{By: "ann"}
		}
		return terminal.Answer{Text: said}, nil
	}, asked
}

// RenderQuestions returns questions as text.
func RenderQuestions(asked []terminal.Question) string {
	var all []string
	for _, q := range asked {
		text := q.Text
		for _, o := range q.Options {
			text += " [" + o + "]"
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n---\n")
}
