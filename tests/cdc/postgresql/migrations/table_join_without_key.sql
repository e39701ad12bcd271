-- Rails: a join table without a key, which no mirror can take.
-- unfit: roles_users
-- before
CREATE TABLE users (id bigint PRIMARY KEY);
CREATE TABLE roles (id bigint PRIMARY KEY);
INSERT INTO users VALUES (1);
INSERT INTO roles VALUES (1);
-- migration
CREATE TABLE "roles_users" ("role_id" bigint NOT NULL, "user_id" bigint NOT NULL);
CREATE INDEX ON roles_users (user_id, role_id);
-- after
INSERT INTO roles_users VALUES (1, 1);
DELETE FROM roles_users;
INSERT INTO users VALUES (2);
