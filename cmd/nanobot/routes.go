package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/config"
	"nanobot/gateway/choice"
	"nanobot/gateway/route"
	"nanobot/gateway/store"
)

// routesFlags are the facts of the message about which nanobot routes is asked.
type routesFlags struct {
	chat, user, kind, topic, origin string
	media                           []string
	json                            bool
}

func newRoutes(std stdio) *cobra.Command {
	var f routesFlags
	cmd := withConfig(&cobra.Command{
		Use:   "routes [flags] [TEXT]",
		Short: "Say which agent would answer a message, and why",
		Long: `Routes says which agent would answer a message by the rules of the config and by what its chat has chosen,
whether the daemon runs or not. With --json it prints {"agent":…,"rule":…}; rules are counted from 1, and 0 means
that none matches. The agent is "" if the text of a hook or a schedule would be sent as it is.

Exit status: 0 answered, 2 wrong use, 78 bad config.`,
		Example: `  nanobot routes --chat telegram:-1001_77 --user 5 'is it up?'
  nanobot routes --json --chat telegram:5 --media image/png '/faq what is this?'
  nanobot routes --chat discord:112233 --kind group --origin hook:ci`,
		Args: atMostOneArgument,
	}, func(cmd *cobra.Command, cfg *config.Config, args []string) error {
		in, err := f.message(cfg, strings.Join(args, ""))
		if err != nil {
			return err
		}
		return withChoices(cmd.Context(), cfg, std, func(c *choice.Choice) error {
			return f.explain(cmd.Context(), cfg, c, in, std.out)
		})
	})
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.Var(checkedFlag{&f.chat, checkChatKey}, "chat", "the chat, CHANNEL:ID")
	flags.StringVar(&f.user, "user", "", "ID of the person who has sent or caused the message")
	flags.StringArrayVar(&f.media, "media", nil, "type of a file of the message, such as image/png (can be repeated)")
	flags.Var(checkedFlag{&f.kind, checkKind}, "kind",
		"private or group (default: what the ID or the chat's last message says)")
	flags.StringVar(&f.topic, "topic", "",
		"ID of the topic or thread (default: what the ID or the chat's last message says)")
	flags.Var(checkedFlag{&f.origin, checkOrigin}, "origin",
		"what began the message: person, ask, hook:NAME or schedule:NAME")
	return cmd
}

// checkKind accepts the kinds of chats.
func checkKind(value string) error {
	if value != "private" && value != "group" {
		return errors.New("must be private or group")
	}
	return nil
}

// checkOrigin accepts the origins that messages with a turn can have.
func checkOrigin(value string) error {
	kind, name, _ := strings.Cut(value, ":")
	isNamed := (kind == "hook" || kind == "schedule") && name != ""
	if !isNamed && !slices.Contains([]string{"person", string(channels.ByAsk)}, value) {
		return errors.New("must be person, ask, hook:NAME or schedule:NAME")
	}
	return nil
}

// message returns the message that the flags describe.
func (f routesFlags) message(cfg *config.Config, text string) (in channels.Incoming, err error) {
	if f.chat == "" {
		return in, exit.Usagef("routes: add the chat, such as --chat telegram:-1001_77")
	}
	in.Chat, _ = channels.ParseChat(f.chat)
	settings, ok := cfg.Channels[in.Chat.Channel]
	if !ok {
		return in, exit.Usagef("routes: there is no channel %q", in.Chat.Channel)
	}
	if checker, ok := settings.(channels.ChatChecker); ok {
		if err := checker.CheckChat(in.Chat.ID); err != nil {
			return in, exit.Usagef("routes: --chat: %w", err)
		}
	}
	for _, kind := range f.media {
		if class, name, _ := strings.Cut(kind, "/"); class == "" || name == "" {
			return in, exit.Usagef("routes: --media: must be a type of a file, such as image/png (got %q)", kind)
		}
	}
	in.Text, in.Media, in.User.ID, in.Maker = text, f.media, f.user, f.user
	if f.origin != "person" {
		in.Origin = channels.Origin(f.origin)
	}
	kind, name, _ := strings.Cut(f.origin, ":")
	if hook := cfg.Hooks[name]; kind == "hook" && hook != nil {
		in.Answerer.Agent = hook.Agent
	} else if kind == "schedule" {
		in.Answerer.Agent = cfg.Schedules[name].Agent
	}
	return in, nil
}

// noChoices is the store of a bot whose daemon was never started, or cannot be read.
type noChoices struct{}

func (noChoices) Recall(context.Context, channels.Chat, string) (string, error) { return "", nil }

func (noChoices) Recent(context.Context, channels.Chat, int) ([]store.Inbound, error) {
	return nil, nil
}

