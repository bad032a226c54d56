package channelstest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"nanobot/channels"
)

var planBreaches = []breach{
	{
		name:  "Plan counts its calls",
		fails: []string{"Plan returns the same plan each time"},
		build: func(t *testing.T, f fakeChannel) channels.Channel {
			var calls atomic.Int64
			return changePlan(func(_ channels.Message, plan []channels.Outgoing) []channels.Outgoing {
				for i := range plan {
					plan[i].Form = fmt.Append(nil, calls.Add(1))
				}
				return plan
			})(t, f)
		},
	},
	{
		name:  "Plan calls the network",
		fails: []string{"Plan makes no network call"},
		build: func(_ *testing.T, f fakeChannel) channels.Channel {
			return faultyChannel{fakeChannel: f, plan: func(m channels.Message) ([]channels.Outgoing, error) {
				if _, err := f.net.sendCall(SentCall{Text: "is there a chat?"}, ""); err != nil {
					return nil, err
				}
				return f.Plan(m)
			}}
		},
	},
	{
		name:  "Plan sorts the caller's files",
		fails: []string{"Plan does not change the message"},
		build: func(_ *testing.T, f fakeChannel) channels.Channel {
			return faultyChannel{fakeChannel: f, plan: func(m channels.Message) ([]channels.Outgoing, error) {
				slices.SortFunc(m.Media, func(a, b channels.File) int { return strings.Compare(a.Path, b.Path) })
				return f.Plan(m)
			}}
		},
	},
	{
		name:  "Plan turns failures into answers",
		fails: []string{"Plan keeps chat and kind"},
		build: changeMessage(func(m *channels.Message) {
			if m.Kind == channels.Failure {
				m.Kind = channels.Answer
			}
		}),
	},
	{
		name:  "Plan loses the chat",
		fails: []string{"Plan keeps chat and kind"},
		build: changeMessage(func(m *channels.Message) { m.Chat.ID = "" }),
	},
	{
		name:  "Plan makes a call of an empty message",
		fails: []string{"an empty message makes no call"},
		build: changePlan(func(m channels.Message, plan []channels.Outgoing) []channels.Outgoing {
			if m.Text == "" && len(plan) == 0 {
				plan = []channels.Outgoing{{Chat: m.Chat, Kind: m.Kind}}
			}
			return plan
		}),
	},
	{
		name:  "Plan makes a call of white space",
		fails: []string{"an empty message makes no call"},
		build: changePlan(func(m channels.Message, plan []channels.Outgoing) []channels.Outgoing {
			if m.Text != "" && len(plan) == 0 {
				plan = []channels.Outgoing{{Chat: m.Chat, Kind: m.Kind, Text: m.Text}}
			}
			return plan
		}),
	},
	{
		name:  "Plan refuses an empty message with an empty error",
		fails: []string{"an empty message makes no call"},
		build: func(_ *testing.T, f fakeChannel) channels.Channel {
			return faultyChannel{fakeChannel: f, plan: func(m channels.Message) ([]channels.Outgoing, error) {
				plan, err := f.Plan(m)
				if len(plan) == 0 {
					err = errors.New("")
				}
				return plan, err
			}}
		},
	},
	{
		name:  "Plan keeps the text in memory",
		fails: []string{"a plan can be stored and sent after a restart"},
		build: planReferences,
	},
}

// planReferences returns a channel whose plans have only a reference to a text in memory.
func planReferences(_ *testing.T, f fakeChannel) channels.Channel {
	var memory sync.Map
	plan := func(m channels.Message) ([]channels.Outgoing, error) {
		plan, err := f.Plan(m)
		for i, o := range plan {
			sum := sha256.Sum256([]byte(o.Text))
			memory.Store(sum, o.Text)
			plan[i].Text, plan[i].Form = "", sum[:]
		}
		return plan, err
	}
	send := func(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
		if text, ok := memory.Load([sha256.Size]byte(o.Form)); ok {
			o.Text = text.(string)
		}
		return f.Send(ctx, o)
	}
	return faultyChannel{fakeChannel: f, plan: plan, send: send}
}
