package channelstest

import (
	"slices"
	"strings"

	"nanobot/channels"
)

// longPlain reports whether a plan is of a long text without code, tables or files.
func longPlain(m channels.Message, plan []channels.Outgoing) bool {
	return strings.HasPrefix(m.Text, "word") && len(plan) > 20
}

var textBreaches = []breach{
	{
		name:  "progress is dropped",
		fails: []string{"each kind of message arrives"},
		build: changePlan(func(m channels.Message, plan []channels.Outgoing) []channels.Outgoing {
			if m.Kind == channels.Progress {
				return nil
			}
			return plan
		}),
	},
	{
		name:  "the end of a long text is lost",
		fails: []string{"text of any length arrives whole and in order", "the screen of an answer arrives below its whole text"},
		build: changePlan(func(m channels.Message, plan []channels.Outgoing) []channels.Outgoing {
			if longPlain(m, plan) {
				plan = plan[:len(plan)-1]
			}
			return plan
		}),
	},
	{
		name:  "two parts of a long text change places",
		fails: []string{"text of any length arrives whole and in order", "the screen of an answer arrives below its whole text"},
		build: changePlan(func(m channels.Message, plan []channels.Outgoing) []channels.Outgoing {
			if longPlain(m, plan) {
				plan[3], plan[4] = plan[4], plan[3]
			}
			return plan
		}),
	},
	{
		name:  "a part of a long text is sent twice",
		fails: []string{"text of any length arrives whole and in order", "the screen of an answer arrives below its whole text"},
		build: changePlan(func(m channels.Message, plan []channels.Outgoing) []channels.Outgoing {
			if longPlain(m, plan) {
				plan = slices.Insert(plan, 3, plan[3])
			}
			return plan
		}),
	},
	{
		name:  "a single letter is dropped",
		fails: []string{"text of any length arrives whole and in order"},
		build: changePlan(func(m channels.Message, plan []channels.Outgoing) []channels.Outgoing {
			if len(m.Text) == 1 {
				return nil
			}
			return plan
		}),
	},
	{
		name:  "a line of code is lost",
		fails: []string{"code arrives whole and in order"},
		build: changeMessage(func(m *channels.Message) { m.Text = strings.ReplaceAll(m.Text, "line00077()", "") }),
	},
	{
		name:  "the language of a code block becomes text",
		fails: []string{"code arrives whole and in order"},
		build: changeMessage(func(m *channels.Message) { m.Text = strings.ReplaceAll(m.Text, "```go\n", "```\ngo\n") }),
	},
	{
		name:  "a row of a table is lost",
		fails: []string{"tables arrive whole and in order"},
		build: changeMessage(func(m *channels.Message) { m.Text = strings.ReplaceAll(m.Text, "value00055", "") }),
	},
	{
		name:  "text is cut between any two runes",
		fails: []string{"emoji and accents are never cut", "the screen of an answer arrives below its whole text"},
		build: changePlan(func(m channels.Message, plan []channels.Outgoing) []channels.Outgoing {
			if len(m.Media) > 0 || len(plan) < 2 {
				return plan
			}
			plan = nil
			for part := range slices.Chunk([]rune(m.Text), maxRunes) {
				plan = append(plan, channels.Outgoing{Chat: m.Chat, Kind: m.Kind, Text: string(part)})
			}
			return plan
		}),
	},
	{
		name:  "text is sent as the agent wrote it",
		fails: []string{"no text and no file name reverses the direction of other text"},
		build: changePlan(func(m channels.Message, plan []channels.Outgoing) []channels.Outgoing {
			if strings.ContainsRune(m.Text, '\u202e') {
				plan[0].Text = m.Text
			}
			return plan
		}),
	},
	{
		name:  "an isolate is not closed",
		fails: []string{"no text and no file name reverses the direction of other text"},
		build: changePlan(func(m channels.Message, plan []channels.Outgoing) []channels.Outgoing {
			if strings.HasPrefix(m.Text, "\u2067open") {
				plan[0].Text = m.Text
			}
			return plan
		}),
	},
	{
		name:  "Hebrew loses its isolates",
		fails: []string{"no text and no file name reverses the direction of other text"},
		build: changeMessage(func(m *channels.Message) { m.Text = channels.StripBidi(m.Text) }),
	},
	{
		name:  "a file keeps a name that reverses the direction",
		fails: []string{"no text and no file name reverses the direction of other text"},
		build: changePlan(func(m channels.Message, plan []channels.Outgoing) []channels.Outgoing {
			for i := range plan {
				if len(plan[i].Media) > 0 && len(m.Media) == 2 {
					plan[i].Media = m.Media
				}
			}
			return plan
		}),
	},
	{
		name:  "a link hides its target",
		fails: []string{"a link that shows another address also shows its target"},
		build: changeMessage(func(m *channels.Message) { m.Text = strings.ReplaceAll(m.Text, "evil.example", "") }),
	},
}
