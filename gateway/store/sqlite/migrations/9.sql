-- One set of words: an inbound message, an outbound message in deliveries, transient messages, pairings.
ALTER TABLE seen RENAME COLUMN item TO inbound;
ALTER TABLE outbox RENAME COLUMN item TO inbound;
ALTER TABLE outbox RENAME COLUMN place TO sequence;
ALTER TABLE spooled RENAME COLUMN parcel TO delivery;
ALTER TABLE transcript RENAME COLUMN item TO inbound;
ALTER TABLE afresh RENAME COLUMN item TO inbound;
ALTER TABLE trace RENAME COLUMN item TO inbound;
ALTER TABLE question RENAME COLUMN item TO inbound;
ALTER TABLE question RENAME COLUMN parcel TO delivery;
ALTER TABLE bubble RENAME COLUMN item TO inbound;
ALTER TABLE bubble RENAME TO transient;
ALTER TABLE guest RENAME TO pairing;

-- The member that has claimed a running inbound message, or a delivery that is being sent; "": nobody.
ALTER TABLE inbox ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE outbox ADD COLUMN owner TEXT NOT NULL DEFAULT '';

-- The token of a chat, which its agents' processes carry.
CREATE TABLE token (
	token TEXT PRIMARY KEY,
	chat  TEXT NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;
