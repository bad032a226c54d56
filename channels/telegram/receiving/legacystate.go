package receiving

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
	"nanobot/channels/telegram/chats"
	"nanobot/channels/telegram/updates"
)

// LegacyState is the data that earlier versions kept in files: the bot that the folder was created
// with, the migrated groups, and updates that were confirmed and not received yet.
//
// The updates of one message are a file: NUMBER.open for an album that may get more parts,
// NUMBER.sealed for any other message, NUMBER.done for an album that was received, because the
// store knew only its first part. The files of a bot other than the first are in bot-ID/.
type LegacyState struct {
	dir   string
	bot   int64           // 0: unknown
	Moved map[int64]int64 // new ID → old ID of a supergroup
}

const (
	legacyMigrationsFile = "moved.json"
	legacyBotFile        = "bot.json"
	openFile             = ".open"
	sealedFile           = ".sealed"
	doneFile             = ".done"
	// unfinishedFile is the name prefix of incompletely written files.
	unfinishedFile = ".slip-"
)

// ReadLegacyState reads the bot and the migrated groups. It changes nothing.
func ReadLegacyState(dir string) (*LegacyState, error) {
	e := &LegacyState{dir: dir}
	if dir == "" {
		return e, nil
	}
	var bot struct {
		ID int64 `json:"id"`
	}
	if err := readJSON(filepath.Join(dir, legacyMigrationsFile), &e.Moved); err != nil {
		return nil, fmt.Errorf("read which groups have moved: %w", err)
	}
	if err := readJSON(filepath.Join(dir, legacyBotFile), &bot); err != nil {
		return nil, fmt.Errorf("read which bot this state is of: %w", err)
	}
	e.bot = bot.ID
	return e, nil
}

// readJSON reads a file, if it exists.
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

// importLegacyState moves the data of earlier versions into the channel's memory. A file is removed
// once its content is durable there, and importing it again changes nothing, so an interrupted
// import is repeated.
func (r *Receiver) importLegacyState(ctx context.Context, receive channels.Receive) error {
	e := r.o.Legacy
	if _, err := os.Stat(e.dir); e.dir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if e.bot != 0 {
		if err := r.memory.Save(ctx, botKey, strconv.FormatInt(e.bot, 10)); err != nil {
			return err
		}
	}
	if len(e.Moved) > 0 {
		if err := r.o.Migrations.Save(ctx); err != nil {
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
			prefix = id + chats.BotSeparator
		}
		if err := r.importLegacyUpdates(ctx, folder, prefix, receive); err != nil {
			return err
		}
	}
	// Only unreadable files are left, which keep their folder.
	for _, name := range []string{legacyMigrationsFile, legacyBotFile} {
		_ = os.Remove(filepath.Join(e.dir, name))
	}
	for _, folder := range append(folders, e.dir) {
		_ = os.Remove(folder)
	}
	e.bot, e.Moved = 0, nil
	return nil
}

// legacyFile is the file of one message.
type legacyFile struct {
	path    string
	updates []*updates.Update
}

// importLegacyUpdates imports the files of a folder, the oldest message first.
func (r *Receiver) importLegacyUpdates(ctx context.Context, folder, prefix string, receive channels.Receive) error {
	names, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var files []legacyFile
	for _, n := range names {
		path := filepath.Join(folder, n.Name())
		if strings.HasPrefix(n.Name(), unfinishedFile) {
			_ = os.Remove(path)
			continue
		}
		if !slices.Contains([]string{openFile, sealedFile, doneFile}, filepath.Ext(path)) {
			continue
		}
		f, err := readLegacyUpdates(path)
		if err != nil { // the others are still imported
			r.o.Log.Error("update of an earlier version cannot be read and stays there", zap.String("file", path),
				zap.Error(err))
			continue
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b legacyFile) int { return cmp.Compare(a.updates[0].ID, b.updates[0].ID) })
	for _, f := range files {
		if err := r.importLegacyFile(ctx, f, prefix, receive); err != nil {
			return err
		}
		if err := os.Remove(f.path); err != nil { // the next start imports it again, which changes nothing
			r.o.Log.Warn("imported update of an earlier version cannot be removed", zap.String("file", f.path), zap.Error(err))
		}
	}
	return nil
}

func readLegacyUpdates(path string) (legacyFile, error) {
	f := legacyFile{path: path}
	b, err := os.ReadFile(path)
	if err != nil {
		return f, err
	}
	var all []json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return f, err
	}
	for _, raw := range all {
		u := &updates.Update{Raw: raw}
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

// importLegacyFile stores the parts of a message. The parts of a message that was received before
// are dropped, which records their IDs.
func (r *Receiver) importLegacyFile(ctx context.Context, f legacyFile, prefix string, receive channels.Receive) error {
	var parts []channels.Incoming
	var first *updates.Message
	for _, u := range f.updates {
		r.resolveChat(u)
		if u.Message == nil {
			continue // not a message: nothing to receive
		}
		if first == nil || u.Message.ID < first.ID {
			first = u.Message
		}
		parts = append(parts, r.newPart(u, prefix, ""))
	}
	if len(parts) == 0 {
		return nil
	}
	group := parts[0].ID
	received, err := r.memory.Known(ctx, parts[0].Chat, prefix+first.GatewayID())
	if err != nil {
		return err
	}
	for _, part := range parts {
		part.Part.Group = group
		if err := receive(ctx, part); err != nil && !errors.Is(err, channels.ErrKnown) {
			return err
		}
	}
	if received || filepath.Ext(f.path) == doneFile {
		return r.memory.DropParts(ctx, parts[0].Chat, group)
	}
	return nil
}
