-- People who are not admitted leave no rows in the inbox and the outbox. What is kept of them is bounded.

-- The message of a guest that waits for an answer, "" if there is none; and how far a guest who was let in has been welcomed:
-- 0 there is nothing to do, 1 to be told, 2 told, and the message is to be received.
ALTER TABLE guest ADD COLUMN message TEXT NOT NULL DEFAULT '';
ALTER TABLE guest ADD COLUMN welcome INTEGER NOT NULL DEFAULT 0;
CREATE INDEX guest_welcome ON guest (channel, user) WHERE welcome > 0;

-- Messages of people who were not admitted, so that the same one offered again is a duplicate.
CREATE TABLE refused (
	seq     INTEGER PRIMARY KEY,
	chat    TEXT NOT NULL,
	message TEXT NOT NULL,
	at      INTEGER NOT NULL,
	UNIQUE (chat, message)
) STRICT;

-- When pairing codes were made, which bounds how many are made in an hour; and who was told to try later.
CREATE TABLE code_made (
	channel TEXT NOT NULL,
	at      INTEGER NOT NULL
) STRICT;
CREATE TABLE told_later (
	channel TEXT NOT NULL,
	user    TEXT NOT NULL,
	at      INTEGER NOT NULL,
	PRIMARY KEY (channel, user)
) STRICT, WITHOUT ROWID;

-- A parcel whose sending cannot be called back, but which is not tried again.
ALTER TABLE outbox ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;
-- The item that a parcel is about without answering it, 0: none.
ALTER TABLE outbox ADD COLUMN about INTEGER NOT NULL DEFAULT 0;

-- What earlier versions kept of such people: messages without a turn, of users who were neither let in by a code nor ever had a turn.
-- Duplicates of the last day stay known.
CREATE TEMP TABLE strangers_item AS
	WITH sender AS (
		SELECT id, state, attempt, CASE WHEN json_valid(incoming)
			THEN json_array(incoming ->> '$.chat.channel', incoming ->> '$.user.id') END AS who FROM inbox)
	SELECT id FROM sender WHERE state = 'done' AND attempt = 0 AND who IS NOT NULL
		AND who NOT IN (SELECT who FROM sender WHERE who IS NOT NULL AND (attempt > 0 OR state <> 'done'))
		AND who NOT IN (SELECT json_array(channel, user) FROM guest WHERE code = '');
DELETE FROM outbox WHERE settled > 0 AND item IN (SELECT id FROM strangers_item);
DELETE FROM seen WHERE item IN (SELECT id FROM strangers_item) AND at < (unixepoch() - 86400) * 1000000;
DELETE FROM inbox WHERE id IN (SELECT id FROM strangers_item);
DROP TABLE strangers_item;
