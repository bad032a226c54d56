package intake

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/choice"
	"nanobot/gateway/events"
	"nanobot/gateway/press"
	"nanobot/gateway/store"
	"nanobot/internal/role"
	"nanobot/internal/words"
)

// command is a command that the gateway carries out itself.
type command struct {
	button       bool // available as a button only
	stops        bool // ends the running turn
	clearsMemory bool // the running turn must not save anything more
	isRun        bool // this is /run, which may get a turn
	do           func(commandCall, context.Context) (answer string, err error)
}

// commandCall is one invocation of a command.
type commandCall struct {
	*Intake
	in      channels.Incoming
	args    string
	running Turn // the chat's turn; nil: there is none
	// request stores the command. Changes on disk belong into it, so that they happen once, in the
	// same transaction.
	request *store.ReceiveRequest
	reply   *reply // a command may add buttons; its text is the command's return value
	// dropped are the waiting turns that the command cancels, and chosen is the agent that it
	// chooses.
	dropped *[]int64
	chosen  *string
}

// textForSender returns a text for the person who has pressed the button of the command only.
func (c commandCall) textForSender(k words.Key, values ...any) string {
	c.reply.forSender = true
	return c.text(k, values...)
}

// commands are the gateway's commands; all other text, with or without a slash, is for the agent.
var commands = map[string]command{
	startWord:    {do: commandCall.start},
	"/help":      {do: commandCall.help},
	"/stop":      {do: commandCall.stop, stops: true},
	"/status":    {do: commandCall.status},
	"/new":       {do: commandCall.newConversation, clearsMemory: true},
	"/retry":     {do: commandCall.retry},
	"/whoami":    {do: commandCall.whoami},
	"/usage":     {do: commandCall.usage},
	"/search":    {do: commandCall.search},
	"/verbose":   {do: commandCall.verbose},
	"/remind":    {do: commandCall.remind},
	"/schedules": {do: commandCall.schedules},
	"/details":   {button: true, do: commandCall.details},
	"/cancel":    {button: true, do: commandCall.cancelWaiting},
	"/again":     {button: true, do: commandCall.runAgain},
	"/rerun":     {button: true, do: commandCall.rerunEdited},
	"/resend":    {button: true, do: commandCall.resend},

	"/" + choice.CommandUnschedule: {button: true, do: commandCall.unschedule},
	"/" + choice.CommandAgent:      {do: commandCall.agent},
	"/" + choice.CommandRunbooks:   {do: commandCall.runbooks},
	"/" + choice.CommandRun:        {isRun: true},
}

// CommandNames returns the names of the gateway's commands, without their slash.
func CommandNames() (names []string) {
	for word := range commands {
		names = append(names, strings.TrimPrefix(word, "/"))
	}
	return names
}

// runCommand carries out a command once: its changes and its answer are stored in one transaction,
// so that a crash neither loses nor repeats them. The turn is stopped afterwards, so that a
// duplicate of a /stop does not stop the next turn.
func (i *Intake) runCommand(ctx context.Context, in channels.Incoming, c command, args string) error {
	defer i.o.Lanes.Lock(in.Chat)()
	if c.stops || c.clearsMemory { // the command also applies to a turn that is being claimed
		i.o.Lanes.AwaitClaim()
	}
	running := i.o.Lanes.RunningTurn(in.Chat)
	request := store.ReceiveRequest{In: in, Cursor: in.Cursor, Settle: true, Reason: store.ByCommand}
	var dropped []int64
	var answer reply
	var chosen string
	var first bool
	var err error
	if answer.Text, err = c.do(commandCall{i, in, args, running, &request, &answer, &dropped, &chosen}, ctx); err != nil {
		return err
	}
	word, _ := commandWord(in)
	word = cmp.Or(word, string(in.Change))
	storeOutcome := func() error {
		if first, err = i.storeAnswered(ctx, request, answer); first {
			i.o.Audit.Record(in, audit.Record{Event: audit.Command, Decision: audit.Allowed, Command: word, Text: in.Text})
			for _, id := range dropped {
				i.o.Events.Report(events.Event{Type: events.Dropped, Chat: in.Chat, Inbound: id, Reason: events.Cancelled})
			}
			if chosen != "" {
				i.o.AgentChanged(in.Chat, chosen)
			}
			if request.StartConversation {
				for _, agent := range i.o.Settings().Agents {
					agent.Runner.EndSession(in.Chat.String())
				}
			}
		}
		return err
	}
	if c.clearsMemory && running != nil {
		err = running.ResetMemory(storeOutcome)
	} else {
		err = storeOutcome()
	}
	if first {
		i.cancelStopped(request, running)
	}
	return err
}

func (c commandCall) start(context.Context) (string, error) {
	return c.text(words.Hello), nil
}

func (c commandCall) help(ctx context.Context) (string, error) {
	c.reply.Private = true
	language := string(c.words(c.in).Language())
	var b strings.Builder
	r, err := c.o.Access.Role(ctx, sender(c.in))
	if err != nil {
		return "", err
	}
	for _, m := range choice.Allowed(r, c.o.Choice.GatewayCommands()) {
		b.WriteString(helpLine(m, language))
	}
	agent := c.in.Answerer.Agent
	about, err := c.o.AgentInfo(ctx, c.in.Chat, agent)
	if err != nil {
		return "", err
	}
	if its := choice.Allowed(r, c.o.Choice.AgentCommands(agent, about)); len(its) > 0 {
		b.WriteString("\n" + c.text(words.AgentCommands) + "\n")
		for _, m := range its {
			b.WriteString(helpLine(m, language))
		}
		b.WriteString("\n")
	}
	return b.String() + c.text(words.EverythingElse), nil
}

