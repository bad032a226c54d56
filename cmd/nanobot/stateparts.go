package main

import (
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
	"nanobot/internal/httpd"
)

// statePart is something in stateDir that is ours: a file, or a folder with all that is in it.
type statePart struct {
	name string
	how  partCopy
}

// partCopy says how a part gets into a backup.
type partCopy int

const (
	notCopied partCopy = iota // it is of use to this run of the daemon only, or is no state
	copied                    // as it is, before the databases: what waits in it is in a database once it is gone
	snapshot                  // by those who know what is in it
	byproduct                 // of a snapshot: it goes with its database
)

// stateParts are all of them. The folder may hold other things, because it may be the workspace.
var stateParts = []statePart{
	{telegramState, copied},
	{httpd.KeyFile, copied},
	{httpd.OutFile, copied},
	{httpd.LinkFolder, copied},
	{httpd.SessionFolder, copied},
	{webState, snapshot},
	{"spool", snapshot},
	{database, snapshot},
	{database + dbfile.Log, byproduct},
	{database + dbfile.Index, byproduct},
	{database + ".new", notCopied},
	{database + ".new-journal", notCopied},
	{sqlite.Copies, notCopied},
	{sqlite.Unfinished, notCopied},
	{"daemon.lock", notCopied},
	{"agents.txt", notCopied},
	{httpd.OutLock, notCopied},
	{"history", notCopied},
}

// replaced tells whether a restore puts a part of a backup into its place, and what was there away.
func (p statePart) replaced() bool { return p.how != notCopied }
