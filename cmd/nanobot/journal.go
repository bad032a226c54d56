package main

import (
	"fmt"
	"os"
	"syscall"

	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
)

// isJournal reports whether a file is connected to systemd's journal: JOURNAL_STREAM has the device
// and inode of the connection.
func isJournal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && os.Getenv("JOURNAL_STREAM") == fmt.Sprintf("%d:%d", s.Dev, s.Ino)
}

// journalEncoder writes the syslog priority before each line. The journal strips it and stores it
// as the priority of the line, for journalctl -p warning.
type journalEncoder struct{ zapcore.Encoder }

// Clone is for loggers that are derived from this one.
func (e journalEncoder) Clone() zapcore.Encoder { return journalEncoder{e.Encoder.Clone()} }

// EncodeEntry encodes a line.
func (e journalEncoder) EncodeEntry(entry zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	line, err := e.Encoder.EncodeEntry(entry, fields)
	if err != nil {
		return nil, err
	}
	defer line.Free()
	prefixed := journalLines.Get()
	prefixed.AppendString(syslogPrefix(entry.Level))
	_, err = prefixed.Write(line.Bytes())
	return prefixed, err
}

var journalLines = buffer.NewPool()

func syslogPrefix(l zapcore.Level) string {
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
