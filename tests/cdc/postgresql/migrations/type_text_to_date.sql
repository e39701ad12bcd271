-- Texts become dates.
-- loaded: birthday
-- before
CREATE TABLE birthday (id int PRIMARY KEY, born text);
INSERT INTO birthday VALUES (1, '31.12.1999'), (2, NULL);
-- migration
ALTER TABLE birthday ALTER COLUMN born TYPE date USING to_date(born, 'DD.MM.YYYY');
-- after
INSERT INTO birthday VALUES (3, '2001-02-03');
