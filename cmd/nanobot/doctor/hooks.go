package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/hooks"
)

// maxShownText bounds the text of a hook's example, in runes.
const maxShownText = 200

// checkHooks puts an example through each hook, and shows what a call would say where.
func (d *doctor) checkHooks(ctx context.Context, all map[string]hooks.Hook) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d.add("hooks."+name, checkHook(ctx, name, all[name]))
	}
}

func checkHook(ctx context.Context, name string, h hooks.Hook) findings {
	text, err := h.Example(ctx, name)
	to := h.Chat.String()
	if h.Agent != "" {
		to = fmt.Sprintf("the agent %s in %s", h.Agent, h.Chat)
	}
	switch {
	case err != nil:
		return doubtful("the template fails for an example body: "+err.Error(),
			"correct the template, unless real bodies have what is missing; a call whose template fails is shown to the chat "+
				"as it is")
	case strings.TrimSpace(text) == "":
		return good("a signed example body is accepted, and its template makes no text, so nothing would go to %s", to)
	}
	text = strings.Join(strings.Fields(channels.FirstLine(strings.ReplaceAll(text, "\n", " "), maxShownText)), " ")
	return good("a signed example body is accepted, and says to %s: %s", to, strconv.Quote(text))
}
