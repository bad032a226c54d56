package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.uber.org/zap"
)

const (
	// botFile says which bot the folder of the channel's state began with.
	botFile = "bot.json"
	// botMark is between a bot's id and what it stands before.
	botMark = ":"
)

var errNoState = errors.New("no folder for what came until it is received")

// recognise finds out whether this is the bot that the state folder began with. Each bot numbers
// the messages of its private chats, and its updates, by itself: those of another one would be
// taken for ones that were received long ago. So what another bot numbers has its id before it. It
// returns an error only if what an earlier run has kept cannot be read.
func (c *Channel) recognise(ctx context.Context) error {
	first, err := c.firstBot(ctx)
	if err != nil {
		return err
	}
	c.prefix = ""
	if first != c.me.ID {
		c.prefix = strconv.FormatInt(c.me.ID, 10) + botMark
		sealed, _ := filepath.Glob(filepath.Join(c.o.State, "*"+sealedSlip))
		open, _ := filepath.Glob(filepath.Join(c.o.State, "*"+openSlip))
		if left := append(sealed, open...); len(left) > 0 {
			c.log.Warn("messages to another bot are on the shelf; they are received when its token is back", zap.Int("messages", len(left)))
		}
	}
	if c.resume != "" {
		c.cursor = c.readCursor(c.resume)
		c.resume = ""
	}
	return nil
}

// firstBot returns the bot that the state folder began with, which is this one if it has none yet.
func (c *Channel) firstBot(ctx context.Context) (int64, error) {
	if c.o.State == "" {
		return 0, errNoState
	}
	var kept struct {
		ID int64 `json:"id"`
	}
	path := filepath.Join(c.o.State, botFile)
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &kept)
	}
	switch {
	case err == nil && kept.ID != 0:
		return kept.ID, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return 0, fmt.Errorf("read which bot this folder is of, in %s: %w", path, err)
	}
	kept.ID = c.me.ID
	if b, err = json.Marshal(kept); err != nil {
		return 0, err
	}
	for disk := c.newTrouble("cannot keep which bot this is, will retry"); ; {
		if err = newShelf(c.o.State, c.log).write(botFile, b); err == nil {
			return kept.ID, nil
		}
		if !disk.Wait(ctx, err) {
			return 0, ctx.Err()
		}
	}
}

// shelfDir is where the shelf is. The updates of another bot lie apart: they have other numbers,
// and files only for it.
func (c *Channel) shelfDir() string {
	if c.prefix == "" {
		return c.o.State
	}
	return filepath.Join(c.o.State, "bot-"+strings.TrimSuffix(c.prefix, botMark))
}

// messageName is a message's id for the gateway.
func (c *Channel) messageName(m *message) string { return c.prefix + m.name() }

func (c *Channel) writeCursor(update int64) string { return c.prefix + strconv.FormatInt(update, 10) }

// readCursor returns the update that a cursor says, or 0 if it is another bot's.
func (c *Channel) readCursor(cursor string) int64 {
	number, ok := strings.CutPrefix(cursor, c.prefix)
	if !ok {
		return 0
	}
	update, _ := strconv.ParseInt(number, 10, 64)
	return update
}
