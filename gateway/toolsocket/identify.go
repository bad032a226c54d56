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

// The texts of refusals are for the process that is refused.
var (
	errUnknownProcess = errors.New("the daemon cannot tell which process this is")
	errGone           = errors.New("the process that connected is gone")
	errUnknownChat    = errors.New("the daemon cannot tell which chat this process works for; start nanobot mcp as a child of the agent")
	errOtherToken     = errors.New("the token in $NANOBOT_CHAT_TOKEN is not that of the chat which this process works for")
	errNoToken        = errors.New("the token in $NANOBOT_CHAT_TOKEN is no chat's")
	errUnreadable     = errors.New("the daemon cannot read its state at the moment; try again")
)

// process is a process that has connected, as far as the kernel and the supervisor know it.
type process struct {
	owner   terminal.Owner // zero for a process that no agent has started
	outside bool           // no agent has started it
	uid     int
}

// group names the connections among which one is counted until the hello is read.
func (p process) group() string {
	if p.outside {
		return fmt.Sprintf("user %d", p.uid)
	}
	return chatOf(p.owner)
}

// identify tells which process has connected. The refusal says why it may not use tools, whatever
// its hello is.
func (s *server) identify(conn *peersocket.Conn) (p process, refusal error) {
	peer, err := conn.Peer()
	if err != nil {
		return p, errUnknownProcess
	}
	owner, outside := s.ownerOf(peer)
	if !conn.PeerAlive() { // and the owner may be that of another process with its pid
		return p, errGone
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

// ownerOf returns whose a process is; "": that cannot be told. outside says that no agent has
// started it.
func (s *server) ownerOf(peer peersocket.Peer) (owner string, outside bool) {
	if peer.Pid == 0 { // our descendants are in our PID namespace, or in one within
		return "", true
	}
	owner, descends, err := s.OwnerOf(peer.Pid)
	if err != nil && peer.UID == 0 && os.Geteuid() != 0 { // the kernel may hide the processes of root from us
		return "", true
	}
	return owner, err == nil && !descends
}

// ownerByToken returns for whom a process acts that has a token, or "". A process of an agent acts
// for its own chat alone.
func (s *server) ownerByToken(ctx context.Context, p process, token string) (o terminal.Owner, refusal error) {
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
		return p.owner, errOtherToken
	}
	return p.owner, nil
}

// errCrowded refuses a connection when there are too many of its group.
var errCrowded = fmt.Errorf("there are %d connections of this chat or user already; close some", mostPerGroup)

// enter counts a connection of a group until leave is called, unless there are too many. "" is the
// group of the processes that act for no chat.
func (s *server) enter(group string) (leave func(), refusal error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts[group] >= mostPerGroup {
		return func() {}, errCrowded
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
