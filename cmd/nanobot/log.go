package main

import (
	"io"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"

	"nanobot/config"
)

// newLog returns a log for people who run a command by hand: silent unless something is wrong or
// they ask.
func newLog(w io.Writer, verbose bool) *zap.Logger {
	level := zapcore.WarnLevel
	if verbose {
		level = zapcore.DebugLevel
	}
	enc := zap.NewDevelopmentEncoderConfig()
	enc.TimeKey, enc.CallerKey = "", ""
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(enc), zapcore.Lock(zapcore.AddSync(w)), level))
}

// newDaemonLog returns the daemon's log, and its level for changing it later: lines for people on a
// terminal, JSON elsewhere, unless the configuration says which.
func newDaemonLog(w io.Writer, cfg config.Log) (*zap.Logger, zap.AtomicLevel) {
	level := zap.NewAtomicLevelAt(parseLevel(cfg.Level))
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime, enc.EncodeDuration = zapcore.RFC3339TimeEncoder, zapcore.StringDurationEncoder
	encoder := zapcore.NewJSONEncoder(enc)
	f, isFile := w.(*os.File)
	if cfg.Format == "console" || cfg.Format == "auto" && isFile && term.IsTerminal(int(f.Fd())) {
		encoder = zapcore.NewConsoleEncoder(enc)
	}
	if isFile && isJournal(f) {
		encoder = journalEncoder{encoder}
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), level)), level
}

// parseLevel takes one of the levels that the configuration allows.
func parseLevel(name string) zapcore.Level {
	level, err := zapcore.ParseLevel(name)
	if err != nil {
		return zapcore.InfoLevel
	}
	return level
}
