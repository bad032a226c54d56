package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/route"
	"nanobot/terminal"
)

// checkRoutes prints the rules about who answers, and names those that never match or whose
// repository cannot be used.
func (d *doctor) checkRoutes(ctx context.Context) {
	for i, r := range d.cfg.Routes {
		line := fmt.Sprintf("rule %d: %s → %s", i+1, r.Match, r.Agent)
		var problem error
		switch {
		case r.Workspace != "":
			line += " in " + r.Workspace
		case r.Worktree != "":
			line += " in a worktree of " + r.Worktree
			problem = terminal.CheckWorktree(ctx, d.cfg.Workspace, r.Worktree)
		}
		if r.Switch.All {
			line += ", or any other by /agent"
		} else if len(r.Switch.Names) > 0 {
			line += ", or " + strings.Join(r.Switch.Names, " or ") + " by /agent"
		}
		if why := d.neverMatches(i); why != "" {
			d.add("routes", doubtful(line+"; it never matches: "+why, "remove the rule, or correct it"))
		} else if problem != nil {
			d.add("routes", bad(line+"; "+problem.Error(), "correct that, or change the rule's worktree"))
		} else {
			d.add("routes", good("%s", line))
		}
	}
}

// neverMatches returns why no message can match a rule, or "".
func (d *doctor) neverMatches(n int) string {
	r := d.cfg.Routes[n]
	for i, earlier := range d.cfg.Routes[:n] {
		if route.Shadows(earlier.Match, r.Match, d.parentOf) {
			return fmt.Sprintf("rule %d matches all its messages", i+1)
		}
	}
	isOn := func(name string) bool { return d.cfg.Channels[name].On() }
	if names := route.ChannelsOf(r.Match); len(names) > 0 && !slices.ContainsFunc(names, isOn) {
		return fmt.Sprintf("the channel %s is not enabled", names[0])
	}
	origins := slices.Concat(r.Match.Hook, r.Match.Schedule)
	if r.Match.Hook != nil && r.Match.Schedule != nil || r.Match.Command != nil && len(origins) > 0 {
		return "no message has all of its keys"
	}
	for _, name := range origins {
		agent := d.cfg.Schedules[name].Agent
		if h := d.cfg.Hooks[name]; r.Match.Hook != nil && h != nil {
			agent = h.Agent
		}
		if agent == "" || r.Allows(agent) {
			return ""
		}
	}
	if len(origins) > 0 {
		return origins[0] + " names its own agent"
	}
	return ""
}

// parentOf returns the chat of a topic, if the ID of the topic names it, else "".
func (d *doctor) parentOf(value string) string {
	channel, id := config.SplitRouted(value)
	for _, name := range slices.Sorted(maps.Keys(d.cfg.Channels)) {
		if l, ok := d.cfg.Channels[name].(channels.ChatLocator); ok && (channel == "" || channel == name) {
			parent, _, _ := l.LocateChat(id)
			if parent != "" && channel != "" {
				parent = channel + ":" + parent
			}
			return parent
		}
	}
	return ""
}
