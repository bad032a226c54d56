-- The parcel that ends a question's letter, 0: none.
ALTER TABLE question ADD COLUMN parcel INTEGER NOT NULL DEFAULT 0;
CREATE INDEX question_chat ON question (chat, seq);
