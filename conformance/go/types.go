package main

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// column is a line of types.tsv; values are those of rows 1 and 2.
type column struct {
	name, sqlType, kind string
	values              [2]string
}

func columns() []column {
	list, err := os.ReadFile(filepath.Join(checklist, "types.tsv"))
	if err != nil {
		return nil
	}
	var all []column
	for _, line := range strings.Split(strings.TrimRight(string(list), "\n"), "\n") {
		fields := strings.Split(line, "\t")
		all = append(all, column{fields[0], fields[1], fields[2], [2]string{fields[3], fields[4]}})
	}
	return all
}

// compare reads rows 1 and 2 as text and compares them with the list.
func compare(rows *sql.Rows) error {
	defer rows.Close()
	all := columns()
	for row := range 2 {
		if !rows.Next() {
			return fmt.Errorf("row %d is missing: %v", row+1, rows.Err())
		}
		id := 0
		values := make([]sql.RawBytes, len(all))
		targets := []any{&id}
		for i := range values {
			targets = append(targets, &values[i])
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		for i, each := range all {
			if err := same(each.name, asListed(each, string(values[i])), asListed(each, each.listed(row))); err != nil {
				return err
			}
		}
	}
	return same("a row more", rows.Next(), false)
}

func (each column) listed(row int) string {
	if each.kind == "bytes" {
		value, _ := hex.DecodeString(each.values[row])
		return string(value)
	}
	return each.values[row]
}

func asListed(each column, text string) string {
	switch each.kind {
	case "float":
		value, _ := strconv.ParseFloat(text, 32)
		return fmt.Sprint(float32(value))
	case "double":
		value, _ := strconv.ParseFloat(text, 64)
		return fmt.Sprint(value)
	default:
		return text
	}
}

func typesText(db *sql.DB) error {
	rows, err := db.Query("SELECT * FROM conformance.types WHERE id IN (1, 2) ORDER BY id")
	if err != nil {
		return err
	}
	return compare(rows)
}

// parameter is a value in Go's own type.
func parameter(each column, row int) any {
	text := each.values[row]
	switch each.kind {
	case "bool":
		return text == "1"
	case "int", "year":
		value, _ := strconv.ParseInt(text, 10, 64)
		return value
	case "uint":
		value, _ := strconv.ParseUint(text, 10, 64)
		return value
	case "float":
		value, _ := strconv.ParseFloat(text, 32)
		return float32(value)
	case "double":
		value, _ := strconv.ParseFloat(text, 64)
		return value
	case "bytes":
		return []byte(each.listed(row))
	case "date":
		value, _ := time.Parse("2006-01-02", text)
		return value
	case "datetime":
		value, _ := time.Parse("2006-01-02 15:04:05", text)
		return value
	default:
		return text
	}
}

func typesPrepared(db *sql.DB) error {
	all := columns()
	insert := "INSERT INTO types VALUES (?" + strings.Repeat(", ?", len(all)) + ")"
	if err := run(db, "CREATE TABLE types LIKE conformance.types"); err != nil {
		return err
	}
	for row := range 3 {
		values := []any{row + 1}
		for _, each := range all {
			if row < 2 {
				values = append(values, parameter(each, row))
			} else {
				values = append(values, nil)
			}
		}
		if _, err := db.Exec(insert, values...); err != nil {
			return fmt.Errorf("row %d: %w", row+1, err)
		}
	}
	rows, err := db.Query("SELECT * FROM types WHERE id BETWEEN ? AND ?", 1, 2)
	if err != nil {
		return err
	}
	if err = compare(rows); err != nil {
		return err
	}
	// What was written by parameters equals what was written by literals.
	for _, each := range all {
		query := "SELECT COUNT(*) FROM types a JOIN conformance.types b ON a.id = b.id WHERE a.id IN (1, 2) AND a." + each.name + " = b." + each.name
		if each.kind != "float" {
			if err = gives(db, "2", query); err != nil {
				return err
			}
		}
	}
	return nil
}

func nulls(db *sql.DB) error {
	for _, query := range []string{"SELECT * FROM conformance.types WHERE id = 3", "SELECT * FROM types WHERE id = ?"} {
		var parameters []any
		if strings.Contains(query, "?") {
			parameters = append(parameters, 3)
		}
		id := 0
		values := make([]sql.NullString, len(columns()))
		targets := []any{&id}
		for i := range values {
			targets = append(targets, &values[i])
		}
		if err := db.QueryRow(query, parameters...).Scan(targets...); err != nil {
			return err
		}
		for i, each := range columns() {
			if err := same(each.name, values[i].Valid, false); err != nil {
				return err
			}
		}
	}
	return gives(db, "1 1 x", "SELECT CONCAT(? IS NULL, ' ', ? <=> NULL, ' ', COALESCE(?, 'x'))", nil, sql.NullInt64{}, sql.NullTime{})
}

func metadata(db *sql.DB) error {
	rows, err := db.Query("SELECT id AS number, c_ubig, c_decimal, c_varchar, c_datetime, c_blob, c_json, c_float, c_text, c_tiny FROM conformance.types WHERE id = 1")
	if err != nil {
		return err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	var names []string
	for _, each := range types {
		name := each.Name() + " " + each.DatabaseTypeName()
		if precision, scale, ok := each.DecimalSize(); ok {
			name += fmt.Sprintf(" %d.%d", min(precision, 99), min(scale, 99))
		}
		if nullable, ok := each.Nullable(); ok && nullable {
			name += " null"
		}
		names = append(names, name+" "+each.ScanType().String())
	}
	expected := []string{
		"number INT int32", "c_ubig UNSIGNED BIGINT null sql.Null[uint64]", "c_decimal DECIMAL 38.10 null sql.NullString",
		"c_varchar VARCHAR null sql.NullString", "c_datetime DATETIME 6.6 null sql.NullTime", "c_blob BLOB null []uint8",
		"c_json JSON null sql.NullString", "c_float FLOAT 99.99 null sql.NullFloat64", "c_text TEXT null sql.NullString",
		"c_tiny TINYINT null sql.NullInt64",
	}
	if !reflect.DeepEqual(names, expected) {
		return fmt.Errorf("found %q, expected %q", names, expected)
	}
	return nil
}

func parseTime(db *sql.DB) error {
	var moment, date, stamp time.Time
	var none sql.NullTime
	err := db.QueryRow("SELECT c_datetime, c_date, c_timestamp, NULL FROM conformance.types WHERE id = ?", 2).Scan(&moment, &date, &stamp, &none)
	return first(err,
		same("DATETIME", moment.String(), "9999-12-31 23:59:59.999999 +0000 UTC"),
		same("DATE", date.String(), "9999-12-31 00:00:00 +0000 UTC"),
		same("TIMESTAMP", stamp.String(), "2038-01-19 03:14:07.000001 +0000 UTC"),
		same("NULL", none.Valid, false))
}

// withParameters sets what a data source name may set, as Grafana does.
func withParameters(config *mysql.Config) {
	config.Collation = "utf8mb4_unicode_ci"
	config.ParseTime = true
	config.Params = map[string]string{"time_zone": "'+02:00'", "sql_mode": "'ANSI'", "wait_timeout": "100"}
}

func parameters(db *sql.DB) error {
	return first(gives(db, "+02:00", "SELECT @@time_zone"), gives(db, "100", "SELECT @@wait_timeout"),
		gives(db, "ab", `SELECT 'a' || 'b' AS "quoted"`))
}
