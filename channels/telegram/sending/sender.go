// Package sending plans, sends and changes messages on Telegram, within the limits of the network.
// It knows nothing of received messages, queues or storage.
package sending

import (
	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"nanobot/channels"
	"nanobot/channels/relocated"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/chats"
	"nanobot/channels/telegram/pace"
)

// Options configures a sender.
type Options struct {
	API        *botapi.Client
	Pace       *pace.Pacer
	Migrations *chats.Migrations
	Log        *zap.Logger
	// Rich, Drafts and Reactions switch on rich messages, drafts of answers in private chats, and
	// reactions in groups, where the server supports them.
	Rich, Drafts, Reactions bool
	// GroupDocuments sends documents and audio in albums instead of singly.
	GroupDocuments bool
	// OwnServer says that the server is not Telegram's, so that it accepts larger files.
	OwnServer bool
}

// Sender sends and changes messages.
type Sender struct {
	Planner
	api               *botapi.Client
	pace              *pace.Pacer
	migrations        *chats.Migrations
	log               *zap.Logger
	drafts, reactions bool

	memory      channels.Memory
	support     support
	deletions   deletionQueues
	unfinished  unfinishedSends
	relocated   relocated.Messages // out of closed topics
	uploadSlots *semaphore.Weighted
}

// maxUploads bounds connections and disk traffic across all chats.
const maxUploads = 16

// New returns a sender.
func New(o Options) *Sender {
	s := &Sender{
		Planner: Planner{rich: o.Rich, groupDocuments: o.GroupDocuments, maxUpload: maxUpload},
		api:     o.API, pace: o.Pace, migrations: o.Migrations, log: o.Log, drafts: o.Drafts, reactions: o.Reactions,
		support:     support{log: o.Log, failures: map[string]failures{}},
		deletions:   deletionQueues{chats: map[int64]*deletionQueue{}},
		uploadSlots: semaphore.NewWeighted(maxUploads),
	}
	if o.OwnServer {
		s.maxUpload = maxLocalUpload
	}
	return s
}

// SetMemory sets the channel's memory.
func (s *Sender) SetMemory(m channels.Memory) { s.memory = m }