// maxHelpRunes bounds the description of a command in /help. Agents describe theirs in paragraphs.
const maxHelpRunes = 80

// helpLine returns a command with its description as one line.
func helpLine(m channels.Command, language string) string {
	help := channels.FirstLine(m.HelpFor(language), maxHelpRunes)
	return strings.TrimRight("/"+m.Name+": "+help, ": ") + "\n"
}

// text returns a text in the language of the command's sender.
func (c commandCall) text(k words.Key, values ...any) string {
	return c.words(c.in).Text(k, values...)
}

func (c commandCall) newConversation(context.Context) (string, error) {
	c.request.StartConversation = true
	return c.text(words.NewConversation), nil
}

func (c commandCall) whoami(ctx context.Context) (string, error) {
	c.reply.Private = true
	r, err := c.o.Access.Role(ctx, sender(c.in))
	if err != nil {
		return "", err
	}
	if r != role.None {
		return c.text(words.WhoAmIRole, c.in.User.ID, c.in.Chat, r), nil
	}
	return c.text(words.WhoAmI, c.in.User.ID, c.in.Chat), nil
}

// retry runs the last message again that had a turn.
func (c commandCall) retry(ctx context.Context) (string, error) {
	if c.o.Lanes.RunningTurn(c.in.Chat) != nil {
		return c.text(words.StillWorking), nil
	}
	inbound, ok, err := store.Retried(ctx, c.o.Store, c.o.Access.AdmitsMessage, c.in.Chat)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return c.text(words.NothingToRetry), nil
	case inbound.Ended.IsZero(): // its outcome is being stored
		return c.text(words.StillWorking), nil
	}
	c.request.Restart = inbound.ID
	return "", nil
}

// runAgain carries out the button under the report of a turn that was cut off.
func (c commandCall) runAgain(ctx context.Context) (string, error) {
	inbound, ok, err := c.o.Store.Inbound(ctx, press.Inbound(c.args))
	if err != nil {
		return "", fmt.Errorf("read message: %w", err)
	}
	if !ok {
		return "", nil
	}
	text, err := c.restart(ctx, inbound)
	if c.request.Restart != 0 && inbound.State == store.Done { // it has run again since the report
		c.request.Restart, text = 0, c.textForSender(words.RanAgain)
	}
	return text, err
}

// resend carries out the button under the notice of a message that the network did not take.
func (c commandCall) resend(ctx context.Context) (string, error) {
	c.request.Resend = press.Inbound(c.args)
	ok, err := c.o.Store.IsResendable(ctx, c.in.Chat, c.request.Resend)
	if ok || err != nil {
		return "", err
	}
	return c.textForSender(words.NothingToResend), nil
}

// restart has a message run again that has run, or whose new text has not.
func (c commandCall) restart(ctx context.Context, inbound store.Inbound) (string, error) {
	if inbound.In.Chat != c.in.Chat || inbound.State == store.Running || inbound.State == store.Pending {
		return "", nil
	}
	ok, err := c.o.Access.AdmitsMessage(ctx, inbound.In)
	if err != nil {
		return "", err
	}
	if !ok {
		return c.textForSender(words.AuthorWithoutAccess), nil
	}
	c.request.Restart = inbound.ID
	return "", nil
}

// cancelWaiting carries out the button under the notice of a queued message.
func (c commandCall) cancelWaiting(ctx context.Context) (string, error) {
	id := press.Inbound(c.args)
	if id == 0 {
		return "", nil
	}
	n, err := c.o.Store.Cancel(ctx, c.in.Chat, id)
	if err != nil {
		return "", fmt.Errorf("cancel message: %w", err)
	}
	if n == 0 {
		return c.textForSender(words.NotWaiting), nil
	}
	c.o.Notices.Recheck(c.in.Chat)
	c.o.Events.Report(events.Event{Type: events.Dropped, Chat: c.in.Chat, Inbound: id, Reason: events.Cancelled})
	return c.text(words.Cancelled), nil
}

// parseCommand recognises the gateway's commands, in text and in button presses.
func (i *Intake) parseCommand(in channels.Incoming) (c command, args string, ok bool) {
	word, args := commandWord(in)
	c, ok = commands[word]
	switch {
	case !ok || in.Forwarded != nil && in.Press == "": // a forwarded text is not the sender's own
		return command{}, "", false
	case word == startWord && args != "": // the text of a link to the bot; see startText
		return command{}, "", false
	case in.Press == "" && (c.button || word == "/"+choice.CommandAgent && !i.o.Choice.Several()):
		return command{}, "", false
	case (word == "/"+choice.CommandRun || word == "/"+choice.CommandRunbooks) && !i.o.Choice.HasRunbooks():
		return command{}, "", false
	}
	return c, args, ok
}

// commandWord splits a message into a possible command and its arguments.
func commandWord(in channels.Incoming) (word, args string) {
	if in.Press != "" {
		word, args = press.ParseCommand(in.Press)
	} else {
		word, args, _ = strings.Cut(strings.TrimSpace(in.Text), " ")
	}
	return strings.ToLower(word), strings.TrimSpace(args)
}

// startWord is the command that Telegram sends when a person opens the bot.
const startWord = "/start"

// startText returns the text of a message. After /start, that is the rest: a link to the bot can
// have a text, which arrives in this form.
func startText(in channels.Incoming) string {
	if word, args := commandWord(in); word == startWord && args != "" && in.Press == "" && in.Forwarded == nil {
		return args
	}
	return in.Text
}
