package main

import (
	"io"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"

	"nanobot/config"
)

// newLog returns the log of a command that people run by hand. It has warnings and errors, or
// everything if verbose.
func newLog(w io.Writer, verbose bool) *zap.Logger {
	level := zapcore.WarnLevel
	if verbose {
		level = zapcore.DebugLevel
	}
	enc := zap.NewDevelopmentEncoderConfig()
	enc.TimeKey, enc.CallerKey = "", ""
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(enc), zapcore.Lock(zapcore.AddSync(w)), level))
}

// newDaemonLog returns the daemon's log and its level, which a reload can change. Lines are JSON,
// except on a terminal or if log.format says otherwise.
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

// parseLevel returns the level with a name that the config allows.
func parseLevel(name string) zapcore.Level {
	level, err := zapcore.ParseLevel(name)
	if err != nil {
		return zapcore.InfoLevel
	}
	return level
}
