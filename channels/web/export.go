package web

import (
	"archive/zip"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/web/history"
	"nanobot/channels/web/page"
	"nanobot/internal/words"
)

const (
	// exportBatch is how many messages of an export are read at once, maxExportsPerUser how many
	// exports of one user may be in progress.
	exportBatch, maxExportsPerUser = 50, 2
	exportTime                     = "2006-01-02 15:04 MST"
)

// export writes a chat into a zip archive, whose size is not bounded: it is streamed.
type export struct {
	ch    *Channel
	h     *history.History
	chat  string
	user  string // who reads it
	bot   string // its name, as Markdown
	words words.Words
	zip   *zip.Writer
}

// getExport streams an archive with a chat as Markdown, and its files.
func (c *Channel) getExport(w http.ResponseWriter, r *http.Request) error {
	h, id, err := c.requestedChat(r)
	if err != nil {
		return err
	}
	actor := c.requester(r)
	chat, err := h.Chat(r.Context(), actor, id)
	if err != nil {
		return err
	}
	name := "exports " + actor.User
	if !c.inFlight.tryAdd(name, maxExportsPerUser) {
		return shownError(http.StatusTooManyRequests, words.PageTooManyRequests)
	}
	defer c.inFlight.remove(name)
	texts := c.words.For(requestLanguage(r))
	title := cmp.Or(chat.Title, texts.Text(words.PageUntitled))
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Disposition", contentDisposition("attachment", downloads.Name(title, "chat")+".zip"))
	bot := channels.EscapeMarkdown(cmp.Or(c.o.Name, page.DefaultName))
	e := export{c, h, id, actor.User, bot, texts, zip.NewWriter(w)}
	if err := e.write(r.Context(), title); err != nil {
		if r.Context().Err() == nil {
			c.log.Warn("export aborted", zap.String("chat", id), zap.Error(err))
		}
		panic(http.ErrAbortHandler) // so that the browser does not take the rest for the whole
	}
	return nil
}

func (e export) write(ctx context.Context, title string) error {
	to, err := e.zip.Create("chat.md")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(to, "# %s\n", channels.EscapeMarkdown(title)); err != nil {
		return err
	}
	if err := e.each(ctx, func(m history.Event) error {
		_, err := io.WriteString(to, e.markdown(m))
		return err
	}); err != nil {
		return err
	}
	if err := e.each(ctx, e.writeFiles); err != nil {
		return err
	}
	if _, _, err := e.h.ChatOwner(ctx, e.chat); err != nil { // some of it may be missing
		return err
	}
	return e.zip.Close()
}

// each calls do with the messages of the chat, oldest first.
func (e export) each(ctx context.Context, do func(history.Event) error) error {
	for after, more := int64(0), true; more; {
		events, further, err := e.h.MessagesAfter(ctx, e.chat, after, exportBatch)
		if err != nil {
			return err
		}
		more = further
		for _, m := range events {
			after = m.Seq
			if err := do(m); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// fileName returns the name of a message's file in the archive.
func fileName(m history.Event, i int) string {
	return fmt.Sprintf("files/%d-%d-%s", m.Seq, i+1, downloads.Name(m.Media[i].Name, "file"))
}

// markdown returns a message as Markdown.
func (e export) markdown(m history.Event) string {
	if m.Removed && m.From == fromBot { // a screen that a newer message shows
		return ""
	}
	from := e.bot + ":"
	switch {
	case m.From == fromUser && m.User == e.user:
		from = e.words.Text(words.PageFromYou)
	case m.From == fromUser:
		from = channels.EscapeMarkdown(cmp.Or(m.Name, m.User)) + ":"
	}
	parts := []string{"\n---", fmt.Sprintf("**%s** %s", from, m.Time.UTC().Format(exportTime))}
	switch {
	case m.Removed:
		parts = append(parts, "*"+e.words.Text(words.PageSecretRemoved)+"*")
	case m.Format == channels.Code:
		parts = append(parts, fenced(m.Text))
	case m.Format == channels.Literal:
		parts = append(parts, channels.EscapeMarkdown(m.Text))
	default:
		parts = append(parts, m.Text)
	}
	if m.Details != "" {
		parts = append(parts, "<details>\n\n"+m.Details+"\n\n</details>")
	}
	for i, f := range m.Media {
		line := "- " + channels.EscapeMarkdown(f.Name)
		if e.ch.mediaState(e.chat, f) == "" {
			line = fmt.Sprintf("- [%s](<%s>)", channels.EscapeMarkdown(f.Name), fileName(m, i))
		}
		parts = append(parts, line)
	}
	at := slices.IndexFunc(m.Buttons, func(b channels.Button) bool { return b.Data == m.Pressed })
	if m.Outcome == "" && at >= 0 {
		m.Outcome = m.Buttons[at].Label
	}
	if m.Outcome != "" {
		parts = append(parts, "→ "+m.Outcome)
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// fenced returns a text as a Markdown code block.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}

// writeFiles adds the files of a message. Those that are gone are left out.
func (e export) writeFiles(m history.Event) error {
	for i, f := range m.Media {
		from, err := e.ch.openMedia(e.h, e.chat, f)
		if err != nil {
			continue
		}
		to, err := e.zip.CreateHeader(&zip.FileHeader{Name: fileName(m, i), Method: zip.Store, Modified: m.Time.In(time.UTC)})
		if err == nil {
			_, err = io.Copy(to, from)
		}
		_ = from.Close() // it was only read
		if err != nil {
			return err
		}
	}
	return nil
}
