<?php
// The checklist of conformance/README.md by PDO over mysqlnd, parameters prepared by the server.

declare(strict_types=1);

require __DIR__ . '/common.php';

function connect(string $user = 'root', string $password = '', bool $tls = false, array $options = []): PDO
{
    $dsn = sprintf('mysql:host=%s;port=%s;dbname=%s;charset=utf8mb4', env('MESETA_HOST'), env('MESETA_PORT'), env('MESETA_DATABASE'));
    $options += [PDO::ATTR_EMULATE_PREPARES => false, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION];
    if ($tls) {
        $file = env('MESETA_SERVER_CERT');
        $options += $file ? [PDO::MYSQL_ATTR_SSL_CA => $file] : [PDO::MYSQL_ATTR_SSL_CA => '', PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT => false];
    }
    return new PDO($dsn, $user, $password, $options);
}

function one(PDO $db, string $sql): mixed
{
    return $db->query($sql)->fetchColumn();
}

function prepared(PDO $db, string $sql, array $parameters): PDOStatement
{
    $statement = $db->prepare($sql);
    $statement->execute($parameters);
    return $statement;
}

/** errno and SQLSTATE of what is to fail. */
function refused(callable $body): string
{
    try {
        $body();
    } catch (PDOException $error) {
        return ($error->errorInfo[1] ?? '') . ' ' . ($error->errorInfo[0] ?? $error->getMessage());
    }
    return 'no error';
}

function login(string $user): void
{
    // With TLS, with the RSA key, by the fast path.
    foreach ([true, false, false] as $tls) {
        same('the account', one(connect($user, env('MESETA_PASSWORD'), $tls), 'SELECT CURRENT_USER()'), "$user@%");
    }
    try {
        connect($user, 'wrong');
        same('refused', false, true);
    } catch (PDOException $error) {
        same('the error', $error->getCode(), 1045);
    }
}

/** Binds what types.tsv says of a row; a double has no type of its own here, so it is text. */
function bind(PDOStatement $insert, int $row): void
{
    $insert->bindValue(1, $row + 1, PDO::PARAM_INT);
    foreach (listed('types.tsv') as $idx => $column) {
        [$name, , $kind] = $column;
        $value = $row < 2 ? value($kind, $column[3 + $row]) : null;
        $type = match (true) {
            $value === null => PDO::PARAM_NULL,
            $kind === 'bool' => PDO::PARAM_BOOL,
            is_int($value) => PDO::PARAM_INT,
            default => PDO::PARAM_STR,
        };
        $insert->bindValue($idx + 2, $kind === 'bool' && $value !== null ? (bool) $value : (is_float($value) ? $column[3 + $row] : $value), $type);
    }
}

