-- Attributes of a JSON column become columns of their own.
-- before
CREATE TABLE event (id bigserial PRIMARY KEY, payload jsonb NOT NULL);
INSERT INTO event (payload) SELECT jsonb_build_object('kind', 'k' || g % 3, 'n', g) FROM generate_series(1, 12) g;
-- migration
ALTER TABLE event ADD COLUMN kind text, ADD COLUMN n int;
UPDATE event SET kind = payload ->> 'kind', n = (payload ->> 'n')::int;
UPDATE event SET payload = payload - 'kind' - 'n';
CREATE INDEX CONCURRENTLY event_kind ON event (kind);
-- after
INSERT INTO event (payload, kind, n) VALUES ('{"more": [1]}', 'k9', 13);
