import io.debezium.config.Configuration;
import io.debezium.connector.oracle.OracleConnection;
import io.debezium.connector.oracle.OracleConnectorConfig;
import io.debezium.connector.oracle.OracleDatabaseSchema;
import io.debezium.connector.oracle.OracleDatabaseVersion;
import io.debezium.connector.oracle.OracleOffsetContext;
import io.debezium.connector.oracle.OraclePartition;
import io.debezium.connector.oracle.Scn;
import io.debezium.connector.oracle.logminer.AbstractLogMinerStreamingChangeEventSource;
import io.debezium.connector.oracle.logminer.LogMinerStreamingChangeEventSourceMetrics;
import io.debezium.connector.oracle.logminer.OffsetActivityMonitor;
import io.debezium.connector.oracle.logminer.buffered.BufferedLogMinerStreamingChangeEventSource;
import io.debezium.jdbc.JdbcConfiguration;
import io.debezium.pipeline.ErrorHandler;
import io.debezium.pipeline.EventDispatcher;
import io.debezium.relational.TableId;
import io.debezium.util.Clock;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.List;
import oracle.sql.CharacterSet;

/** The connector's reader of LogMiner, over rows of V$LOGMNR_CONTENTS that are handed over. */
public class NoLog extends BufferedLogMinerStreamingChangeEventSource {
    private final List<Object[]> rows;

    public NoLog(
            OracleConnectorConfig config, OracleConnection connection,
            EventDispatcher<OraclePartition, TableId> dispatcher, ErrorHandler errors,
            OracleDatabaseSchema schema, Configuration given,
            LogMinerStreamingChangeEventSourceMetrics metrics, List<Object[]> rows) {
        super(config, connection, dispatcher, errors, Clock.SYSTEM, schema, given, metrics);
        this.rows = rows;
    }

    /** One mining step over all rows. */
    public void mine(
            OraclePartition partition, OracleOffsetContext offset, Object running, String from,
            String to) throws Exception {
        set("effectiveOffset", offset);
        set("partition", partition);
        set("context", running);
        set("offsetActivityMonitor", new OffsetActivityMonitor(25, offset, getMetrics()));
        process(Scn.valueOf(from), Scn.valueOf(from), Scn.valueOf(to));
    }

    @Override
    protected PreparedStatement createQueryStatement() {
        return proxy(
                PreparedStatement.class,
                (name, given) -> name.equals("executeQuery") ? results() : null);
    }

    private void set(String name, Object value) throws Exception {
        Field field = AbstractLogMinerStreamingChangeEventSource.class.getDeclaredField(name);
        field.setAccessible(true);
        field.set(this, value);
    }

    private ResultSet results() {
        int[] at = {-1};
        return proxy(ResultSet.class, (name, given) -> {
            if (name.equals("next")) {
                return ++at[0] < rows.size();
            }
            if (given == null) {
                return null;
            }
            Object value = rows.get(at[0])[(Integer) given[0] - 1];
            return switch (name) {
                case "getInt" -> value == null ? 0 : ((Number) value).intValue();
                case "getLong" -> value == null ? 0L : ((Number) value).longValue();
                case "getString" -> value == null ? null : value.toString();
                default -> value;
            };
        });
    }

    private interface Answer {
        Object of(String method, Object[] given);
    }

    private static <T> T proxy(Class<T> type, Answer answer) {
        return type.cast(Proxy.newProxyInstance(
                NoLog.class.getClassLoader(), new Class<?>[] {type},
                (self, method, given) -> answer.of(method.getName(), given)));
    }

    /** Answers what the reader and the converters ask of a database. */
    public static class Database extends OracleConnection {
        public Database(JdbcConfiguration configuration) {
            super(configuration, false);
        }

        @Override
        public CharacterSet getNationalCharacterSet() {
            return CharacterSet.make(CharacterSet.AL16UTF16_CHARSET);
        }

        @Override
        public boolean isArchiveLogDestinationValid(String name) {
            return true;
        }

        @Override
        public OracleDatabaseVersion getOracleVersion() {
            return null;
        }
    }
}
