# The checklist of conformance/README.md by the command-line client, as far as a client of text goes;
# sourced by `run`, which has sql, check and matches.

in_own() { sql -D "$MESETA_DATABASE" "$@"; }
piped() { tr '\t' '|' | paste -sd' '; }

TLS=(--ssl)
[ -n "${MESETA_SERVER_CERT:-}" ] && TLS=(--ssl-ca="$MESETA_SERVER_CERT" --ssl-verify-server-cert)
matches connect-tls "$(sql "${TLS[@]}" -N -e "SHOW STATUS LIKE 'Ssl_cipher'" 2>&1 | piped)" '^Ssl_cipher\|.+'

login() { # check, user
    local user options
    # With TLS, with the RSA key, by the fast path.
    for options in "${TLS[*]}" --skip-ssl --skip-ssl; do
        # shellcheck disable=SC2086
        user=$("$CLI" --no-defaults -h "$HOST" -P "$PORT" -u "$2" -p"$MESETA_PASSWORD" --default-character-set=utf8mb4 $options -N -e 'SELECT CURRENT_USER()' 2>&1)
        [ "$user" = "$2@%" ] || break
    done
    check "$1" "$user, $("$CLI" --no-defaults -h "$HOST" -P "$PORT" -u "$2" -pwrong -e 'SELECT 1' 2>&1 | grep -oE 'ERROR 1045 \(28000\)')" "$2@%, ERROR 1045 (28000)"
}
login login-native "$MESETA_NATIVE_USER"
login login-sha2 "$MESETA_SHA2_USER"

check text "$(in_own -N -vv 2>&1 <<'SQL' | grep -E '^(Query OK|Rows matched|Records|h)' | piped
CREATE TABLE text_check (id INT PRIMARY KEY, v VARCHAR(50));
/* why */ INSERT INTO text_check VALUES (1, 'héllo 日本語 😀'), (2, 'two'); -- said
UPDATE text_check SET v = 'deux' WHERE id = 2;
SELECT v FROM text_check WHERE id = 1; # so
DELETE FROM text_check WHERE id IN (1, 2, 3);
SQL
)" 'Query OK, 0 rows affected Query OK, 2 rows affected Records: 2  Duplicates: 0  Warnings: 0 Query OK, 1 row affected Rows matched: 1  Changed: 1  Warnings: 0 héllo 日本語 😀 Query OK, 2 rows affected'

# Statements that are prepared by statements; the client itself prepares none.
check prepared "$(in_own -N -e "PREPARE s FROM 'SELECT ? + ?, UPPER(?)'; SET @a = 1, @b = 2.5, @c = 'é'; EXECUTE s USING @a, @b, @c; SET @a = '7'; EXECUTE s USING @a, @b, @c; DEALLOCATE PREPARE s" 2>&1 | piped)" '3.5|É 9.5|É'

types() { # row, field of types.tsv
    local name kind wanted found
    while IFS=$'\x01' read -r name kind wanted found; do
        case $kind in float | double) [ "$(awk -v a="$found" -v b="$wanted" 'BEGIN { print (a + 0 == b + 0) }')" = 1 ] && found=$wanted ;; esac
        [ "$found" = "$wanted" ] || printf '%s of row %s: <%s>, not <%s>; ' "$name" "$1" "$found" "$wanted"
    done < <(paste <(awk -F'\t' -v f="$2" '{ printf "%s\001%s\001%s\001\n", $1, $3, $f }' "$MESETA_CHECKLIST/types.tsv") \
        <(sql -N -r -e "$(awk -F'\t' -v row="$1" '{ c = $1; if ($3 == "bytes") c = "LOWER(HEX(" $1 "))"; printf "SELECT %s FROM conformance.types WHERE id = %s;", c, row }' "$MESETA_CHECKLIST/types.tsv")") | sed 's/\x01\t/\x01/')
}
check types-text "$(types 1 4; types 2 5)" ''
check nulls "$(sql -N -e 'SELECT * FROM conformance.types WHERE id = 3' | tr '\t' '\n' | sort | uniq -c | awk '{ print $1, $2 }' | piped)" "1 3 $(wc -l < "$MESETA_CHECKLIST/types.tsv" | tr -d ' ') NULL"
check empty-result "$(in_own -e 'SELECT id AS number, v FROM text_check WHERE id = 99' -vv | grep -E 'Empty|rows in set'), <$(sql -N -e 'SELECT c_text FROM conformance.types WHERE id = 1')>" 'Empty set, <>'

{
    printf "SELECT LENGTH('"
    head -c 20000000 /dev/zero | tr '\0' x
    printf "'), REPEAT('y', 20000000);"
} > "$SCRATCH/large.sql"
check value-20mb "$(sql -N --max-allowed-packet=64M < "$SCRATCH/large.sql" | awk -F'\t' '{ print $1, length($2) }')" '20000000 20000000'

check multi-statement "$(in_own -N --delimiter='//' -e "SELECT 1; CREATE TABLE multi_check (id INT PRIMARY KEY); INSERT INTO multi_check VALUES (1), (2); SELECT 'last' // INSERT INTO multi_check VALUES (3); SELECT nosuch; INSERT INTO multi_check VALUES (4)//" 2>&1 | grep -oE "^(1|last|ERROR 1054.*S22)" | piped) $(in_own -N -e 'SELECT COUNT(*) FROM multi_check WHERE id > 0')" '1 last ERROR 1054 (42S22 3'

