package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"nanobot/cmd/nanobot/state"
	"nanobot/config"
	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/gateway/store/sqlite"
)

// stateStore is the state, in whichever engine.
type stateStore interface {
	store.Store
	// Channels returns the names of the channels whose messages the store has, sorted.
	Channels(ctx context.Context) ([]string, error)
	// MissingCopies counts the files that undelivered messages need, and those that are missing.
	MissingCopies(ctx context.Context) (missing, all int, err error)
}

// describeMember tells the other members what this one uses now, if there are others.
func describeMember(ctx context.Context, s stateStore, cfg *config.Config) error {
	if shared, ok := s.(lockedStore); ok {
		if m, ok := shared.stateStore.(*postgres.Store); ok {
			return m.Describe(ctx, memberInfo(cfg))
		}
	}
	return nil
}

// memberInfo is what a member says about itself. Its labels are those of the start.
func memberInfo(cfg *config.Config) store.MemberInfo {
	return store.MemberInfo{Labels: cfg.Gateway.Member.Labels, Version: version, Config: sharedDigest(cfg)}
}

// openStore opens the state: shared for a command that works while the daemon runs, else for the
// daemon.
func openStore(ctx context.Context, cfg *config.Config, shared bool) (stateStore, error) {
	return openWatched(ctx, cfg, sqlite.Options{Shared: shared}, zap.NewNop())
}

// openWatched opens the state. The options are those of SQLite; a shared database needs only
// Shared.
func openWatched(ctx context.Context, cfg *config.Config, o sqlite.Options, log *zap.Logger) (stateStore, error) {
	if cfg.Gateway.Store == "" {
		s, err := sqlite.Open(ctx, cfg.Gateway.StateDir, o)
		if err != nil {
			return nil, state.Explain(cfg, err)
		}
		return s, nil
	}
	return openShared(ctx, cfg, o.Shared, log)
}

// databaseOptions returns how to open the shared database.
func databaseOptions(cfg *config.Config) (postgres.Options, error) {
	password, err := cfg.Gateway.StorePassword.RevealAt("gateway", "storePassword")
	member := cfg.Gateway.Member
	return postgres.Options{
		URL: cfg.Gateway.Store, Password: password, Bot: cfg.Gateway.Bot, Name: member.Name,
		TTL: time.Duration(member.TTL) * time.Second, Dir: cfg.Gateway.StateDir,
		Spool: filepath.Join(cfg.SharedDir(), "spool"),
		Info:  memberInfo(cfg),
	}, err
}

// channelDatabase returns how channels connect to the shared database; nil if there is none.
func channelDatabase(cfg *config.Config) (*pgx.ConnConfig, error) {
	if cfg.Gateway.Store == "" {
		return nil, nil //nolint:nilnil // channels then use files
	}
	o, err := databaseOptions(cfg)
	if err != nil {
		return nil, err
	}
	return postgres.ConnConfig(o)
}

// openShared becomes a member of the shared database.
func openShared(ctx context.Context, cfg *config.Config, command bool, log *zap.Logger) (stateStore, error) {
	o, err := databaseOptions(cfg)
	if err != nil {
		return nil, err
	}
	o.Command = command
	o.Waiting = func(lease time.Duration) {
		log.Warn("another member has this name; waiting until its lease has ended", zap.String("member", o.Name),
			zap.Duration("lease", lease))
	}
	if command {
		return openMember(ctx, o, func() error { return nil })
	}
	if err := os.MkdirAll(cfg.Gateway.StateDir, 0o700); err != nil {
		return nil, err
	}
	// Two processes with the same folder would replace each other for ever.
	unlock, err := sqlite.Lock(cfg.Gateway.StateDir)
	if err != nil {
		return nil, state.Explain(cfg, err)
	}
	return openMember(ctx, o, unlock)
}

// lockedStore is a store that releases its folder when it is closed.
type lockedStore struct {
	stateStore
	unlock func() error
}

func (s lockedStore) Close() error { return errors.Join(s.stateStore.Close(), s.unlock()) }

func openMember(ctx context.Context, o postgres.Options, unlock func() error) (stateStore, error) {
	s, err := postgres.Open(ctx, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open gateway.store: %w", err), unlock())
	}
	return lockedStore{s, unlock}, nil
}

// sharedDigest returns a digest of the settings that must be the same for all members.
func sharedDigest(cfg *config.Config) string {
	text, err := json.Marshal(cfg.Shared())
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// hasState reports whether a daemon has ever used the state.
func hasState(cfg *config.Config) bool {
	_, err := os.Stat(filepath.Join(cfg.Gateway.StateDir, sqlite.Database))
	return cfg.Gateway.Store != "" || !errors.Is(err, os.ErrNotExist)
}
