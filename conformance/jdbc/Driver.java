import java.io.FileInputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Properties;

/**
 * One driver with its options: how it connects, and what its vendor calls things. Not what is
 * checked; that is {@link Checks}.
 */
final class Driver {
    static final String HOST = env("MESETA_HOST", "127.0.0.1");
    static final String PORT = env("MESETA_PORT", "3306");
    static final String DATABASE = env("MESETA_DATABASE", "check_jdbc");
    static final String PASSWORD = env("MESETA_PASSWORD", "");

    final String variant;
    final boolean isMariadb;

    Driver(String variant) {
        this.variant = variant;
        this.isMariadb = variant.startsWith("mariadb");
    }

    static String env(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null ? otherwise : value;
    }

    boolean has(String option) {
        return variant.endsWith("-" + option);
    }

    /** As root without TLS. `more` are further options, name and value in turn. */
    Connection connect(String... more) throws SQLException {
        Properties options = new Properties();
        options.setProperty("user", "root");
        options.setProperty("password", "");
        options.setProperty("sslMode", isMariadb ? "disable" : "DISABLED");
        options.setProperty("allowPublicKeyRetrieval", "true");
        options.setProperty("connectTimeout", "20000");
        if (!isMariadb) {
            options.setProperty("yearIsDateType", "false");
            options.setProperty("connectionTimeZone", "UTC");
        }
        if (has("rewrite")) {
            options.setProperty("rewriteBatchedStatements", "true");
        }
        if (has("prepared") || has("cursor")) {
            options.setProperty("useServerPrepStmts", "true");
            options.setProperty("cachePrepStmts", "true");
        }
        if (has("cursor")) {
            options.setProperty("useCursorFetch", "true");
        }
        for (int i = 0; i < more.length; i += 2) {
            options.setProperty(more[i], more[i + 1]);
        }
        String scheme = isMariadb ? "jdbc:mariadb" : "jdbc:mysql";
        return DriverManager.getConnection(scheme + "://" + HOST + ":" + PORT + "/" + DATABASE, options);
    }

    /** With TLS, checking the server's certificate and its name when its file is known. */
    Connection connectTls(String... more) throws Exception {
        String file = System.getenv("MESETA_SERVER_CERT");
        String[] tls;
        if (file == null) {
            tls = new String[] {"sslMode", isMariadb ? "trust" : "REQUIRED"};
        } else if (isMariadb) {
            tls = new String[] {"sslMode", "verify-full", "serverSslCert", file};
        } else {
            tls = new String[] {"sslMode", "VERIFY_IDENTITY", "trustCertificateKeyStoreUrl", keyStore(file),
                "trustCertificateKeyStoreType", "PKCS12", "trustCertificateKeyStorePassword", "trusted"};
        }
        String[] all = new String[tls.length + more.length];
        System.arraycopy(tls, 0, all, 0, tls.length);
        System.arraycopy(more, 0, all, tls.length, more.length);
        return connect(all);
    }

    private static String keyStore(String certificate) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        try (FileInputStream input = new FileInputStream(certificate)) {
            store.setCertificateEntry("meseta", CertificateFactory.getInstance("X.509").generateCertificate(input));
        }
        Path file = Files.createTempFile("meseta", ".p12");
        file.toFile().deleteOnExit();
        try (OutputStream output = Files.newOutputStream(file)) {
            store.store(output, "trusted".toCharArray());
        }
        return file.toUri().toString();
    }
}
