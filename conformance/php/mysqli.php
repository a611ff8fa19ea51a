<?php
// The checklist of conformance/README.md by mysqli over mysqlnd.

declare(strict_types=1);

require __DIR__ . '/common.php';

mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);

function connect(string $user = 'root', string $password = '', bool $tls = false, int $flags = 0, array $options = []): mysqli
{
    $db = mysqli_init();
    foreach ($options as $option => $value) {
        $db->options($option, $value);
    }
    if ($tls) {
        $file = env('MESETA_SERVER_CERT');
        $db->ssl_set(null, null, $file ?: null, null, null);
        $flags |= MYSQLI_CLIENT_SSL | ($file ? 0 : MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT);
    }
    $db->real_connect(env('MESETA_HOST'), $user, $password, env('MESETA_DATABASE'), (int) env('MESETA_PORT'), null, $flags);
    $db->set_charset('utf8mb4');
    return $db;
}

function one(mysqli $db, string $sql): mixed
{
    return $db->query($sql)->fetch_row()[0];
}

function prepared(mysqli $db, string $sql, array $parameters): mysqli_result|bool
{
    $statement = $db->prepare($sql);
    $statement->execute($parameters ?: null);
    return $statement->get_result();
}

/** errno and SQLSTATE of what is to fail. */
function refused(callable $body): string
{
    try {
        $body();
    } catch (mysqli_sql_exception $error) {
        // This extension has no SQLSTATE of a login.
        return $error->getCode() . ' ' . ($error->getCode() === 1045 ? '28000' : $error->getSqlState());
    }
    return 'no error';
}

function login(string $user): void
{
    // With TLS, with the RSA key, by the fast path.
    foreach ([true, false, false] as $tls) {
        same('the account', one(connect($user, env('MESETA_PASSWORD'), $tls), 'SELECT CURRENT_USER()'), "$user@%");
    }
    same('the error', refused(fn () => connect($user, 'wrong')), '1045 28000');
}

