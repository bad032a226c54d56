// Package state knows the files of nanobot in the state folder, and what to do when they cannot be
// used. It neither opens nor changes them.
package state

import (
	"nanobot/channels/web"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
	"nanobot/internal/httpd"
)

// Part is a file or a folder of nanobot's own in stateDir.
type Part struct {
	Name string
	Copy Copy
}

// Copy says how a part is copied into a backup.
type Copy int

// The ways to copy a part.
const (
	NotCopied Copy = iota // of use to this run of the daemon only, or no state
	Plain                 // file by file, before the databases: what is removed from it is in a database by then
	Snapshot              // by the package that owns the format
	Byproduct             // of a snapshot: it belongs to its database
)

// Door is the page by which the demo opens a browser.
const Door = "open.html"

// Socket is the file that names the socket of the daemon that runs.
const Socket = "socket"

// Web is the folder of the web channel's conversations, which are a database.
const Web = web.StateFolder

// Parts returns all parts of the state. The folder may hold other files, because it may be the
// workspace. channelFolders are the folders of channels that are copied file by file.
func Parts(channelFolders []string) []Part {
	var all []Part
	for _, name := range channelFolders {
		all = append(all, Part{name, Plain})
	}
	return append(all, []Part{
		{httpd.KeyFile, Plain}, // this and the next three only until they are in the database
		{httpd.SignedOutFile, Plain},
		{httpd.LinkFolder, Plain},
		{httpd.SessionFolder, Plain},
		{Web, Snapshot},
		{"spool", Snapshot},
		{sqlite.Database, Snapshot},
		{sqlite.Database + dbfile.Log, Byproduct},
		{sqlite.Database + dbfile.Index, Byproduct},
		{sqlite.Database + dbfile.Journal, Byproduct},
		{sqlite.Database + ".new", NotCopied},
		{sqlite.Database + ".new" + dbfile.Journal, NotCopied},
		{sqlite.Database + ".new" + dbfile.Log, NotCopied},
		{sqlite.Database + ".new" + dbfile.Index, NotCopied},
		{sqlite.Copies, NotCopied},
		{sqlite.Unfinished, NotCopied},
		{sqlite.LockFile, NotCopied},
		{"agents.txt", NotCopied},
		{httpd.SignedOutLock, NotCopied},
		{"history", NotCopied},
		{"history.new", NotCopied},
		{Door, NotCopied},
		{Socket, NotCopied},
	}...)
}

// Replaced reports whether a restore replaces the part by the backup's.
func (p Part) Replaced() bool { return p.Copy != NotCopied }
