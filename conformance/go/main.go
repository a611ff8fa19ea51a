// The checklist of conformance/README.md by database/sql with go-sql-driver/mysql: `checks prepared`
// has parameters prepared by the server, `checks interpolate` has them written into the text.
//
// The types are in types.go, what a connection lives through in life.go.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/go-sql-driver/mysql"
)

var (
	host        = os.Getenv("MESETA_HOST")
	port        = os.Getenv("MESETA_PORT")
	database    = os.Getenv("MESETA_DATABASE")
	password    = os.Getenv("MESETA_PASSWORD")
	checklist   = os.Getenv("MESETA_CHECKLIST")
	interpolate = len(os.Args) > 1 && os.Args[1] == "interpolate"
	failed      = false
)

// skip is what a check returns that cannot be made with this client.
type skip string

func (reason skip) Error() string { return string(reason) }

func check(name string, body func() error) {
	err := body()
	var reason skip
	switch {
	case err == nil:
		fmt.Println("ok", name)
	case errors.As(err, &reason):
		fmt.Printf("skip %s: %s\n", name, reason)
	default:
		failed = true
		text := strings.Join(strings.Fields(err.Error()), " ")
		fmt.Printf("FAIL %s: %.400s\n", name, text)
	}
}

func same(what string, found, expected any) error {
	if found != expected {
		return fmt.Errorf("%s: found <%.120s>, expected <%.120s>", what, fmt.Sprint(found), fmt.Sprint(expected))
	}
	return nil
}

// first is the first error of several comparisons.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// settings are those of a connection as root without TLS.
func settings(change ...func(*mysql.Config)) *mysql.Config {
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr, config.DBName = "root", "tcp", net.JoinHostPort(host, port), database
	config.InterpolateParams = interpolate
	config.AllowNativePasswords = true
	for _, each := range change {
		each(config)
	}
	return config
}

func open(change ...func(*mysql.Config)) (*sql.DB, error) {
	connector, err := mysql.NewConnector(settings(change...))
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// with opens a pool of one connection for a check.
func with(body func(*sql.DB) error, change ...func(*mysql.Config)) error {
	db, err := open(change...)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	return body(db)
}

func one(db *sql.DB, query string, parameters ...any) (string, error) {
	var value sql.NullString
	err := db.QueryRow(query, parameters...).Scan(&value)
	return value.String, err
}

// gives checks that a query gives one value.
func gives(db *sql.DB, expected, query string, parameters ...any) error {
	found, err := one(db, query, parameters...)
	if err != nil {
		return fmt.Errorf("%.80s: %w", query, err)
	}
	return same(query, found, expected)
}

func run(db *sql.DB, statements ...string) error {
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			return fmt.Errorf("%.80s: %w", statement, err)
		}
	}
	return nil
}

func withTLS(config *mysql.Config) {
	file := os.Getenv("MESETA_SERVER_CERT")
	if file == "" {
		config.TLS = &tls.Config{InsecureSkipVerify: true}
		return
	}
	pool := x509.NewCertPool()
	if pem, err := os.ReadFile(file); err == nil {
		pool.AppendCertsFromPEM(pem)
	}
	config.TLS = &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
}

func main() {
	mysql.SetLogger(&mysql.NopLogger{})
	version()
	check("connect", func() error {
		return with(func(db *sql.DB) error { return first(db.Ping(), gives(db, "2", "SELECT 1 + 1")) })
	})
	check("connect-tls", func() error { return with(tlsOn, withTLS) })
	check("login-native", func() error { return login(os.Getenv("MESETA_NATIVE_USER")) })
	check("login-sha2", func() error { return login(os.Getenv("MESETA_SHA2_USER")) })
	check("text", func() error { return with(text) })
	check("prepared", func() error { return with(prepared) })
	check("types-text", func() error { return with(typesText) })
	check("types-prepared", func() error { return with(typesPrepared) })
	check("nulls", func() error { return with(nulls) })
	check("empty-result", func() error { return with(emptyResult) })
	largest := func(config *mysql.Config) { config.MaxAllowedPacket = 0 }
	check("value-20mb", func() error { return with(largeValue, largest) })
	check("multi-statement", func() error {
		return with(multiStatement, func(config *mysql.Config) { config.MultiStatements = true })
	})
	check("stream-1m", func() error { return with(stream) })
	check("errors", func() error { return with(listedErrors) })
	check("kill", kill)
	check("transaction", transaction)
	check("batch-insert", func() error { return with(batchInsert) })
	check("metadata", func() error { return with(metadata) })
	check("browse", func() error { return with(browse) })
	check("reconnect", func() error { return with(reconnect) })
	check("context-timeout", func() error { return with(contextTimeout) })
	check("parse-time", func() error {
		return with(parseTime, func(config *mysql.Config) { config.ParseTime = true })
	})
	check("parameters", func() error { return with(parameters, withParameters) })
	check("insert-id", func() error { return with(insertID) })
	check("compress", func() error {
		return with(compress, func(config *mysql.Config) { err := config.Apply(mysql.EnableCompression(true)); _ = err })
	})
	check("load-local", func() error { return with(loadLocal) })
	check("pool", pool)
	if failed {
		os.Exit(1)
	}
}