// withChoices calls f with the choice that decides by a config, and by the state if it can be read.
func withChoices(ctx context.Context, cfg *config.Config, std stdio, f func(*choice.Choice) error) error {
	agents := map[string]choice.Agent{}
	for _, name := range cfg.AgentNames() {
		agents[name] = nil // nobody asks for its commands here
	}
	o := choice.Options{
		Store: noChoices{}, Agents: func() map[string]choice.Agent { return agents },
		Routes: func() []config.Route { return cfg.Routes },
		Locate: func(chat channels.Chat) (parent, topic string, group bool) {
			if l, ok := cfg.Channels[chat.Channel].(channels.ChatLocator); ok {
				return l.LocateChat(chat.ID)
			}
			return "", "", false
		},
		TypeOf: func(kind, _ string) string { return kind },
	}
	if !hasState(cfg) {
		return f(choice.New(o)) // the daemon was never started
	}
	var db stateStore
	err := asStateOwner(cfg, std, func() (err error) {
		db, err = openStore(ctx, cfg, true)
		return err
	})
	if err != nil {
		fmt.Fprintf(std.err, "nanobot: the state cannot be read, so what chats have chosen is not known: %v\n", err)
		return f(choice.New(o))
	}
	o.Store = db
	return errors.Join(f(choice.New(o)), closeStore(db))
}

// explain prints who answers a message.
func (f routesFlags) explain(ctx context.Context, cfg *config.Config, c *choice.Choice, in channels.Incoming,
	out io.Writer,
) error {
	in.ThreadID = f.topic
	err := c.Locate(ctx, &in)
	if f.kind != "" {
		in.Group = f.kind == "group"
	}
	rule, findErr := c.Find(ctx, in)
	decided, decideErr := c.Decide(ctx, in)
	chosen, chosenErr := c.Chosen(ctx, in.Chat)
	if err := errors.Join(err, findErr, decideErr, chosenErr); err != nil {
		return err
	}
	isPrompt := in.Answerer.Agent != "" || rule.NamesOrigin() ||
		in.Origin == channels.Person || in.Origin == channels.ByAsk
	answer := struct {
		Agent string `json:"agent"`
		Rule  int    `json:"rule"`
	}{decided.Answerer.Agent, rule.Rule}
	if !isPrompt {
		answer.Agent, answer.Rule = "", 0
	}
	if f.json {
		return format.WriteJSON(out, answer)
	}
	if !isPrompt {
		_, err := fmt.Fprintln(out, "No agent: the text is sent to the chat as it is.")
		return err
	}
	_, err = io.WriteString(out, explanation(rule, in, decided, chosen, len(cfg.Routes)))
	return err
}

// explanation says in sentences who answers a message, and why.
func explanation(rule route.Result, in, decided channels.Incoming, chosen string, rules int) string {
	var why string
	switch agent := decided.Answerer.Agent; {
	case in.Answerer.Agent != "" && in.Answerer.Agent != rule.Agent:
		why = fmt.Sprintf("%s names it", in.Origin)
	case rules == 0:
		why = "there are no routes"
	case rule.Rule == 0:
		why = "no rule matches"
	case agent != rule.Agent:
		why = fmt.Sprintf("the chat has chosen it, and rule %d allows that", rule.Rule)
	default:
		why = fmt.Sprintf("rule %d", rule.Rule)
	}
	lines := []string{decided.Answerer.Agent + " answers: " + why + "."}
	if rule.Rule > 0 {
		lines = append(lines, fmt.Sprintf("Rule %d matches: %s.", rule.Rule, rule.Match))
	}
	switch {
	case decided.Workspace != "":
		lines = append(lines, "It works in "+decided.Workspace+".")
	case decided.Worktree != "":
		lines = append(lines, "It works in a worktree of "+decided.Worktree+".")
	}
	if decided.Answerer.Command {
		lines = append(lines, fmt.Sprintf("It gets the text %q.", decided.Text))
	}
	switch {
	case chosen == "" || in.Answerer.Agent != "":
	case chosen == decided.Answerer.Agent && chosen != rule.Agent:
		lines = append(lines, fmt.Sprintf("Without the chat's choice, %s would answer.", rule.Agent))
	case chosen != decided.Answerer.Agent:
		lines = append(lines, fmt.Sprintf("The chat has chosen %s, which does not count for this message.", chosen))
	}
	if choices := decided.Answerer.Choices; len(choices) > 1 {
		lines = append(lines, "People can choose with /agent: "+strings.Join(choices, ", ")+".")
	}
	return strings.Join(lines, "\n") + "\n"
}
