package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"nanobot/channels"
)

// earlierState is what earlier versions kept in files of their own: which bot the folder began
// with, which groups have moved, and updates that were confirmed and not received yet.
//
// The updates of one message are a file: NUMBER.open of an album that may get more parts,
// NUMBER.sealed of any other message, NUMBER.done of an album that was received, because the store
// knew only its first part. Those of a bot that the folder did not begin with are in bot-ID/.
type earlierState struct {
	dir   string
	bot   int64           // 0: none is kept
	moved map[int64]int64 // by which id a supergroup is known
}

const (
	earlierMoves = "moved.json"
	earlierBot   = "bot.json"
	openFile     = ".open"
	sealedFile   = ".sealed"
	doneFile     = ".done"
	// unfinishedFile begins the names of files that were not written to their end.
	unfinishedFile = ".slip-"
)

// readEarlier reads what decides how updates are imported. It changes nothing.
func readEarlier(dir string) (*earlierState, error) {
	e := &earlierState{dir: dir}
	if dir == "" {
		return e, nil
	}
	var bot struct {
		ID int64 `json:"id"`
	}
	if err := readJSON(filepath.Join(dir, earlierMoves), &e.moved); err != nil {
		return nil, fmt.Errorf("read which groups have moved: %w", err)
	}
	if err := readJSON(filepath.Join(dir, earlierBot), &bot); err != nil {
		return nil, fmt.Errorf("read which bot this state is of: %w", err)
	}
	e.bot = bot.ID
	return e, nil
}

// readJSON reads a file, if it is there.
func readJSON(path string, into any) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// importEarlier moves what earlier versions kept into the channel's memory. A file is removed once
// its content is durable there, and importing it again changes nothing, so that it may be cut off
// at any point.
func (c *Channel) importEarlier(ctx context.Context, receive channels.Receive) error {
	e := c.earlier
	if _, err := os.Stat(e.dir); e.dir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if e.bot != 0 {
		if err := c.memory.Save(ctx, botKey, strconv.FormatInt(e.bot, 10)); err != nil {
			return err
		}
	}
	if len(e.moved) > 0 {
		if err := c.moves.saveAll(ctx, c.memory); err != nil {
			return err
		}
	}
	folders, err := filepath.Glob(filepath.Join(e.dir, "bot-*"))
	if err != nil {
		return err
	}
	for _, folder := range append(folders, e.dir) {
		prefix := ""
		if id, ok := strings.CutPrefix(filepath.Base(folder), "bot-"); ok && folder != e.dir {
			prefix = id + botMark
		}
		if err := c.importUpdates(ctx, folder, prefix, receive); err != nil {
			return err
		}
	}
	// What is left is what could not be read.
	for _, name := range []string{earlierMoves, earlierBot} {
		_ = os.Remove(filepath.Join(e.dir, name))
	}
	for _, folder := range append(folders, e.dir) {
		_ = os.Remove(folder)
	}
	e.bot, e.moved = 0, nil
	return nil
}

// earlierFile is the file of one message.
type earlierFile struct {
	path    string
	updates []*update
}

// importUpdates imports the files of a folder, the oldest message first.
func (c *Channel) importUpdates(ctx context.Context, folder, prefix string, receive channels.Receive) error {
	names, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var files []earlierFile
	for _, n := range names {
		path := filepath.Join(folder, n.Name())
		if strings.HasPrefix(n.Name(), unfinishedFile) {
			_ = os.Remove(path)
			continue
		}
		if !slices.Contains([]string{openFile, sealedFile, doneFile}, filepath.Ext(path)) {
			continue
		}
		f, err := readUpdates(path)
		if err != nil { // it must not keep the others from being received
			c.log.Error("update of an earlier version cannot be read and stays there", zap.String("file", path), zap.Error(err))
			continue
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b earlierFile) int { return cmp.Compare(a.updates[0].ID, b.updates[0].ID) })
	for _, f := range files {
		if err := c.importFile(ctx, f, prefix, receive); err != nil {
			return err
		}
		if err := os.Remove(f.path); err != nil { // it is imported once more at the next start, which changes nothing
			c.log.Warn("imported update of an earlier version cannot be removed", zap.String("file", f.path), zap.Error(err))
		}
	}
	return nil
}

func readUpdates(path string) (earlierFile, error) {
	f := earlierFile{path: path}
	b, err := os.ReadFile(path)
	if err != nil {
		return f, err
	}
	var all []json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return f, err
	}
	for _, raw := range all {
		u := &update{raw: raw}
		if err := json.Unmarshal(raw, u); err != nil {
			return f, err
		}
		f.updates = append(f.updates, u)
	}
	if len(f.updates) == 0 {
		return f, errors.New("there is no update in it")
	}
	return f, nil
}

// importFile gathers the parts of a message. Those of one that was received before are dropped,
// which makes all of them known.
func (c *Channel) importFile(ctx context.Context, f earlierFile, prefix string, receive channels.Receive) error {
	var parts []channels.Incoming
	var first *message
	for _, u := range f.updates {
		c.moves.locate(u)
		if u.Message == nil {
			continue // an earlier version took it for more
		}
		if first == nil || u.Message.ID < first.ID {
			first = u.Message
		}
		parts = append(parts, c.part(u, prefix, ""))
	}
	if len(parts) == 0 {
		return nil
	}
	group := parts[0].ID
	received, err := c.memory.Known(ctx, parts[0].Chat, prefix+first.name())
	if err != nil {
		return err
	}
	for _, part := range parts {
		part.Part.Group = group
		if err := receive(ctx, part); err != nil {
			return err
		}
	}
	if received || filepath.Ext(f.path) == doneFile {
		return c.memory.DropParts(ctx, parts[0].Chat, group)
	}
	return nil
}