func version() {
	driver := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/go-sql-driver/mysql" {
				driver = module.Version
			}
		}
	}
	fmt.Printf("version go-sql-driver/mysql %s, %s\n", driver, runtime.Version())
}

func tlsOn(db *sql.DB) error {
	var name, cipher string
	err := db.QueryRow("SHOW STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher)
	return first(err, same("a cipher", cipher != "", true))
}

func login(user string) error {
	as := func(password string) func(*mysql.Config) {
		return func(config *mysql.Config) { config.User, config.Passwd = user, password }
	}
	asked := func(db *sql.DB) error { return gives(db, user+"@%", "SELECT CURRENT_USER()") }
	// With TLS, with the RSA key, by the fast path.
	if err := first(with(asked, as(password), withTLS), with(asked, as(password)), with(asked, as(password))); err != nil {
		return err
	}
	return with(func(db *sql.DB) error { return same("the error", numberOf(db.Ping()), "1045 28000") }, as("wrong"))
}

// numberOf is an error's errno and SQLSTATE.
func numberOf(err error) string {
	var told *mysql.MySQLError
	if errors.As(err, &told) {
		return fmt.Sprintf("%d %s", told.Number, told.SQLState[:])
	}
	return fmt.Sprint(err)
}

func text(db *sql.DB) error {
	if err := run(db, "CREATE TABLE text_check (id INT PRIMARY KEY, v VARCHAR(50))"); err != nil {
		return err
	}
	count := func(query string) int64 {
		result, err := db.Exec(query)
		if err != nil {
			return -1
		}
		rows, _ := result.RowsAffected()
		return rows
	}
	return first(
		same("rows inserted", count("/* why */ INSERT INTO text_check VALUES (1, 'héllo 日本語 😀'), (2, 'two') -- said\n"), int64(2)),
		same("rows changed", count("UPDATE text_check SET v = 'deux' WHERE id = 2"), int64(1)),
		same("rows changed again", count("UPDATE text_check SET v = 'deux' WHERE id = 2"), int64(0)),
		gives(db, "héllo 日本語 😀", "SELECT v FROM text_check WHERE id = 1 # so"),
		same("rows deleted", count("DELETE FROM text_check WHERE id IN (1, 2, 3)"), int64(2)))
}

func prepared(db *sql.DB) error {
	if err := run(db, "CREATE TABLE prepared_check (id INT PRIMARY KEY, v VARCHAR(50), d DOUBLE)"); err != nil {
		return err
	}
	insert, err := db.Prepare("INSERT INTO prepared_check VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	for id := range 100 {
		if _, err := insert.Exec(id, fmt.Sprint("row ", id), float64(id)/4); err != nil {
			return err
		}
	}
	read, err := db.Prepare("SELECT v, d FROM prepared_check WHERE id = ?")
	if err = first(err, insert.Close()); err != nil {
		return err
	}
	defer read.Close()
	for id := range 100 {
		var v string
		var d float64
		key := any(id)
		if id%2 == 1 {
			key = fmt.Sprint(id)
		}
		if err := read.QueryRow(key).Scan(&v, &d); err != nil {
			return err
		}
		if err := first(same("v", v, fmt.Sprint("row ", id)), same("d", d, float64(id)/4)); err != nil {
			return err
		}
	}
	return nil
}

func emptyResult(db *sql.DB) error {
	rows, err := db.Query("SELECT id AS number, c_text FROM conformance.types WHERE id = ?", 99)
	if err != nil {
		return err
	}
	names, err := rows.Columns()
	return first(err, same("columns", strings.Join(names, " "), "number c_text"), same("a row", rows.Next(), false),
		rows.Close(), gives(db, "true", "SELECT IF(c_text = '' AND c_text IS NOT NULL, 'true', 'false') FROM conformance.types WHERE id = ?", 1))
}

func largeValue(db *sql.DB) error {
	value := strings.Repeat("abcdefghij", 2_000_000)
	var found string
	var length int
	err := db.QueryRow("SELECT ?, LENGTH(?)", value, []byte(value)).Scan(&found, &length)
	return first(err, same("the length", length, len(value)), same("the value", found == value, true))
}

func multiStatement(db *sql.DB) error {
	rows, err := db.Query("SELECT 1; CREATE TABLE multi_check (id INT PRIMARY KEY); INSERT INTO multi_check VALUES (1), (2); SELECT 'last'")
	if err != nil {
		return err
	}
	var values []string
	for {
		for rows.Next() {
			var value string
			if err := rows.Scan(&value); err != nil {
				return err
			}
			values = append(values, value)
		}
		if !rows.NextResultSet() {
			break
		}
	}
	if err := first(rows.Err(), rows.Close(), same("values", strings.Join(values, " "), "1 last")); err != nil {
		return err
	}
	_, err = db.Exec("INSERT INTO multi_check VALUES (3); SELECT nosuch; INSERT INTO multi_check VALUES (4)")
	return first(same("the error in the middle", numberOf(err), "1054 42S22"),
		gives(db, "3", "SELECT COUNT(*) FROM multi_check WHERE id > 0"))
}

func listedErrors(db *sql.DB) error {
	list, err := os.ReadFile(filepath.Join(checklist, "errors.tsv"))
	if err != nil {
		return err
	}
	for _, line := range strings.Split(strings.TrimSpace(string(list)), "\n") {
		fields := strings.Split(line, "\t")
		_, err := db.Exec(fields[2])
		if err := same(fields[2], numberOf(err), fields[0]+" "+fields[1]); err != nil {
			return err
		}
	}
	return gives(db, "7", "SELECT 7")
}

func transaction() error {
	return with(func(db *sql.DB) error {
		return with(func(other *sql.DB) error { return transactions(db, other) })
	})
}

func transactions(db, other *sql.DB) error {
	count := "SELECT COUNT(*) FROM transaction_check WHERE id > 0"
	if err := run(db, "CREATE TABLE transaction_check (id INT PRIMARY KEY)"); err != nil {
		return err
	}
	for _, keeps := range []bool{false, true} {
		for _, options := range []*sql.TxOptions{nil, {Isolation: sql.LevelReadCommitted}, {Isolation: sql.LevelRepeatableRead}} {
			tx, err := db.BeginTx(context.Background(), options)
			if err != nil {
				return err
			}
			if _, err = tx.Exec("REPLACE INTO transaction_check VALUES (?)", 1); err != nil {
				return err
			}
			var seen string
			err = first(tx.QueryRow(count).Scan(&seen), same("seen by itself", seen, "1"))
			if keeps {
				err = first(err, tx.Commit(), gives(other, "1", count))
			} else {
				err = first(err, gives(other, "0", count), tx.Rollback(), gives(db, "0", count))
			}
			if err != nil {
				return err
			}
		}
	}
	reader, err := db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	_, err = reader.Exec("DELETE FROM transaction_check WHERE id = 1")
	return first(same("a read-only one", numberOf(err), "1792 25006"), reader.Rollback())
}

func batchInsert(db *sql.DB) error {
	if err := run(db, "CREATE TABLE batch_check (id INT PRIMARY KEY, v VARCHAR(20))"); err != nil {
		return err
	}
	var inserted int64
	for start := 0; start < 10_000; start += 1000 {
		var values []any
		for id := start + 1; id <= start+1000; id++ {
			values = append(values, id, fmt.Sprint("v", id))
		}
		query := "INSERT INTO batch_check VALUES (?, ?)" + strings.Repeat(", (?, ?)", 999)
		result, err := db.Exec(query, values...)
		if err != nil {
			return err
		}
		rows, _ := result.RowsAffected()
		inserted += rows
	}
	return first(same("rows", inserted, int64(10_000)),
		gives(db, "10000 50005000 10000", "SELECT CONCAT(COUNT(*), ' ', SUM(id), ' ', SUM(v = CONCAT('v', id))) FROM batch_check WHERE id > 0"))
}
