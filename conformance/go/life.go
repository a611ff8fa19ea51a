package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// streamBytesMax is what streaming may hold at a time.
const streamBytesMax = 20_000_000

// promptly is how soon a statement ends that is killed.
const promptly = 5 * time.Second

func heapBytes() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func stream(db *sql.DB) error {
	before := heapBytes()
	rows, err := db.Query("SELECT * FROM conformance.million WHERE id > ?", 0)
	if err != nil {
		return err
	}
	defer rows.Close()
	count := 0
	for rows.Next() {
		var id int
		var name string
		if err := rows.Scan(&id, &name); err != nil {
			return err
		}
		count++
		if id != count || name != fmt.Sprint("row ", id) {
			return fmt.Errorf("row %d is %d %s", count, id, name)
		}
		if count == 500_000 {
			if now := heapBytes(); now > before+streamBytesMax {
				return fmt.Errorf("holds %d bytes", now-before)
			}
		}
	}
	return first(rows.Err(), same("rows", count, 1_000_000))
}

func kill() error {
	return with(func(db *sql.DB) error { return with(func(other *sql.DB) error { return killed(db, other) }) })
}

func killed(db, other *sql.DB) error {
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var id int64
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		return err
	}
	outcome := make(chan string, 1)
	go func() {
		var value string
		if err := conn.QueryRowContext(ctx, "SELECT SLEEP(30)").Scan(&value); err != nil {
			value = numberOf(err)
		}
		outcome <- value
	}()
	if err := waitUntilSleeping(other, id); err != nil {
		return err
	}
	start := time.Now()
	if err := run(other, fmt.Sprintf("KILL QUERY %d", id)); err != nil {
		return err
	}
	found := <-outcome
	// SLEEP that is interrupted gives 1; any other statement ends with 1317.
	if time.Since(start) > promptly || (found != "1" && found != "1317 70100") {
		return fmt.Errorf("ended after %v with %s", time.Since(start), found)
	}
	var value int
	err = first(conn.QueryRowContext(ctx, "SELECT 8").Scan(&value), same("afterwards", value, 8), run(other, fmt.Sprintf("KILL %d", id)))
	if err != nil {
		return err
	}
	time.Sleep(100 * time.Millisecond)
	err = conn.QueryRowContext(ctx, "SELECT 9").Scan(&value)
	return same("gone", err != nil, true)
}

func waitUntilSleeping(watcher *sql.DB, id int64) error {
	for range 200 {
		count, err := one(watcher, fmt.Sprintf("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = %d AND INFO LIKE '%%SLEEP(30)'", id))
		if err != nil || count == "1" {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New("the statement does not run")
}

func contextTimeout(db *sql.DB) error {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := db.ExecContext(ctx, "SELECT SLEEP(30)")
	return first(same("the deadline", errors.Is(err, context.DeadlineExceeded), true),
		same("ended at once", time.Since(start) < promptly, true), gives(db, "8", "SELECT 8"))
}

func reconnect(db *sql.DB) error {
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	if _, err = conn.ExecContext(ctx, "SET SESSION wait_timeout = 1"); err != nil {
		return err
	}
	time.Sleep(2500 * time.Millisecond)
	if _, err = conn.ExecContext(ctx, "SELECT 9"); err == nil {
		return errors.New("the connection is still there")
	}
	conn.Close()
	// The pool makes a new one.
	return gives(db, "9", "SELECT 9")
}

func browse(db *sql.DB) error {
	err := run(db, "CREATE TABLE browse_check (a INT, b VARCHAR(20) DEFAULT 'x' COMMENT 'second', c DECIMAL(10,2) NOT NULL, PRIMARY KEY (c, a), UNIQUE KEY by_b (b))")
	return first(err,
		// As Grafana and GORM ask; this client has no calls for it.
		gives(db, database, "SELECT DISTINCT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_TYPE != 'SYSTEM VIEW' AND TABLE_SCHEMA = ?", database),
		gives(db, "a int,b varchar(20),c decimal(10,2)", "SELECT GROUP_CONCAT(CONCAT(COLUMN_NAME, ' ', COLUMN_TYPE) ORDER BY ORDINAL_POSITION) FROM information_schema.columns WHERE table_schema = ? AND table_name = 'browse_check'", database),
		gives(db, "1", "SELECT count(*) FROM information_schema.tables WHERE table_schema = ? AND table_name = ? AND table_type = ?", database, "browse_check", "BASE TABLE"),
		gives(db, "PRIMARY,by_b", "SELECT GROUP_CONCAT(DISTINCT INDEX_NAME ORDER BY INDEX_NAME) FROM information_schema.statistics WHERE table_schema = ? AND table_name = ?", database, "browse_check"),
		gives(db, "browse_check", "SHOW TABLES LIKE 'browse%'"))
}

func insertID(db *sql.DB) error {
	if err := run(db, "CREATE TABLE insert_id (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20))"); err != nil {
		return err
	}
	result, err := db.Exec("INSERT INTO insert_id (v) VALUES (?)", "one")
	if err != nil {
		return err
	}
	id, err := result.LastInsertId()
	return first(err, gives(db, "one", "SELECT v FROM insert_id WHERE id = ?", id))
}

func compress(db *sql.DB) error {
	var name, value string
	err := db.QueryRow("SHOW STATUS LIKE 'Compression'").Scan(&name, &value)
	long := strings.Repeat("ab", 1_000_000)
	return first(err, same("Compression", value, "ON"), gives(db, long, "SELECT ?", long))
}

func loadLocal(db *sql.DB) error {
	mysql.RegisterReaderHandler("rows", func() io.Reader { return strings.NewReader("1,one\n2,two\n3,\\N\n") })
	if err := run(db, "CREATE TABLE load_check (id INT PRIMARY KEY, v VARCHAR(20))"); err != nil {
		return err
	}
	result, err := db.Exec("LOAD DATA LOCAL INFILE 'Reader::rows' INTO TABLE load_check FIELDS TERMINATED BY ','")
	if err != nil {
		return err
	}
	rows, err := result.RowsAffected()
	return first(err, same("rows", rows, int64(3)),
		gives(db, "1one,2two,3-", "SELECT GROUP_CONCAT(id, COALESCE(v, '-') ORDER BY id) FROM load_check WHERE id > 0"))
}

// pool has many goroutines share a few connections.
func pool() error {
	db, err := open()
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(8)
	var group sync.WaitGroup
	problems := make(chan error, 50)
	for worker := range 50 {
		group.Go(func() {
			for i := range 20 {
				if err := gives(db, fmt.Sprint(worker*i), "SELECT ? * ?", worker, i); err != nil {
					problems <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(problems)
	return <-problems
}
