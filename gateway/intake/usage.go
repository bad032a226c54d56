package intake

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nanobot/gateway/display"
	"nanobot/gateway/ledger"
	"nanobot/gateway/schedule"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// usage carries out /usage: it shows what the sender has used today and lately.
func (c commandCall) usage(ctx context.Context) (string, error) {
	c.reply.Private = true
	zone, err := schedule.LoadZone(c.o.Settings().Timezone)
	if err != nil {
		return "", err
	}
	user, today := c.in.Chat.Channel+":"+c.in.User.ID, store.StartOfDay(time.Now(), zone)
	var lines []string
	for _, days := range []int{1, 7, 30} {
		sums, err := c.o.Store.SumUsage(ctx, store.UsageByUser, store.UsageFilter{
			Since: today.AddDate(0, 0, 1-days), User: user,
		})
		if err != nil {
			return "", fmt.Errorf("read usage: %w", err)
		}
		var sum store.UsageSum
		if len(sums) > 0 {
			sum = sums[0]
		}
		lines = append(lines, c.usageLine(days, sum))
	}
	return strings.Join(lines, "\n"), nil
}

// usageLine describes the usage of some days.
func (c commandCall) usageLine(days int, sum store.UsageSum) string {
	period := c.text(words.UsageToday)
	if days > 1 {
		period = c.text(words.UsageDays, days)
	}
	parts := []string{c.text(words.UsageTurns, period, sum.Turns, display.Duration(sum.Took))}
	if sum.InputTokens+sum.OutputTokens > 0 {
		parts = append(parts, c.text(words.UsageTokens, sum.InputTokens, sum.OutputTokens))
	}
	if cost := ledger.FormatCost(sum.Cost); cost != "" {
		parts = append(parts, cost)
	}
	return strings.Join(parts, ", ")
}
