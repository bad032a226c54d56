package acp_test

import (
	"fmt"
	"strings"
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
		// The next four are what real agents have sent for 1000 tokens of input, 300 of them
		// cached, and 100 of output, 20 of them thought.
		"Claude Code, which has what subagents use only by model": {
			`{"usage":{"inputTokens":700,"outputTokens":100,"cachedReadTokens":300,"cachedWriteTokens":0,"totalTokens":1100},
			"_meta":{"quota":{"token_count":{"totalTokens":1100,"inputTokens":700,"cachedInputTokens":300,"cachedWriteTokens":0,"outputTokens":100,"reasoningOutputTokens":0},
			"model_usage":[{"model":"haiku","token_count":{"totalTokens":12,"inputTokens":7,"cachedInputTokens":0,"cachedWriteTokens":3,"outputTokens":2,"reasoningOutputTokens":0}},
			{"model":"opus","token_count":{"totalTokens":1100,"inputTokens":700,"cachedInputTokens":300,"cachedWriteTokens":0,"outputTokens":100,"reasoningOutputTokens":0}}]}}}`,
			[]terminal.Usage{{Model: "opus", InputTokens: 1000, OutputTokens: 100}, {Model: "haiku", InputTokens: 10, OutputTokens: 2}},
		},
		"Codex": {
			`{"usage":{"totalTokens":1100,"inputTokens":700,"cachedReadTokens":300,"cachedWriteTokens":0,"outputTokens":100,"thoughtTokens":20},
			"_meta":{"quota":{"token_count":{"totalTokens":1100,"inputTokens":700,"cachedInputTokens":300,"cacheWriteInputTokens":0,"outputTokens":100,"reasoningOutputTokens":20},
			"model_usage":[{"model":"gpt-5.5","token_count":{"totalTokens":1100,"inputTokens":700,"cachedInputTokens":300,"cacheWriteInputTokens":0,"outputTokens":100,"reasoningOutputTokens":20}}]}}}`,
			[]terminal.Usage{{Model: "gpt-5.5", InputTokens: 1000, OutputTokens: 100}},
		},
		"OpenCode": {
			`{"usage":{"inputTokens":700,"outputTokens":80,"totalTokens":1100,"thoughtTokens":20,"cachedReadTokens":300},"_meta":{}}`,
			[]terminal.Usage{{Model: "small", InputTokens: 1000, OutputTokens: 100}},
		},
		"Gemini CLI, which leaves out what it has thought": {
			`{"_meta":{"quota":{"token_count":{"input_tokens":1000,"output_tokens":80},"model_usage":[{"model":"flash","token_count":{"input_tokens":1000,"output_tokens":80}}]}}}`,
			[]terminal.Usage{{Model: "flash", InputTokens: 1000, OutputTokens: 80}},
		},
		"all cached and thought tokens among the others": {
			`{"usage":{"inputTokens":10,"outputTokens":5,"thoughtTokens":2,"cachedReadTokens":4,"totalTokens":15}}`,
			[]terminal.Usage{{Model: "small", InputTokens: 10, OutputTokens: 5}},
		},
		"cached tokens among the others": {
			`{"usage":{"inputTokens":10,"outputTokens":5,"thoughtTokens":2,"cachedReadTokens":4,"totalTokens":17}}`,
			[]terminal.Usage{{Model: "small", InputTokens: 10, OutputTokens: 7}},
		},
		"a sum without models": {
			`{"_meta":{"quota":{"token_count":{"input_tokens":3,"output_tokens":2}}}}`,
			[]terminal.Usage{{Model: "small", InputTokens: 3, OutputTokens: 2}},
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
			p.send("say hello\nanswer "+strings.ReplaceAll(c.response, "\n", "")).expect(terminal.Done, "hello")
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

func TestTheCostOfARestoredSessionGoesOn(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-resume")
	p := d.person("a")
	for _, c := range []struct{ total, want float64 }{
		{0.5, 0.5}, {0.75, 0.25}, {0.125, 0.125}, // the last process has counted from zero
	} {
		p.used = nil
		p.send(fmt.Sprintf(`raw {"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":%g,"currency":"USD"}}`, c.total))
		wanttest.EqualSlices(t, fmt.Sprint("reported after ", c.total), p.used, []terminal.Usage{{Cost: c.want}})
		d.restart()
	}
}

func TestTheCostIsThatOfTheModelWithMostTokens(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "-models").person("a")
	p.send(`raw {"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":0.5,"currency":"USD"}}` + "\n" +
		`answer {"_meta":{"quota":{"model_usage":[{"model":"x","token_count":{"inputTokens":1}},{"model":"y","token_count":{"inputTokens":2}}]}}}`)
	wanttest.EqualSlices(t, "reported", p.used, []terminal.Usage{{Model: "y", InputTokens: 2}, {Model: "x", InputTokens: 1}, {Model: "y", Cost: 0.5}})
}
