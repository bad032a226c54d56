package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/config"
	"nanobot/gateway/store"
)

const (
	// normalWait is how long something may be unfinished, unless a turn may take longer.
	normalWait = time.Hour
	// maxUnexplained bounds the lines of the text.
	maxUnexplained = 50
)

// lookAt says for each problem what it is and where to look.
var lookAt = map[store.Problem]string{
	store.NoReason:   "settled without a turn and without a reason; look at its line in the log",
	store.NoAnswer:   "its turn has ended without an answer, or a script has sent nothing; look at it in the log",
	store.AnswerLost: "its answer is in the transcript, and its send is missing; look at what has changed the database",
	store.Overdue:    "unfinished for too long; look at nanobot doctor and at the errors of this chat in the log",
	store.NoReceipt:  "sent without a receipt; look whether the message is in the chat",
	store.InLost:     "answers a message that is missing; look at what has changed the database",
}

// proof is a store.Proof as --json prints it.
type proof struct {
	In       int            `json:"in"`
	Answered int            `json:"answered"`
	Reasons  map[string]int `json:"reasons"`
	Sends    int            `json:"sends"`
	Receipts int            `json:"receipts"`
	Marked   int            `json:"marked"`
	Open     []openItem     `json:"open"`
}

// openItem is a message or a send that is not explained.
type openItem struct {
	What    string        `json:"what"` // message or send
	ID      int64         `json:"id"`
	Chat    string        `json:"chat"`
	Age     int64         `json:"age"` // in seconds
	State   store.State   `json:"state"`
	Problem store.Problem `json:"problem"`
	Look    string        `json:"look"`
}

func newProve(std stdio) *cobra.Command {
	var asJSON bool
	var last time.Duration
	cmd := withConfig(&cobra.Command{
		Use:   "prove [flags]",
		Short: "Check that every message has an answer or a reason, and every send a receipt",
		Long: `Prove reads the state, whether the daemon runs or not: every message in must have an answer or a reason, and every send
a receipt or a mark. A reason is why a message got no turn (such as command, rate_limited, queue_full, busy, quota,
cancelled, read, not_admitted) or needs no message (silent, stopped, refused, revoked, interrupted, undelivered). A mark
is a send that is recorded as failed, as unknown, or as left out because a newer message replaces it.

What is unfinished has the reason pending, running or sending for an hour, or for the longest terminal.timeout; waiting
for a person does not count, and a message waits from the start of the turn before it. After that it is unexplained.
Sends count when they have ended or are overdue. Beyond gateway.keep.messages and maxMessages nothing is checked.

With --json it prints {"in","answered","reasons":{…},"sends","receipts","marked","open":[…]}.
Exit status: 0 everything is explained, 1 something is not, or the state cannot be read, 2 wrong use, 78 bad config.`,
		Example: `  nanobot prove
  nanobot prove --since 1h --json --config /etc/nanobot/mybot/config.json`,
		Args: noArguments,
	}, func(cmd *cobra.Command, cfg *config.Config, _ []string) error {
		if last <= 0 {
			return exit.Usagef("--since must be more than 0, such as 24h")
		}
		p := store.Proof{Since: time.Now().Add(-last), Reasons: map[string]int{}}
		if hasState(cfg) {
			err := asStateOwner(cfg, std, func() error {
				db, err := openStore(cmd.Context(), cfg, true)
				if err != nil {
					return err
				}
				p, err = db.Prove(cmd.Context(), newProofRequest(cfg, last))
				return errors.Join(err, closeStore(db))
			})
			if err != nil {
				return err
			}
		}
		return reportProof(std.out, p, asJSON)
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().DurationVar(&last, "since", 24*time.Hour, "check the `time` until now")
	return cmd
}

// newProofRequest returns what is to be proved with a config.
func newProofRequest(cfg *config.Config, last time.Duration) store.ProofRequest {
	keep, due := cfg.Gateway.Keep, normalWait
	for _, name := range cfg.AgentNames() {
		if agent, ok := cfg.ForAgent(name); ok {
			due = max(due, time.Duration(agent.Terminal.Timeout)*time.Second)
		}
	}
	return store.ProofRequest{
		Since: min(last, time.Duration(keep.Messages)*24*time.Hour), Due: due, Kept: keep.MaxMessages,
	}
}

// reportProof prints a proof. Its error is the exit status 1 if something is unexplained.
func reportProof(out io.Writer, p store.Proof, asJSON bool) error {
	printed := proof{
		In: p.In, Answered: p.Answered, Reasons: p.Reasons, Sends: p.Sends, Receipts: p.Receipts, Marked: p.Marked,
		Open: []openItem{},
	}
	for _, u := range p.Open {
		what := "message"
		if u.Send {
			what = "send"
		}
		printed.Open = append(printed.Open, openItem{
			what, u.ID, u.Chat.String(), int64(u.Age.Seconds()), u.State, u.Problem, lookAt[u.Problem],
		})
	}
	var err error
	if asJSON {
		err = format.WriteJSON(out, printed)
	} else {
		err = printed.write(out, p)
	}
	if err == nil && len(p.Open) > 0 {
		err = exit.Error{Status: exit.Failed}
	}
	return err
}

// write writes a proof as text.
func (printed proof) write(out io.Writer, p store.Proof) error {
	var reasons []string
	explained := 0
	for _, reason := range slices.Sorted(maps.Keys(p.Reasons)) {
		reasons = append(reasons, fmt.Sprintf("%s %d", reason, p.Reasons[reason]))
		explained += p.Reasons[reason]
	}
	fmt.Fprintf(out, "Since %s:\n", p.Since.Local().Format(time.DateTime))
	fmt.Fprintf(out, "messages in: %d; answered %d, with a reason %d", p.In, p.Answered, explained)
	if explained > 0 {
		fmt.Fprintf(out, " (%s)", strings.Join(reasons, ", "))
	}
	fmt.Fprintf(out, "\nsends: %d; with a receipt %d, marked %d; %d more not due yet\n", p.Sends, p.Receipts, p.Marked,
		p.NotDue)
	if len(printed.Open) == 0 {
		_, err := fmt.Fprintln(out, "Everything is explained.")
		return err
	}
	fmt.Fprintf(out, "Not explained: %d\n", len(printed.Open))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, o := range printed.Open[:min(len(printed.Open), maxUnexplained)] {
		fmt.Fprintf(w, "  %s %d\t%s\t%s\t%s\t%s\n", o.What, o.ID, o.Chat, time.Duration(o.Age)*time.Second, o.State, o.Look)
	}
	if more := len(printed.Open) - maxUnexplained; more > 0 {
		fmt.Fprintf(w, "  and %d more, see --json\n", more)
	}
	return w.Flush()
}
