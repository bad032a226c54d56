package sqlite

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Member returns the name of this handle's member.
func (s inbox) Member() string { return s.member }

// Adopt takes over the claimed work of other members. They are gone, since only one daemon at a
// time has the lock.
func (s inbox) Adopt(ctx context.Context) (store.Adopted, error) {
	// The process records of all running turns are read, because fillProcesses frees every other
	// line of the process file, also those of this member. This happens before the adoption,
	// because an adopted message is not adopted again after a failure.
	running, err := readAll(ctx, s.state, "read the work of earlier daemons",
		scanInbound, selectInbound+"state = 'running' AND ended = 0 ORDER BY id")
	if err != nil {
		return store.Adopted{}, err
	}
	if err := s.processes.fillProcesses(running); err != nil {
		return store.Adopted{}, fmt.Errorf("read the work of earlier daemons: %w", err)
	}
	adopted, err := changed(ctx, s.state, "adopt the work of earlier daemons", func(t *tx) store.Adopted {
		a := store.Adopted{
			// state <> 'sent' is redundant, but lets SQLite use the partial index outbox_unsent.
			Deliveries: queryAllTx(t, scanDelivery, selectDelivery+
				"state = 'sending' AND state <> 'sent' AND owner <> ? ORDER BY id", s.member),
			Transients: queryAllTx(t, scanTransient, selectTransient+`WHERE inbound NOT IN
				(SELECT id FROM inbox WHERE state = 'running' AND ended = 0 AND owner = ?) ORDER BY inbound, chat, id`, s.member),
			Folds: adoptFolds(t, s.member),
		}
		t.exec("UPDATE inbox SET owner = ?1 WHERE state = 'running' AND ended = 0 AND owner <> ?1", s.member)
		t.exec("UPDATE outbox SET owner = ?1 WHERE state = 'sending' AND state <> 'sent' AND owner <> ?1", s.member)
		return a
	})
	if err != nil {
		return store.Adopted{}, err
	}
	adopted.Transients = slices.DeleteFunc(adopted.Transients, func(transient store.Transient) bool {
		return slices.ContainsFunc(adopted.Folds, func(f store.PendingFold) bool { return f.Board == transient })
	})
	for _, inbound := range running {
		if inbound.Owner != s.member {
			inbound.Owner = s.member
			adopted.Inbounds = append(adopted.Inbounds, inbound)
		}
	}
	return adopted, nil
}

// processFile is a text file with a line of fixed width for each inbound message whose agent runs,
// and one for the gateway. It is not part of the database because a process must be recorded before
// it can do much, and because no process survives a crash of the machine: lines are overwritten in
// place and never synced.
type processFile struct {
	file *os.File

	mu    sync.Mutex
	lines map[int64]int64 // line numbers by inbound message
	free  []int64         // numbers of unused lines
	count int64           // number of lines
}

// processLineWidth is the length of a line in bytes: room for two numbers and the start time of a
// process.
const processLineWidth = 128

func openProcessFile(path string) (*processFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &processFile{file: f, lines: map[int64]int64{}}, nil
}

// SetProcess records the process of an inbound message's agent.
func (s inbox) SetProcess(id int64, p store.Process) error {
	if err := s.processes.record(id, p); err != nil {
		return fmt.Errorf("record the process of inbound message %d: %w", id, err)
	}
	return nil
}

func (a *processFile) record(id int64, p store.Process) error {
	text := fmt.Sprintf("%d %d %s", id, p.Pid, p.Start)
	if len(text) >= processLineWidth {
		return errors.New("its start time is too long")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n, known := a.lines[id]
	switch last := len(a.free) - 1; {
	case known:
	case last >= 0:
		n, a.free = a.free[last], a.free[:last]
	default:
		n = a.count
		a.count++
	}
	a.lines[id] = n
	return a.writeLine(n, text)
}

func (a *processFile) writeLine(n int64, text string) error {
	_, err := a.file.WriteAt(fmt.Appendf(nil, "%-*s\n", processLineWidth-1, text), n*processLineWidth)
	return err
}

// remove frees the line of an inbound message that has ended.
func (a *processFile) remove(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n, known := a.lines[id]; known {
		delete(a.lines, id)
		a.free = append(a.free, n)
		_ = a.writeLine(n, "") // fillProcesses ignores messages that are not running
	}
}

// fillProcesses sets the processes of running inbound messages as recorded, by this or an earlier
// daemon. All other lines are freed, also those that a full disk has cut short.
func (a *processFile) fillProcesses(inbounds []store.Inbound) error {
	text, err := io.ReadAll(io.NewSectionReader(a.file, 0, 1<<62))
	if err != nil {
		return err
	}
	running := map[int64]*store.Process{}
	for i := range inbounds {
		running[inbounds[i].ID] = &inbounds[i].Process
	}
	var gateway store.Process
	running[0] = &gateway
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines, a.free, a.count = map[int64]int64{}, nil, 0
	for line := range bytes.Lines(text) {
		var id int64
		var p store.Process
		_, err := fmt.Sscanf(string(line), "%d %d %s", &id, &p.Pid, &p.Start)
		if into := running[id]; err == nil && into != nil {
			*into, a.lines[id] = p, a.count
		} else {
			a.free = append(a.free, a.count)
			if err := a.writeLine(a.count, ""); err != nil { // or the next run of the message would get this process
				return err
			}
		}
		a.count++
	}
	for i := range inbounds {
		if p := &inbounds[i].Process; p.Pid == 0 {
			p.Start = gateway.Start
		}
	}
	return nil
}

// ChatOfToken returns the chat of a token.
func (s inbox) ChatOfToken(ctx context.Context, token string) (channels.Chat, bool, error) {
	return readOne(ctx, s.state, "look up a token", scanChat, "SELECT chat FROM token WHERE token = ?", token)
}

// ensureToken returns the token of a chat, and creates one if there is none.
func ensureToken(t *tx, chat string) (token string) {
	if !t.queryRow("SELECT token FROM token WHERE chat = ?", []any{chat}, &token) {
		token = rand.Text()
		t.exec("INSERT INTO token (token, chat) VALUES (?, ?)", token, chat)
	}
	return token
}

// revokeTokens deletes the tokens of the chats in which only the given user has written, so that
// copies of these tokens become useless when the user loses access.
func revokeTokens(t *tx, channel, user string) {
	t.exec(`DELETE FROM token WHERE chat IN (SELECT DISTINCT i.chat FROM inbox i WHERE `+senderCondition+`)
		AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.chat = token.chat AND `+responsiblePerson+` <> ?2)`, channel, user)
}
