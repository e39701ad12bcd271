import io.debezium.connector.oracle.OracleConnection;
import io.debezium.jdbc.JdbcConfiguration;
import oracle.sql.CharacterSet;

/** Answers the one question that the converters have for a database. */
public class NoDatabase extends OracleConnection {
    public NoDatabase(JdbcConfiguration configuration) {
        super(configuration, false);
    }

    @Override
    public CharacterSet getNationalCharacterSet() {
        return CharacterSet.make(CharacterSet.AL16UTF16_CHARSET);
    }
}
