
-- The key pair that identifies this server to push services.
CREATE TABLE push_keys (
	public_key  TEXT PRIMARY KEY,
	private_key TEXT NOT NULL
) WITHOUT ROWID;

-- The browsers to which notifications are pushed.
CREATE TABLE push_subscriptions (
	endpoint TEXT PRIMARY KEY,
	owner    TEXT NOT NULL,
	sign_in  TEXT NOT NULL,    -- the sign-in of the browser, with which the subscription ends
	p256dh   TEXT NOT NULL,    -- public key of the browser
	auth     TEXT NOT NULL,    -- secret shared with the browser
	origin   TEXT NOT NULL,    -- of the page
	detailed INTEGER NOT NULL, -- 1: with the beginning of the message
	created  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX push_by_owner ON push_subscriptions (owner);
