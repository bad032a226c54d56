package rich

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"nanobot/terminal"
)

// usageKind is the type of a frame with what the agent has used, an addition to Terminal Protocol
// v1. It is never emitted.
const usageKind terminal.Kind = "usage"

// usage returns the content of a usage frame. Otherwise it returns the mistake in the frame.
func (f *fields) usage() (u terminal.Usage, mistake string) {
	var input, output float64
	for _, n := range []struct {
		name  string
		value value
		into  *float64
		limit float64
		whole bool
	}{
		{"input_tokens", f.input, &input, terminal.MaxTokens, true},
		{"output_tokens", f.output, &output, terminal.MaxTokens, true},
		{"cost", f.cost, &u.Cost, terminal.MaxCost, false},
	} {
		if !n.value.present() || n.value[0] == 'n' {
			continue
		}
		number, err := strconv.ParseFloat(string(n.value), 64)
		if err != nil || number < 0 || number > n.limit || n.whole && number != math.Trunc(number) {
			return u, fmt.Sprintf("%s must be a number from 0 to %.0f, not %.40s", n.name, n.limit, n.value)
		}
		*n.into = number
	}
	if !f.hasUsage() {
		return u, "it has no input_tokens, output_tokens or cost"
	}
	u.Model, u.InputTokens, u.OutputTokens = f.model.text(), int64(input), int64(output)
	return u, ""
}

func (f *fields) hasUsage() bool { return f.input.present() || f.output.present() || f.cost.present() }

// reportUsage reports what the agent has used, or warns of a mistake in the frame.
func reportUsage(t terminal.Turn, f *fields, line []byte) error {
	u, mistake := f.usage()
	if mistake == "" {
		t.Report(u)
		return nil
	}
	if !f.hasUsage() {
		if hint := hintWrongKey(line, "input_tokens", "output_tokens", "cost"); hint != "" {
			mistake += "; " + hint
		}
	}
	return emitWarning(t, terminal.WrongUsage, "usage frame ignored: "+mistake)
}

// isBadUsage reports whether a line would be a usage frame if NaN and Infinity, which many programs
// print for such numbers, were JSON.
func isBadUsage(line []byte) bool {
	if !bytes.Contains(line, []byte(`"usage"`)) {
		return false
	}
	var f fields
	numbers := strings.NewReplacer("-Infinity", "null", "Infinity", "null", "NaN", "null")
	frame, ok := decode([]byte(numbers.Replace(string(line))), &f)
	return ok && frame.Kind == usageKind
}