printf("version mysqli over %s, PHP %s\n", mysqli_get_client_info(), PHP_VERSION);
check('connect', function () {
    $db = connect();
    same('1 + 1', one($db, 'SELECT 1 + 1'), '2');
    same('the version', $db->server_info, one($db, 'SELECT VERSION()'));
    same('its number', $db->server_version > 80000 && $db->server_version < 90000, true);
    same('statistics', str_contains((string) $db->stat(), 'Uptime'), true);
});
check('connect-tls', fn () => same('a cipher', connect(tls: true)->query("SHOW STATUS LIKE 'Ssl_cipher'")->fetch_row()[1] !== '', true));
check('login-native', fn () => login(env('MESETA_NATIVE_USER')));
check('login-sha2', fn () => login(env('MESETA_SHA2_USER')));
check('text', function () {
    $db = connect();
    $db->query('CREATE TABLE text_check (id INT PRIMARY KEY, v VARCHAR(50))');
    $db->query("/* why */ INSERT INTO text_check VALUES (1, 'héllo 日本語 😀'), (2, 'two') -- said\n");
    same('rows inserted', [$db->affected_rows, $db->info], [2, 'Records: 2  Duplicates: 0  Warnings: 0']);
    $db->query("UPDATE text_check SET v = 'deux' WHERE id = 2");
    same('rows changed', [$db->affected_rows, $db->info], [1, 'Rows matched: 1  Changed: 1  Warnings: 0']);
    same('the text', one($db, 'SELECT v FROM text_check WHERE id = 1 # so'), 'héllo 日本語 😀');
    $db->query('DELETE FROM text_check WHERE id IN (1, 2, 3)');
    same('rows deleted', $db->affected_rows, 2);
});
check('prepared', function () {
    $db = connect();
    $db->query('CREATE TABLE prepared_check (id INT PRIMARY KEY, v VARCHAR(50), d DOUBLE)');
    $insert = $db->prepare('INSERT INTO prepared_check VALUES (?, ?, ?)');
    $insert->bind_param('isd', $id, $v, $d);
    for ($id = 1; $id <= 100; $id++) {
        [$v, $d] = ["row $id", $id / 4];
        $insert->execute();
        same('rows', $insert->affected_rows, 1);
    }
    $read = $db->prepare('SELECT v, d FROM prepared_check WHERE id = ?');
    for ($id = 1; $id <= 100; $id++) {
        $read->execute([$id % 2 ? $id : (string) $id]);
        same('the row', $read->get_result()->fetch_all(), [["row $id", (float) $id / 4]]);
    }
    $read->close();
});
check('types-text', fn () => compare(connect()->query('SELECT * FROM conformance.types WHERE id IN (1, 2) ORDER BY id')->fetch_all(MYSQLI_ASSOC), true));
check('types-prepared', function () {
    $db = connect();
    $columns = listed('types.tsv');
    $db->query('CREATE TABLE types LIKE conformance.types');
    $insert = $db->prepare('INSERT INTO types VALUES (?' . str_repeat(', ?', count($columns)) . ')');
    $types = 'i' . implode('', array_map(fn ($c) => match ($c[2]) { 'bool', 'int' => 'i', 'float', 'double' => 'd', default => 's' }, $columns));
    for ($row = 0; $row < 3; $row++) {
        $values = array_map(fn ($c) => $row < 2 ? value($c[2], $c[3 + $row]) : null, $columns);
        $insert->bind_param($types, ...[$row + 1, ...$values]);
        $insert->execute();
    }
    compare(prepared($db, 'SELECT * FROM types WHERE id IN (?, ?) ORDER BY id', [1, 2])->fetch_all(MYSQLI_ASSOC), false);
    foreach ($columns as [$name, , $kind]) {
        $equal = "SELECT COUNT(*) FROM types a JOIN conformance.types b ON a.id = b.id WHERE a.id IN (1, 2) AND a.$name = b.$name";
        if ($kind !== 'float') {
            same($name, one($db, $equal), '2');
        }
    }
});
check('nulls', function () {
    $db = connect();
    foreach ([$db->query('SELECT * FROM conformance.types WHERE id = 3'), prepared($db, 'SELECT * FROM types WHERE id = ?', [3])] as $result) {
        same('values', array_unique(array_slice($result->fetch_row(), 1), SORT_REGULAR), [null]);
    }
    same('parameters', prepared($db, "SELECT ? IS NULL, ? <=> NULL, COALESCE(?, 'x')", [null, null, null])->fetch_row(), [1, 1, 'x']);
});
check('empty-result', function () {
    $db = connect();
    $result = prepared($db, 'SELECT id AS number, c_text FROM conformance.types WHERE id = ?', [99]);
    same('nothing', [$result->num_rows, $result->fetch_field_direct(0)->name], [0, 'number']);
    same('an empty string', one($db, 'SELECT c_text FROM conformance.types WHERE id = 1'), '');
});
check('value-20mb', function () {
    $db = connect();
    $value = str_repeat('abcdefghij', 2_000_000);
    same('text', one($db, "SELECT '$value'") === $value, true);
    same('prepared', prepared($db, 'SELECT ?, LENGTH(?)', [$value, $value])->fetch_row() === [$value, strlen($value)], true);
    $statement = $db->prepare('SELECT LENGTH(?)');
    $nothing = null;
    $statement->bind_param('b', $nothing);
    foreach (str_split($value, 4_000_000) as $piece) {
        $statement->send_long_data(0, $piece);
    }
    $statement->execute();
    same('long data', $statement->get_result()->fetch_row(), [strlen($value)]);
});
check('multi-statement', function () {
    $db = connect();
    $collect = function (string $sql) use ($db) {
        $found = [];
        $db->multi_query($sql);
        do {
            $result = $db->store_result();
            $found[] = $result ? $result->fetch_row()[0] : $db->affected_rows;
        } while ($db->next_result());
        return $found;
    };
    same('results', $collect("SELECT 1; CREATE TABLE multi_check (id INT PRIMARY KEY); INSERT INTO multi_check VALUES (1), (2); SELECT 'last'"), ['1', 0, 2, 'last']);
    same('the error in the middle', refused(fn () => $collect('INSERT INTO multi_check VALUES (3); SELECT nosuch; INSERT INTO multi_check VALUES (4)')), '1054 42S22');
    same('rows afterwards', one($db, 'SELECT COUNT(*) FROM multi_check WHERE id > 0'), '3');
});
check('stream-1m', function () {
    $db = connect();
    $before = resident();
    $seen = 0;
    foreach ($db->query('SELECT * FROM conformance.million WHERE id > 0', MYSQLI_USE_RESULT) as $row) {
        $seen++;
        if ($row !== ['id' => (string) $seen, 'name' => "row $seen"]) {
            same("row $seen", $row, []);
        }
        if ($seen === 500_000) {
            same('bounded memory', resident() - $before < STREAM_BYTES_MAX, true);
        }
    }
    same('rows', $seen, 1_000_000);
});
check('cursor', function () {
    $db = connect();
    $statement = $db->prepare('SELECT id FROM conformance.million WHERE id <= ?');
    $statement->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY);
    $statement->execute([300]);
    $statement->bind_result($id);
    for ($seen = 0; $statement->fetch(); $seen++) {
        same('the row', $id, $seen + 1);
    }
    same('rows', $seen, 300);
});
check('errors', function () {
    $db = connect();
    foreach (listed('errors.tsv') as [$errno, $state, $sql]) {
        same($sql, refused(fn () => $db->query($sql)), "$errno $state");
    }
    same('afterwards', one($db, 'SELECT 7'), '7');
});
check('kill', function () {
    [$db, $other] = [connect(), connect()];
    $db->query('SELECT SLEEP(30)', MYSQLI_ASYNC);
    $id = $db->thread_id;
    for ($i = 0; $i < 200 && one($other, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = $id AND INFO LIKE '%SLEEP(30)'") !== '1'; $i++) {
        usleep(20_000);
    }
    $start = microtime(true);
    $other->query("KILL QUERY $id");
    // SLEEP that is interrupted gives 1; any other statement ends with 1317.
    try {
        same('the outcome', $db->reap_async_query()->fetch_row(), ['1']);
    } catch (mysqli_sql_exception $error) {
        same('the error', $error->getCode(), 1317);
    }
    same('at once', microtime(true) - $start < PROMPT_SECONDS, true);
    same('afterwards', one($db, 'SELECT 8'), '8');
    $other->kill($id);
    usleep(100_000);
    same('gone', (int) refused(fn () => @$db->query('SELECT 9')) >= 2006, true);
});
check('transaction', function () {
    [$db, $other] = [connect(), connect()];
    $count = 'SELECT COUNT(*) FROM transaction_check WHERE id > 0';
    $db->query('CREATE TABLE transaction_check (id INT PRIMARY KEY)');
    $db->begin_transaction(MYSQLI_TRANS_START_READ_WRITE);
    $db->query('INSERT INTO transaction_check VALUES (1)');
    same('seen', [one($db, $count), one($other, $count)], ['1', '0']);
    $db->rollback();
    same('rolled back', one($db, $count), '0');
    $db->autocommit(false);
    $db->query('INSERT INTO transaction_check VALUES (1)');
    $db->savepoint('here');
    $db->query('INSERT INTO transaction_check VALUES (2)');
    same('seen', one($other, $count), '0');
    $db->commit();
    $db->autocommit(true);
    same('committed', one($other, $count), '2');
});
check('batch-insert', function () {
    $db = connect();
    $db->query('CREATE TABLE batch_check (id INT PRIMARY KEY, v VARCHAR(20))');
    $db->begin_transaction();
    $insert = $db->prepare('INSERT INTO batch_check VALUES (?, ?)');
    $rows = 0;
    for ($id = 1; $id <= 10_000; $id++) {
        $insert->execute([$id, "v$id"]);
        $rows += $insert->affected_rows;
    }
    $db->commit();
    same('rows', $rows, 10_000);
    same('what is there', one($db, COUNT_SQL), '10000 50005000 10000');
});
check('metadata', function () {
    $sql = 'SELECT id AS number, c_ubig, c_decimal, c_varchar, c_datetime, c_blob FROM conformance.types WHERE id = 1';
    $db = connect();
    foreach ([$db->query($sql), $db->prepare($sql)->result_metadata()] as $result) {
        $found = array_map(fn ($f) => [$f->name, $f->orgname, $f->orgtable, $f->db, $f->type, $f->length, $f->decimals, $f->charsetnr === 63, $f->flags & (MYSQLI_NOT_NULL_FLAG | MYSQLI_PRI_KEY_FLAG | MYSQLI_UNSIGNED_FLAG)], $result->fetch_fields());
        $of = fn ($name, $type, $length, $decimals, $binary, $flags) => [$name, $name, 'types', 'conformance', $type, $length, $decimals, $binary, $flags];
        same('fields', $found, [
            ['number', 'id', 'types', 'conformance', MYSQLI_TYPE_LONG, 11, 0, true, MYSQLI_NOT_NULL_FLAG | MYSQLI_PRI_KEY_FLAG],
            $of('c_ubig', MYSQLI_TYPE_LONGLONG, 20, 0, true, MYSQLI_UNSIGNED_FLAG),
            $of('c_decimal', MYSQLI_TYPE_NEWDECIMAL, 40, 10, true, 0),
            $of('c_varchar', MYSQLI_TYPE_VAR_STRING, 1020, 0, false, 0),
            $of('c_datetime', MYSQLI_TYPE_DATETIME, 26, 6, true, 0),
            $of('c_blob', MYSQLI_TYPE_BLOB, 65535, 0, true, 0),
        ]);
    }
});
check('browse', function () {
    $db = connect();
    $db->query(TABLE_SQL);
    same('the database', in_array([env('MESETA_DATABASE')], $db->query('SHOW DATABASES')->fetch_all(), true), true);
    same('tables', $db->query("SHOW FULL TABLES LIKE 'browse%'")->fetch_all(), [['browse_check', 'BASE TABLE']]);
    $columns = array_map(fn ($c) => [$c['Field'], $c['Type'], $c['Key'], $c['Default'], $c['Comment']], $db->query('SHOW FULL COLUMNS FROM browse_check')->fetch_all(MYSQLI_ASSOC));
    same('columns', $columns, [['a', 'int', 'PRI', null, ''], ['b', 'varchar(20)', 'UNI', 'x', 'second']]);
    $keys = array_map(fn ($k) => [$k['Key_name'], $k['Column_name']], $db->query('SHOW KEYS FROM browse_check')->fetch_all(MYSQLI_ASSOC));
    same('keys', $keys, [['PRIMARY', 'a'], ['by_b', 'b']]);
});
check('reconnect', function () {
    $db = connect();
    $db->query('SET SESSION wait_timeout = 1');
    usleep(2_500_000);
    same('gone', (int) refused(fn () => @$db->query('SELECT 9')) >= 2006, true);
    same('a new one', one(connect(), 'SELECT 9'), '9');
});
check('change-user', function () {
    $db = connect();
    $db->query('SET @kept = 5');
    foreach ([env('MESETA_NATIVE_USER'), env('MESETA_SHA2_USER')] as $user) {
        $db->change_user($user, env('MESETA_PASSWORD'), 'conformance');
        same('the account', one($db, "SELECT CONCAT(CURRENT_USER(), ' ', DATABASE())"), "$user@% conformance");
    }
    same('the variable', one($db, 'SELECT @kept'), null);
});
check('native-numbers', function () {
    $db = connect(options: [MYSQLI_OPT_INT_AND_FLOAT_NATIVE => 1]);
    same('values', $db->query('SELECT 1, 1.5e0, c_int FROM conformance.types WHERE id = 2')->fetch_row(), [1, 1.5, 2147483647]);
});
check('insert-id', function () {
    $db = connect();
    $db->query('CREATE TABLE insert_id (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20))');
    $db->query("INSERT INTO insert_id (v) VALUES ('one')");
    same('its row', one($db, "SELECT v FROM insert_id WHERE id = {$db->insert_id}"), 'one');
});
check('compress', function () {
    $db = connect(flags: MYSQLI_CLIENT_COMPRESS);
    same('Compression', $db->query("SHOW STATUS LIKE 'Compression'")->fetch_row()[1] ?? 'no row', 'ON');
    same('a long answer', strlen(one($db, "SELECT REPEAT('ab', 1000000)")), 2_000_000);
});
check('load-local', function () {
    $db = connect(options: [MYSQLI_OPT_LOCAL_INFILE => 1]);
    $db->query('CREATE TABLE load_check (id INT PRIMARY KEY, v VARCHAR(20))');
    $file = tempnam(sys_get_temp_dir(), 'meseta');
    file_put_contents($file, "1,one\n2,two\n3,\\N\n");
    try {
        $db->query("LOAD DATA LOCAL INFILE '$file' INTO TABLE load_check FIELDS TERMINATED BY ','");
        same('rows', $db->affected_rows, 3);
    } finally {
        unlink($file);
    }
});
exit($failed ? 1 : 0);
