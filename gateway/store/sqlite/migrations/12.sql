-- Named values that belong to no chat, such as who is signed in to the web page.
CREATE TABLE record (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
