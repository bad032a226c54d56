// Package state lists the files of nanobot in the state folder, and explains errors of a state that
// cannot be used. It neither opens nor changes the files.
package state

import (
	"nanobot/channels/web"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
	"nanobot/internal/httpd"
)

// Part is a file or folder of nanobot in stateDir.
type Part struct {
	Name string
	Copy Copy
}

// Copy says how a part is copied into a backup.
type Copy int

// The ways to copy a part.
const (
	NotCopied Copy = iota // needed only while the daemon runs, or not part of the state
	// copied file by file before the databases: content that moves to a database meanwhile is
	// copied there
	Plain
	Snapshot  // copied by the package that owns the format
	Byproduct // part of a database, contained in its snapshot
)

// OpenPage is the page with which web and demo open a browser.
const OpenPage = "open.html"

// Socket is the file with the path of the running daemon's socket.
const Socket = "socket"

// Page is the file with the address of the running daemon's chat page.
const Page = "page"

// Web is the folder of the web channel's conversations, a database and files.
const Web = web.StateFolder

// Record is the folder of recorded turns, for nanobot dev with a config that names none.
const Record = "record"

// Parts returns all parts of the state. The folder may hold other files, because it may be the
// workspace. channelFolders are the folders of channels that are copied file by file.
func Parts(channelFolders []string) []Part {
	var all []Part
	for _, name := range channelFolders {
		all = append(all, Part{name, Plain})
	}
	return append(all, []Part{
		{httpd.KeyFile, Plain}, // this and the next three are files of earlier versions, until they are imported
		{httpd.SignedOutFile, Plain},
		{httpd.LinkFolder, Plain},
		{httpd.SessionFolder, Plain},
		{Web, Snapshot},
		{"spool", Snapshot},
		{sqlite.Database, Snapshot},
		{sqlite.Database + dbfile.LogSuffix, Byproduct},
		{sqlite.Database + dbfile.IndexSuffix, Byproduct},
		{sqlite.Database + dbfile.JournalSuffix, Byproduct},
		{sqlite.Database + ".new", NotCopied},
		{sqlite.Database + ".new" + dbfile.JournalSuffix, NotCopied},
		{sqlite.Database + ".new" + dbfile.LogSuffix, NotCopied},
		{sqlite.Database + ".new" + dbfile.IndexSuffix, NotCopied},
		{sqlite.Copies, NotCopied},
		{sqlite.Unfinished, NotCopied},
		{sqlite.LockFile, NotCopied},
		{"agents.txt", NotCopied},
		{httpd.SignedOutLock, NotCopied},
		{"history", NotCopied},
		{"history.new", NotCopied},
		{OpenPage, NotCopied},
		{Socket, NotCopied},
		{Page, NotCopied},
	}...)
}

// Replaced reports whether a restore replaces the part.
func (p Part) Replaced() bool { return p.Copy != NotCopied }
