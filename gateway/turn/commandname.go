package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// commandMemory is the key of the agent's commands that menus show under another name. It outlives
// /new, as the menus do.
const commandMemory = store.LastingPrefix + "commands"

// renamedCommands returns the names of the commands that menus show under another name.
func renamedCommands(all []terminal.Command) (names []string) {
	for _, c := range all {
		if channels.MenuName(c.Name) != c.Name {
			names = append(names, c.Name)
		}
	}
	return names
}

// saveRenamed stores the names that restoreCommand needs.
func (t *Turn) saveRenamed(ctx context.Context, now, before []terminal.Command) error {
	names := renamedCommands(now)
	if slices.Equal(names, renamedCommands(before)) {
		return nil
	}
	text, err := json.Marshal(names)
	if err != nil {
		return fmt.Errorf("encode commands: %w", err)
	}
	return t.stage.o.Store.Remember(ctx, t.inbound.In.Chat, memoryKey(t.agent, commandMemory), string(text))
}

// restoreCommand returns a message with the agent's own name of the command that it begins with, if
// it has the name from a menu.
func (t *facts) restoreCommand(ctx context.Context, text string) (string, error) {
	name, isCommand := strings.CutPrefix(text, "/")
	rest := ""
	if i := strings.IndexAny(name, " \t\n"); i >= 0 {
		name, rest = name[:i], name[i:]
	}
	if !isCommand {
		return text, nil
	}
	stored, err := t.stage.o.Store.Recall(ctx, t.inbound.In.Chat, memoryKey(t.agent, commandMemory))
	if err != nil {
		return "", fmt.Errorf("read the agent's commands: %w", err)
	}
	var names []string
	_ = json.Unmarshal([]byte(stored), &names) // an invalid value counts as empty
	for _, own := range names {
		if strings.EqualFold(name, channels.MenuName(own)) {
			return "/" + own + rest, nil
		}
	}
	return text, nil
}
