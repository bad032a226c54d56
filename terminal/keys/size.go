package keys

import (
	"context"
	"strconv"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/process"
	"nanobot/terminal/screen/picture"
)

// The limits of a terminal. The settings have the same.
const (
	minCols, maxCols = 20, 500
	minRows, maxRows = 5, 200
)

// autoSize is the argument of /size that undoes an earlier one.
const autoSize = "auto"

// parseSize parses the argument of /size, such as 100x30. It reports false for a size that no
// terminal can have.
func parseSize(text string) (process.Size, bool) {
	width, height, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(text, "×", "x")), "x")
	cols, _ := strconv.ParseUint(strings.TrimSpace(width), 10, 16) // 0 and the greatest value are no sizes
	rows, _ := strconv.ParseUint(strings.TrimSpace(height), 10, 16)
	return process.Size{Columns: uint16(cols), Rows: uint16(rows)}, cols >= minCols && cols <= maxCols &&
		rows >= minRows && rows <= maxRows && cols*rows <= picture.MaxCells
}

// sizeUsage says how to write /size.
func sizeUsage(w words.Words) string {
	return w.Text(words.KeysSizeUsage, minCols, maxCols, minRows, maxRows, picture.MaxCells)
}

// runSize runs /size during a turn, which stores the size when it ends. The board shows the effect.
func (p *terminals) runSize(s *session, r terminal.ControlRequest) terminal.ControlReply {
	size, ok := parseSize(r.Args)
	switch {
	case r.Args == autoSize:
		if size, ok = parseSize(r.FittingSize); !ok {
			size = p.size
		}
	case !ok:
		return terminal.ControlReply{Text: sizeUsage(r.Words)}
	}
	s.chosenSize.Store(&r.Args)
	s.resize(size)
	return terminal.ControlReply{}
}

// chooseSize stores the size that the people of the chat have chosen, by the message of a turn or
// during it; nil: none.
func (p *terminals) chooseSize(ctx context.Context, t terminal.Turn, chosen *string) error {
	if chosen == nil {
		return nil
	}
	size := strings.TrimPrefix(*chosen, autoSize)
	return t.Memory().Save(context.WithoutCancel(ctx), terminal.LastingMemory, size)
}

// sizeFor returns the size of the terminal for a chat with people at the keyboard: what they have
// chosen, or what their browser has room for. known is false if neither is known; then a new
// terminal has the size of the settings, and an open one stays as it is.
func (p *terminals) sizeFor(ctx context.Context, t terminal.Turn) (size process.Size, known bool) {
	if !p.resizable {
		return p.size, false
	}
	if chosen, err := t.Memory().Load(ctx, terminal.LastingMemory); err == nil {
		if size, known = parseSize(chosen); known {
			return size, true
		}
	}
	if size, known = parseSize(t.FittingSize); known {
		return size, true
	}
	command, args := splitCommand(t.Envelope.Text)
	return p.size, command == sizeCommand && args == autoSize
}

// resize changes the size of the terminal. Errors mean that the program has exited.
func (s *session) resize(size process.Size) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size == size {
		return
	}
	s.size = size
	s.screen.Resize(int(size.Columns), int(size.Rows))
	s.recording = s.log.startRecording(size)
	s.recording.addOutput(redrawSequence(s.screen.Snapshot()), s.screen)
	_ = s.agent.Resize(size)
	s.notifyWatchersLocked()
}
