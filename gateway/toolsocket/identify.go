package toolsocket

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"go.uber.org/zap"

	"nanobot/internal/peersocket"
	"nanobot/terminal"
)

// The texts of refusals are for the refused process.
var (
	errUnknownProcess = errors.New("the daemon cannot tell which process this is")
	errProcessGone    = errors.New("the process that connected is gone")
	errUnknownChat    = errors.New("the daemon cannot tell which chat this process works for; start it as a " +
		"child of the agent")
	errForeignToken = errors.New("the token in $NANOBOT_CHAT_TOKEN is not that of the chat which this process works for")
	errNoToken      = errors.New("the token in $NANOBOT_CHAT_TOKEN is no chat's")
	errUnreadable   = errors.New("the daemon cannot read its state at the moment; try again")
)

// peerProcess is a connected process, as the kernel and the supervisor know it.
type peerProcess struct {
	owner   terminal.Owner // zero for a process that no agent has started
	outside bool           // no agent has started it
	uid     int
}

// countGroup returns the group in which the connection is counted until its hello is read.
func (p peerProcess) countGroup() string {
	if p.outside {
		return fmt.Sprintf("user %d", p.uid)
	}
	return ownerChat(p.owner)
}

// identify determines which process has connected. The refusal is independent of its hello.
func (s *server) identify(conn *peersocket.Conn) (p peerProcess, refusal error) {
	peer, err := conn.Peer()
	if err != nil {
		return p, errUnknownProcess
	}
	owner, outside := s.ownerOf(peer)
	if !conn.PeerAlive() { // its PID may have been reused, so the owner may be wrong
		return p, errProcessGone
	}
	p.outside, p.uid = outside, peer.UID
	if outside {
		if peer.UID != os.Geteuid() && peer.UID != 0 {
			return p, fmt.Errorf("this process is of another user (%d) and was not started by an agent of the bot", peer.UID)
		}
		return p, nil
	}
	var ok bool
	if p.owner, ok = terminal.ParseOwner(owner); !ok {
		return p, errUnknownChat
	}
	return p, nil
}

// ownerOf returns the owner of a process, "" if unknown. outside means that no agent has started
// it.
func (s *server) ownerOf(peer peersocket.Peer) (owner string, outside bool) {
	if peer.Pid == 0 { // descendants are in the daemon's PID namespace or a nested one
		return "", true
	}
	owner, descends, err := s.OwnerOf(peer.Pid)
	if err != nil && peer.UID == 0 && os.Geteuid() != 0 { // the kernel may hide root's processes from other users
		return "", true
	}
	return owner, err == nil && !descends
}

// ownerByToken returns the owner that a process with a token acts for. A process of an agent acts
// only for its own chat.
func (s *server) ownerByToken(ctx context.Context, p peerProcess, token string) (o terminal.Owner, refusal error) {
	if token == "" {
		return p.owner, nil
	}
	chat, known, err := s.ChatOfToken(ctx, token)
	switch {
	case err != nil:
		s.Log.Error("cannot look up the token of a chat", zap.Error(err))
		return p.owner, errUnreadable
	case p.outside && !known:
		return p.owner, errNoToken
	case p.outside:
		return terminal.Owner{Channel: chat.Channel, ChatID: chat.ID}, nil
	case !known, chat.Channel != p.owner.Channel, chat.ID != p.owner.ChatID:
		return p.owner, errForeignToken
	}
	return p.owner, nil
}

// errTooMany refuses a connection of a group that has too many.
var errTooMany = fmt.Errorf("there are %d connections of this chat or user already; close some", maxPerGroup)

// countConn counts a connection of a group until leave is called, unless there are too many. "" is
// the group of processes that act for no chat.
func (s *server) countConn(group string, limit int) (leave func(), refusal error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts[group] >= limit {
		return func() {}, errTooMany
	}
	s.counts[group]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.counts[group]--; s.counts[group] == 0 {
			delete(s.counts, group)
		}
	}), nil
}