(
    ulimit -v 200000
    sql -N --quick -e 'SELECT * FROM conformance.million WHERE id > 0'
) 2>&1 | awk -F'\t' '$1 != NR || $2 != "row " NR { bad++ } END { print NR, bad + 0 }' > "$SCRATCH/million"
check stream-1m "$(cat "$SCRATCH/million")" '1000000 0'

failures=
while IFS=$'\t' read -r errno state statement; do
    found=$(sql -e "$statement" 2>&1 >/dev/null | grep -oE '^ERROR [0-9]+ \([0-9A-Z]+\)')
    [ "$found" = "ERROR $errno ($state)" ] || failures+="$statement: $found; "
done < "$MESETA_CHECKLIST/errors.tsv"
check errors "$failures" ''

# KILL of a connection; `cancel` above is KILL QUERY.
printf 'SELECT CONNECTION_ID();\nSELECT SLEEP(30);\n' | sql -N -n > "$SCRATCH/victim" 2>&1 &
victim=$!
for _ in $(seq 200); do
    id=$(head -1 "$SCRATCH/victim")
    [ -n "$id" ] && [ "$(sql -N -e "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = $id AND INFO LIKE '%SLEEP(30)%'")" = 1 ] && break
    sleep 0.05
done
before=$SECONDS
sql -e "KILL $id"
wait "$victim"
matches kill "$((SECONDS - before)) $(grep -oE 'ERROR (2006|2013|2026|3169)' "$SCRATCH/victim")" '^[0-5] ERROR'

check transaction "$(in_own -N -n <<SQL | piped
CREATE TABLE transaction_check (id INT PRIMARY KEY);
BEGIN; INSERT INTO transaction_check VALUES (1);
system $CLI --no-defaults -h $HOST -P $PORT -u root -N -D $MESETA_DATABASE -e 'SELECT COUNT(*) FROM transaction_check WHERE id > 0'
SELECT COUNT(*) FROM transaction_check WHERE id > 0; ROLLBACK;
SET autocommit = 0; INSERT INTO transaction_check VALUES (1), (2); COMMIT; SET autocommit = 1;
system $CLI --no-defaults -h $HOST -P $PORT -u root -N -D $MESETA_DATABASE -e 'SELECT COUNT(*) FROM transaction_check WHERE id > 0'
SQL
)" '0 1 2'

{
    echo 'CREATE TABLE batch_check (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO batch_check VALUES'
    seq 1 10000 | awk "{ printf \"%s(%d, 'v%d')\", (NR > 1 ? \", \" : \"\"), \$1, \$1 }"
} | in_own
check batch-insert "$(in_own -N -e "SELECT COUNT(*), SUM(id), SUM(v = CONCAT('v', id)) FROM batch_check WHERE id > 0" | piped)" '10000|50005000|10000'

info=$(sql -t --column-type-info -e 'SELECT id AS number, c_ubig, c_decimal, c_varchar, c_datetime FROM conformance.types WHERE id = 1' 2>/dev/null | grep -E '^(Field|Org_field|Type|Length|Decimals|Flags)' | awk -F': *' '{ printf "%s ", $2 }')
matches metadata "$info" '`number` *`id` *LONG *11 *0 *NOT_NULL PRI_KEY .*`c_ubig` *`c_ubig` *LONGLONG *20 *0 *UNSIGNED .*NEWDECIMAL *40 *10 .*VAR_STRING *1020 *0 .*DATETIME *26 *6 '

# What the prompt reads when it completes names, and what a person browses by.
in_own -e "CREATE TABLE browse_check (a INT PRIMARY KEY, b VARCHAR(20) DEFAULT 'x', UNIQUE KEY by_b (b))"
check browse "$(in_own -N -e "SHOW TABLES LIKE 'browse%'; SHOW FIELDS FROM browse_check; SHOW KEYS FROM browse_check" | cut -f1-5 | piped)" \
    'browse_check a|int|NO|PRI|NULL b|varchar(20)|YES|UNI|x browse_check|0|PRIMARY|1|a browse_check|0|by_b|1|b'

# After wait_timeout; fed from a pipe, the client does not connect again by itself.
gone=$( { printf 'SET SESSION wait_timeout = 1;\n'; sleep 2.5; printf 'SELECT 8;\n'; } | sql -N -n 2>&1 | grep -oE 'ERROR [0-9]+')
matches reconnect "$gone, $(sql -N -e 'SELECT 9')" '^ERROR (2006|2013|4031), 9$'

matches compress "$(sql --compress -N -e "SHOW STATUS LIKE 'Compression'; SELECT LENGTH(REPEAT('ab', 1000000))" | piped)" 'Compression\|ON 2000000'
printf '1,one\n2,two\n3,\\N\n' > "$SCRATCH/rows.csv"
check load-local "$(in_own -N --local-infile=1 -e "CREATE TABLE load_check (id INT PRIMARY KEY, v VARCHAR(20)); LOAD DATA LOCAL INFILE '$SCRATCH/rows.csv' INTO TABLE load_check FIELDS TERMINATED BY ','; SELECT GROUP_CONCAT(id, COALESCE(v, '-') ORDER BY id) FROM load_check WHERE id > 0" 2>&1)" '1one,2two,3-'
