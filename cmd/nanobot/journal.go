package main

import (
	"fmt"
	"os"
	"syscall"

	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
)

// isJournal tells whether a file is systemd's journal: systemd names the device and inode that it
// connected.
func isJournal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && os.Getenv("JOURNAL_STREAM") == fmt.Sprintf("%d:%d", s.Dev, s.Ino)
}

// journalEncoder puts syslog's number of the level before each line. The journal takes it off again
// and files the line under it, so that journalctl -p warning finds what it should, and what is kept
// is the line alone.
type journalEncoder struct{ zapcore.Encoder }

// Clone keeps the numbers in loggers that are made of this one.
func (e journalEncoder) Clone() zapcore.Encoder { return journalEncoder{e.Encoder.Clone()} }

// EncodeEntry encodes a line.
func (e journalEncoder) EncodeEntry(entry zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	line, err := e.Encoder.EncodeEntry(entry, fields)
	if err != nil {
		return nil, err
	}
	defer line.Free()
	numbered := journalLines.Get()
	numbered.AppendString(syslogLevel(entry.Level))
	_, err = numbered.Write(line.Bytes())
	return numbered, err
}

var journalLines = buffer.NewPool()

func syslogLevel(l zapcore.Level) string {
	switch {
	case l >= zapcore.DPanicLevel:
		return "<2>"
	case l >= zapcore.ErrorLevel:
		return "<3>"
	case l >= zapcore.WarnLevel:
		return "<4>"
	case l >= zapcore.InfoLevel:
		return "<6>"
	}
	return "<7>"
}
