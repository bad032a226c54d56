package acp_test

import (
	"fmt"
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

func TestTheUsageOfPromptsIsReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		response string
		want     []terminal.Usage
	}{
		"the field of the protocol": {
			`{"usage":{"inputTokens":10,"outputTokens":5,"totalTokens":15}}`, []terminal.Usage{{Model: "small", InputTokens: 10, OutputTokens: 5}},
		},
		"cached and thought tokens beside the others": {
			`{"usage":{"inputTokens":10,"outputTokens":5,"thoughtTokens":2,"cachedReadTokens":100,"totalTokens":117}}`,
			[]terminal.Usage{{Model: "small", InputTokens: 110, OutputTokens: 7}},
		},
		"thought tokens among the others": {
			`{"usage":{"inputTokens":10,"outputTokens":5,"thoughtTokens":2,"totalTokens":15}}`,
			[]terminal.Usage{{Model: "small", InputTokens: 10, OutputTokens: 5}},
		},
		"the form of Gemini": {
			`{"_meta":{"quota":{"token_count":{"input_tokens":3,"output_tokens":2},"model_usage":[{"model":"flash","token_count":{"input_tokens":3,"output_tokens":2}}]}}}`,
			[]terminal.Usage{{Model: "flash", InputTokens: 3, OutputTokens: 2}},
		},
		"both, which count once": {
			`{"usage":{"inputTokens":3,"outputTokens":2},"_meta":{"quota":{"token_count":{"input_tokens":3,"output_tokens":2}}}}`,
			[]terminal.Usage{{Model: "small", InputTokens: 3, OutputTokens: 2}},
		},
		"none":      {`{}`, nil},
		"malformed": {`{"usage":{"inputTokens":"x"}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := newFixture(t, "-models").person("a")
			p.send("say hello\nanswer "+c.response).expect(terminal.Done, "hello")
			wanttest.EqualSlices(t, "reported", p.used, c.want)
		})
	}
}

func TestTheCostOfASessionIsReportedByTurn(t *testing.T) {
	t.Parallel()
	cost := func(amount float64, currency string) string {
		return fmt.Sprintf(`raw {"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":%g,"currency":%q}}`, amount, currency)
	}
	p := newFixture(t, "").person("a")
	for _, c := range []struct {
		script string
		want   []terminal.Usage
	}{
		{cost(0.25, "USD") + "\n" + cost(0.5, "USD"), []terminal.Usage{{Cost: 0.5}}},
		{"say nothing new", nil},
		{cost(0.75, "USD"), []terminal.Usage{{Cost: 0.25}}},
		{cost(0.125, "USD"), []terminal.Usage{{Cost: 0.125}}}, // counted from zero again
		{cost(9, "credits"), nil},
	} {
		p.used = nil
		p.send(c.script)
		wanttest.EqualSlices(t, "reported after "+c.script, p.used, c.want)
	}
}