printf("version PDO over %s, PHP %s\n", connect()->getAttribute(PDO::ATTR_CLIENT_VERSION), PHP_VERSION);
check('connect', function () {
    $db = connect();
    same('1 + 1', one($db, 'SELECT 1 + 1'), 2);
    same('the version', $db->getAttribute(PDO::ATTR_SERVER_VERSION), one($db, 'SELECT VERSION()'));
    same('statistics', str_contains($db->getAttribute(PDO::ATTR_SERVER_INFO), 'Uptime'), true);
});
check('connect-tls', fn () => same('a cipher', connect(tls: true)->query("SHOW STATUS LIKE 'Ssl_cipher'")->fetch(PDO::FETCH_NUM)[1] !== '', true));
check('login-native', fn () => login(env('MESETA_NATIVE_USER')));
check('login-sha2', fn () => login(env('MESETA_SHA2_USER')));
check('text', function () {
    $db = connect(options: [PDO::ATTR_EMULATE_PREPARES => true]);
    $db->exec('CREATE TABLE text_check (id INT PRIMARY KEY, v VARCHAR(50))');
    same('rows inserted', $db->exec("/* why */ INSERT INTO text_check VALUES (1, 'héllo 日本語 😀'), (2, 'two') -- said\n"), 2);
    same('rows changed', $db->exec("UPDATE text_check SET v = 'deux' WHERE id = 2"), 1);
    same('the text', one($db, 'SELECT v FROM text_check WHERE id = 1 # so'), 'héllo 日本語 😀');
    same('a parameter in the text', prepared($db, 'SELECT v FROM text_check WHERE id = :id AND v = :v', ['id' => 2, 'v' => 'deux'])->fetchColumn(), 'deux');
    same('rows deleted', $db->exec('DELETE FROM text_check WHERE id IN (1, 2, 3)'), 2);
});
check('prepared', function () {
    $db = connect();
    $db->exec('CREATE TABLE prepared_check (id INT PRIMARY KEY, v VARCHAR(50), d DOUBLE)');
    $insert = $db->prepare('INSERT INTO prepared_check VALUES (:id, :v, :d)');
    for ($id = 1; $id <= 100; $id++) {
        $insert->execute(['id' => $id, 'v' => "row $id", 'd' => $id / 4]);
        same('rows', $insert->rowCount(), 1);
    }
    $read = $db->prepare('SELECT v, d FROM prepared_check WHERE id = ?');
    for ($id = 1; $id <= 100; $id++) {
        $read->bindValue(1, $id % 2 ? $id : (string) $id, $id % 2 ? PDO::PARAM_INT : PDO::PARAM_STR);
        $read->execute();
        same('the row', $read->fetchAll(PDO::FETCH_NUM), [["row $id", (float) $id / 4]]);
    }
});
check('types-text', function () {
    $db = connect(options: [PDO::ATTR_EMULATE_PREPARES => true, PDO::ATTR_STRINGIFY_FETCHES => true]);
    compare($db->query('SELECT * FROM conformance.types WHERE id IN (1, 2) ORDER BY id')->fetchAll(PDO::FETCH_ASSOC), true);
});
check('types-prepared', function () {
    $db = connect();
    $columns = listed('types.tsv');
    $db->exec('CREATE TABLE types LIKE conformance.types');
    $insert = $db->prepare('INSERT INTO types VALUES (?' . str_repeat(', ?', count($columns)) . ')');
    for ($row = 0; $row < 3; $row++) {
        bind($insert, $row);
        $insert->execute();
    }
    compare(prepared($db, 'SELECT * FROM types WHERE id IN (?, ?) ORDER BY id', [1, 2])->fetchAll(PDO::FETCH_ASSOC), false);
    foreach ($columns as [$name, , $kind]) {
        $equal = "SELECT COUNT(*) FROM types a JOIN conformance.types b ON a.id = b.id WHERE a.id IN (1, 2) AND a.$name = b.$name";
        if ($kind !== 'float') {
            same($name, one($db, $equal), 2);
        }
    }
});
check('nulls', function () {
    $db = connect();
    foreach ([$db->query('SELECT * FROM conformance.types WHERE id = 3'), prepared($db, 'SELECT * FROM types WHERE id = ?', [3])] as $result) {
        same('values', array_unique(array_slice($result->fetch(PDO::FETCH_NUM), 1), SORT_REGULAR), [null]);
    }
    same('parameters', prepared($db, "SELECT ? IS NULL, ? <=> NULL, COALESCE(?, 'x')", [null, null, null])->fetch(PDO::FETCH_NUM), [1, 1, 'x']);
});
check('empty-result', function () {
    $db = connect();
    $result = prepared($db, 'SELECT id AS number, c_text FROM conformance.types WHERE id = ?', [99]);
    same('nothing', [$result->columnCount(), $result->getColumnMeta(0)['name'], $result->fetch()], [2, 'number', false]);
    same('an empty string', one($db, 'SELECT c_text FROM conformance.types WHERE id = 1'), '');
});
check('value-20mb', function () {
    $db = connect();
    $value = str_repeat('abcdefghij', 2_000_000);
    same('prepared', prepared($db, 'SELECT ?, LENGTH(?)', [$value, $value])->fetch(PDO::FETCH_NUM) === [$value, strlen($value)], true);
    $stream = fopen('php://temp', 'r+');
    fwrite($stream, $value);
    rewind($stream);
    $statement = $db->prepare('SELECT LENGTH(?)');
    $statement->bindParam(1, $stream, PDO::PARAM_LOB);
    $statement->execute();
    same('a stream', $statement->fetchColumn(), strlen($value));
});
check('multi-statement', function () {
    $db = connect(options: [PDO::ATTR_EMULATE_PREPARES => true]);
    $collect = function (string $sql) use ($db) {
        $found = [];
        $result = $db->query($sql);
        do {
            $found[] = $result->columnCount() ? $result->fetchColumn() : $result->rowCount();
        } while ($result->nextRowset());
        return $found;
    };
    same('results', $collect("SELECT 1; CREATE TABLE multi_check (id INT PRIMARY KEY); INSERT INTO multi_check VALUES (1), (2); SELECT 'last'"), [1, 0, 2, 'last']);
    same('the error in the middle', refused(fn () => $collect('INSERT INTO multi_check VALUES (3); SELECT nosuch; INSERT INTO multi_check VALUES (4)')), '1054 42S22');
    same('rows afterwards', one($db, 'SELECT COUNT(*) FROM multi_check WHERE id > 0'), 3);
});
check('stream-1m', function () {
    $db = connect(options: [PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => false]);
    $before = resident();
    $seen = 0;
    $result = $db->query('SELECT * FROM conformance.million WHERE id > 0');
    while ($row = $result->fetch(PDO::FETCH_NUM)) {
        $seen++;
        if ($row !== [$seen, "row $seen"]) {
            same("row $seen", $row, []);
        }
        if ($seen === 500_000) {
            same('bounded memory', resident() - $before < STREAM_BYTES_MAX, true);
        }
    }
    same('rows', $seen, 1_000_000);
});
check('errors', function () {
    $db = connect();
    foreach (listed('errors.tsv') as [$errno, $state, $sql]) {
        same($sql, refused(fn () => $db->query($sql)), "$errno $state");
    }
    same('afterwards', one($db, 'SELECT 7'), 7);
});
check('kill', function () {
    [$db, $other] = [connect(), connect()];
    $id = one($db, 'SELECT CONNECTION_ID()');
    $child = proc_open([PHP_BINARY, '-r', sprintf('usleep(500000); (new mysqli(%s, "root", "", "", %d))->query("KILL QUERY %d");', var_export(env('MESETA_HOST'), true), env('MESETA_PORT'), $id)], [], $pipes);
    $start = microtime(true);
    // SLEEP that is interrupted gives 1; any other statement ends with 1317.
    $outcome = null;
    $error = refused(function () use ($db, &$outcome) { $outcome = one($db, 'SELECT SLEEP(30)'); });
    proc_close($child);
    same('the outcome', $outcome === 1 || $error === '1317 70100', true);
    same('at once', microtime(true) - $start < 1 + PROMPT_SECONDS, true);
    same('afterwards', one($db, 'SELECT 8'), 8);
    $other->exec("KILL $id");
    usleep(100_000);
    same('gone', (int) refused(fn () => @$db->query('SELECT 9')) >= 2006, true);
});
check('transaction', function () {
    [$db, $other] = [connect(), connect()];
    $count = 'SELECT COUNT(*) FROM transaction_check WHERE id > 0';
    $db->exec('CREATE TABLE transaction_check (id INT PRIMARY KEY)');
    $db->beginTransaction();
    $db->exec('INSERT INTO transaction_check VALUES (1)');
    same('seen', [one($db, $count), one($other, $count), $db->inTransaction()], [1, 0, true]);
    $db->rollBack();
    same('rolled back', [one($db, $count), $db->inTransaction()], [0, false]);
    $db->setAttribute(PDO::ATTR_AUTOCOMMIT, false);
    $db->exec('INSERT INTO transaction_check VALUES (1), (2)');
    same('seen', one($other, $count), 0);
    $db->commit();
    $db->setAttribute(PDO::ATTR_AUTOCOMMIT, true);
    same('committed', one($other, $count), 2);
});
check('batch-insert', function () {
    $db = connect();
    $db->exec('CREATE TABLE batch_check (id INT PRIMARY KEY, v VARCHAR(20))');
    $db->beginTransaction();
    $insert = $db->prepare('INSERT INTO batch_check VALUES (?, ?)' . str_repeat(', (?, ?)', 99));
    for ($rows = 0; $rows < 10_000; $rows += 100) {
        $insert->execute(array_merge(...array_map(fn ($id) => [$id, "v$id"], range($rows + 1, $rows + 100))));
        same('rows', $insert->rowCount(), 100);
    }
    $db->commit();
    same('what is there', one($db, COUNT_SQL), '10000 50005000 10000');
});
check('metadata', function () {
    $result = connect()->query('SELECT id AS number, c_ubig, c_decimal, c_varchar, c_datetime, c_blob FROM conformance.types WHERE id = 1');
    $found = array_map(function ($idx) use ($result) {
        $meta = $result->getColumnMeta($idx);
        return [$meta['name'], $meta['table'], $meta['native_type'], $meta['len'], $meta['precision'], array_values(array_intersect($meta['flags'], ['not_null', 'primary_key']))];
    }, range(0, 5));
    same('fields', $found, [
        ['number', 'types', 'LONG', 11, 0, ['not_null', 'primary_key']], ['c_ubig', 'types', 'LONGLONG', 20, 0, []],
        ['c_decimal', 'types', 'NEWDECIMAL', 40, 10, []], ['c_varchar', 'types', 'VAR_STRING', 1020, 0, []],
        ['c_datetime', 'types', 'DATETIME', 26, 6, []], ['c_blob', 'types', 'BLOB', 65535, 0, []],
    ]);
});
check('browse', function () {
    $db = connect();
    $db->exec(TABLE_SQL);
    // As Laravel and Doctrine ask.
    same('tables', prepared($db, "SELECT table_name AS `name`, engine FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema = ? AND table_name LIKE 'browse%' ORDER BY table_name", [env('MESETA_DATABASE')])->fetchAll(PDO::FETCH_COLUMN), ['browse_check']);
    $columns = prepared($db, 'SELECT column_name AS `name`, column_type AS `type`, collation_name AS `collation`, is_nullable AS `nullable`, column_default AS `default`, column_comment AS `comment`, generation_expression AS `expression`, extra AS `extra` FROM information_schema.columns WHERE table_schema = schema() AND table_name = ? ORDER BY ordinal_position ASC', ['browse_check'])->fetchAll(PDO::FETCH_ASSOC);
    same('columns', array_map(fn ($c) => [$c['name'], $c['type'], $c['nullable'], $c['default'], $c['comment'], $c['expression']], $columns), [['a', 'int', 'NO', null, '', ''], ['b', 'varchar(20)', 'YES', 'x', 'second', '']]);
    $keys = $db->query("SELECT index_name AS `name`, GROUP_CONCAT(column_name ORDER BY seq_in_index) AS `columns`, index_type AS `type`, NOT non_unique AS `unique` FROM information_schema.statistics WHERE table_schema = schema() AND table_name = 'browse_check' GROUP BY index_name, index_type, non_unique")->fetchAll(PDO::FETCH_ASSOC);
    same('keys', array_map(fn ($k) => [$k['name'], $k['columns'], $k['unique']], $keys), [['PRIMARY', 'a', 1], ['by_b', 'b', 1]]);
});
check('reconnect', function () {
    $db = connect();
    $db->exec('SET SESSION wait_timeout = 1');
    usleep(2_500_000);
    same('gone', (int) refused(fn () => @$db->query('SELECT 9')) >= 2006, true);
    same('a new one', one(connect(), 'SELECT 9'), 9);
});
check('found-rows', function () {
    $db = connect(options: [PDO::MYSQL_ATTR_FOUND_ROWS => true]);
    $db->exec('CREATE TABLE found_check (id INT PRIMARY KEY, v INT)');
    $db->exec('INSERT INTO found_check VALUES (1, 1)');
    same('rows found', $db->exec('UPDATE found_check SET v = 1 WHERE id = 1'), 1);
});
check('init-command', fn () => same('the zone', one(connect(options: [PDO::MYSQL_ATTR_INIT_COMMAND => "SET time_zone = '+02:00', sql_mode = 'ANSI', NAMES utf8mb4"]), 'SELECT @@time_zone'), '+02:00'));
check('insert-id', function () {
    $db = connect();
    $db->exec('CREATE TABLE insert_id (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20))');
    $db->exec("INSERT INTO insert_id (v) VALUES ('one')");
    same('its row', one($db, "SELECT v FROM insert_id WHERE id = {$db->lastInsertId()}"), 'one');
});
exit($failed ? 1 : 0);
