import io.debezium.connector.sqlserver.Lsn;
import io.debezium.connector.sqlserver.SqlServerChangeTable;
import io.debezium.connector.sqlserver.SqlServerConnection;
import io.debezium.connector.sqlserver.SqlServerConnectorConfig;
import io.debezium.connector.sqlserver.SqlServerValueConverters;
import io.debezium.jdbc.JdbcConnection;
import java.lang.reflect.Proxy;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;

/** Answers what the streaming source asks, from rows of change tables that are handed over. */
public class NoServer extends SqlServerConnection {
    private final List<SqlServerChangeTable> tables;
    private final Function<Object[], List<Object[]>> changes;
    private final Lsn last;

    public NoServer(
            SqlServerConnectorConfig config, SqlServerValueConverters converters,
            List<SqlServerChangeTable> tables, Function<Object[], List<Object[]>> changes, Lsn last) {
        super(config, converters, config.getSkippedOperations(), true);
        this.tables = tables;
        this.changes = changes;
        this.last = last;
    }

    @Override
    public Lsn getMaxTransactionLsn(String database) {
        return last;
    }

    @Override
    public Lsn getNthTransactionLsnFromBeginning(String database, int most) {
        return last;
    }

    @Override
    public Lsn getNthTransactionLsnFromLast(String database, Lsn since, int most) {
        return last;
    }

    @Override
    public Lsn incrementLsn(String database, Lsn lsn) {
        byte[] next = lsn.getBinary().clone();
        for (int at = next.length - 1; ++next[at] == 0; at--) {
        }
        return Lsn.valueOf(next);
    }

    @Override
    public List<SqlServerChangeTable> getChangeTables(String database, Lsn to) {
        return tables;
    }

    @Override
    public List<SqlServerChangeTable> getNewChangeTables(String database, Lsn from, Lsn to) {
        return List.of();
    }

    @Override
    public ResultSet getChangesForTable(
            SqlServerChangeTable table, Lsn from, Lsn sequence, int operation, Lsn to, int most) {
        Object[] asked = {
            table.getCaptureInstance(), from.toString(), sequence.toString(), operation,
            to.toString(), most};
        return rows(table.getCapturedColumns(), changes.apply(asked));
    }

    @Override
    public Duration getCdcCapturePollingInterval() {
        return Duration.ofSeconds(5);
    }

    @Override
    public boolean didTransactionEnd() {
        return true;
    }

    @Override
    public JdbcConnection commit() {
        return this;
    }

    @Override
    public synchronized JdbcConnection rollback() {
        return this;
    }

    /** Commit, sequence, operation, mask, the columns, and the time. */
    private static ResultSet rows(List<String> columns, List<Object[]> rows) {
        int[] at = {-1};
        ResultSetMetaData types = proxy(ResultSetMetaData.class, (name, index) -> switch (name) {
            case "getColumnCount" -> columns.size() + 5;
            case "getColumnName" -> columns.get(index - 5);
            case "getColumnType" -> java.sql.Types.OTHER;
            default -> throw new UnsupportedOperationException(name);
        });
        return proxy(ResultSet.class, (name, index) -> switch (name) {
            case "next" -> ++at[0] < rows.size();
            case "close" -> null;
            case "getMetaData" -> types;
            default -> rows.get(at[0])[index - 1];
        });
    }

    private interface Answer {
        Object of(String method, int index);
    }

    private static <T> T proxy(Class<T> type, Answer answer) {
        return type.cast(Proxy.newProxyInstance(
                NoServer.class.getClassLoader(), new Class<?>[] {type},
                (self, method, given) ->
                        answer.of(method.getName(), given == null ? 0 : (Integer) given[0])));
    }
}
