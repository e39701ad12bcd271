-- Rails: a foreign key without a long lock, after orphans were removed.
-- before
CREATE TABLE authors (id bigint PRIMARY KEY, name text);
CREATE TABLE books (id bigint PRIMARY KEY, author_id bigint);
INSERT INTO authors VALUES (1, 'ann');
INSERT INTO books VALUES (1, 1), (2, 99), (3, NULL);
-- migration
DELETE FROM books WHERE author_id IS NOT NULL AND NOT EXISTS (SELECT FROM authors WHERE authors.id = author_id);
ALTER TABLE "books" ADD CONSTRAINT "fk_rails_53d51ce16a" FOREIGN KEY ("author_id") REFERENCES "authors" ("id") NOT VALID;
ALTER TABLE "books" VALIDATE CONSTRAINT "fk_rails_53d51ce16a";
-- after
INSERT INTO books VALUES (4, 1);
