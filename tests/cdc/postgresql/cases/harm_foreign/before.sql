-- Foreign tables (postgres_fdw, back into this database).
\set secret `echo "$PGPASSWORD"`
create schema harm_foreign;
set search_path = harm_foreign, public;
create extension if not exists postgres_fdw with schema public;
do $$ begin
  execute format('create server harm_foreign_loop foreign data wrapper postgres_fdw options (host %L, port %L, dbname %L)',
    split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database());
end $$;
create user mapping for current_user server harm_foreign_loop options (user :'USER', password :'secret');
create table real_table (id int primary key, v text);      insert into real_table values (1, 'a'), (2, 'b');
create foreign table foreign_table (id int, v text) server harm_foreign_loop options (schema_name 'harm_foreign', table_name 'real_table');
create table far_leaf (id int primary key, v text);        insert into far_leaf values (1001, 'far');
create table split (id int not null, v text) partition by range (id);
create table split_near partition of split for values from (0) to (1000);
create foreign table split_far partition of split for values from (1000) to (2000) server harm_foreign_loop options (schema_name 'harm_foreign', table_name 'far_leaf');
insert into split values (1, 'near');
