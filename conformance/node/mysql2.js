// The checklist of conformance/README.md by mysql2's promises.
'use strict';
const fs = require('fs');
const { Readable } = require('stream');
const mysql = require('mysql2/promise');
const { check, same, columns, errors, version, sleep, finish, refused, server, env } = require('./common');

const STREAM_BYTES_MAX = 30_000_000;
const PROMPT_MS = 5000;

const connect = (options = {}) => mysql.createConnection({ ...server, ...options });

/** Runs a check with a connection of its own. */
async function using(options, body) {
  const connection = await connect(options);
  // An error of a connection that nobody is using is told here, and else ends the process.
  connection.connection.on('error', () => {});
  try {
    return await body(connection);
  } finally {
    connection.destroy();
  }
}

const one = async (connection, sql, parameters) => Object.values((await connection.query(sql, parameters))[0][0])[0];
const count = async (connection, sql) => (await connection.query(sql))[0].affectedRows;

const tls = () => (env.MESETA_SERVER_CERT ? { ssl: { ca: fs.readFileSync(env.MESETA_SERVER_CERT) } } : { ssl: { rejectUnauthorized: false } });

async function login(user) {
  // With TLS, with the RSA key, by the fast path.
  for (const options of [tls(), {}, {}]) {
    await using({ ...options, user, password: env.MESETA_PASSWORD }, async (connection) => {
      same('the account', await one(connection, 'SELECT CURRENT_USER()'), `${user}@%`);
    });
  }
  const error = await refused(connect({ user, password: 'wrong' }));
  same('the error', [error.errno, error.sqlState], [1045, '28000']);
}

/** What a row of conformance.types is with strings for whatever does not fit a number. */
const exact = { supportBigNumbers: true, bigNumberStrings: true, dateStrings: true };

function comparable(kind, value) {
  if (value === null) return null;
  switch (kind) {
    case 'bytes': return Buffer.isBuffer(value) ? value.toString('hex') : String(value);
    case 'float': return Math.fround(Number(value));
    // Its own parser of numbers is off by a bit or two in the last place.
    case 'double': return Number(Number(value).toPrecision(15));
    case 'json': return JSON.stringify(typeof value === 'string' ? JSON.parse(value) : value);
    // The client leaves out what is zero.
    case 'datetime': case 'time': return String(value).replace(/\.0+$/, '');
    default: return String(value);
  }
}

function compare(rows) {
  same('rows', rows.length, 2);
  rows.forEach((row, idx) => {
    for (const { name, kind, values } of columns()) {
      same(`${name} of row ${idx + 1}`, comparable(kind, row[name]), comparable(kind, values[idx]));
    }
  });
}

function parameter(kind, text) {
  switch (kind) {
    case 'bool': return text === '1';
    case 'int': case 'uint': return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
    case 'year': case 'float': case 'double': return Number(text);
    case 'bytes': return Buffer.from(text, 'hex');
    case 'json': return JSON.parse(text);
    default: return text;
  }
}

async function typesPrepared(connection) {
  await connection.query('CREATE TABLE types LIKE conformance.types');
  const sql = `INSERT INTO types VALUES (?${', ?'.repeat(columns().length)})`;
  for (const row of [0, 1]) {
    await connection.execute(sql, [row + 1, ...columns().map(({ kind, values }) => parameter(kind, values[row]))]);
  }
  await connection.execute(sql, [3, ...columns().map(() => null)]);
  compare((await connection.execute('SELECT * FROM types WHERE id IN (?, ?) ORDER BY id', [1, 2]))[0]);
  for (const { name, kind } of columns()) {
    const equal = `SELECT COUNT(*) FROM types a JOIN conformance.types b ON a.id = b.id WHERE a.id IN (1, 2) AND a.${name} = b.${name}`;
    if (kind !== 'float') same(name, Number(await one(connection, equal)), 2);
  }
}

async function nulls(connection) {
  const [[text]] = await connection.query('SELECT * FROM conformance.types WHERE id = 3');
  const [[prepared]] = await connection.execute('SELECT * FROM types WHERE id = ?', [3]);
  for (const { name } of columns()) same(name, [text[name], prepared[name]], [null, null]);
  const [[row]] = await connection.execute("SELECT ? IS NULL AS a, ? <=> NULL AS b, COALESCE(?, 'x') AS c", [null, null, null]);
  same('parameters', [row.a, row.b, row.c], [1, 1, 'x']);
}

async function text(connection) {
  await connection.query('CREATE TABLE text_check (id INT PRIMARY KEY, v VARCHAR(50))');
  same('rows inserted', await count(connection, "/* why */ INSERT INTO text_check VALUES (1, 'héllo 日本語 😀'), (2, 'two') -- said\n"), 2);
  const [changed] = await connection.query("UPDATE text_check SET v = 'deux' WHERE id IN (1, 2)");
  same('changed', [changed.affectedRows, changed.changedRows, changed.info], [2, 2, 'Rows matched: 2  Changed: 2  Warnings: 0']);
  await connection.query("UPDATE text_check SET v = 'héllo 日本語 😀' WHERE id = 1");
  same('the text', await one(connection, 'SELECT v FROM text_check WHERE id = 1 # so'), 'héllo 日本語 😀');
  same('rows deleted', await count(connection, 'DELETE FROM text_check WHERE id IN (1, 2, 3)'), 2);
}

async function prepared(connection) {
  await connection.query('CREATE TABLE prepared_check (id INT PRIMARY KEY, v VARCHAR(50), d DOUBLE)');
  const insert = await connection.prepare('INSERT INTO prepared_check VALUES (?, ?, ?)');
  for (let id = 1; id <= 100; id++) await insert.execute([id, `row ${id}`, id / 4]);
  await insert.close();
  const read = await connection.prepare('SELECT v, d FROM prepared_check WHERE id = ?');
  for (let id = 1; id <= 100; id++) {
    const [rows] = await read.execute([id % 2 ? id : String(id)]);
    same('the row', rows.map(({ v, d }) => [v, d]), [[`row ${id}`, id / 4]]);
  }
  await read.close();
}

async function multiStatement(connection) {
  const [results] = await connection.query("SELECT 1 AS a; CREATE TABLE multi_check (id INT PRIMARY KEY); INSERT INTO multi_check VALUES (1), (2); SELECT 'last' AS b");
  same('results', results.length, 4);
  same('rows', [results[0][0].a, results[2].affectedRows, results[3][0].b], [1, 2, 'last']);
  const error = await refused(connection.query('INSERT INTO multi_check VALUES (3); SELECT nosuch; INSERT INTO multi_check VALUES (4)'));
  same('the error in the middle', error.errno, 1054);
  same('rows afterwards', await one(connection, 'SELECT COUNT(*) FROM multi_check WHERE id > 0'), 3);
}

async function stream(connection) {
  // V8 frees what is behind when it is told to, so that what is held can be measured.
  global.gc();
  const before = process.memoryUsage().heapUsed;
  let seen = 0;
  const rows = connection.connection.query('SELECT * FROM conformance.million WHERE id > 0').stream({ highWaterMark: 100 });
  for await (const { id, name } of rows) {
    seen += 1;
    if (id !== seen || name !== `row ${seen}`) throw new Error(`row ${seen} is ${id} ${name}`);
    if (seen === 500_000) {
      global.gc();
      const grown = process.memoryUsage().heapUsed - before;
      if (grown > STREAM_BYTES_MAX) throw new Error(`holds ${grown} bytes`);
    }
  }
  same('rows', seen, 1_000_000);
}

async function kill(connection) {
  await using({}, async (other) => {
    const id = await one(connection, 'SELECT CONNECTION_ID()');
    const asleep = one(connection, 'SELECT SLEEP(30)').catch((error) => error.errno);
    const running = `SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ${id} AND INFO LIKE '%SLEEP(30)'`;
    for (let i = 0; (await one(other, running)) !== 1 && i < 200; i++) await sleep(20);
    const start = Date.now();
    await other.query(`KILL QUERY ${id}`);
    const outcome = await asleep;
    // SLEEP that is interrupted gives 1; any other statement ends with 1317.
    same('ended at once', [Date.now() - start < PROMPT_MS, outcome === 1 || outcome === 1317], [true, true]);
    same('afterwards', await one(connection, 'SELECT 8'), 8);
    await other.query(`KILL ${id}`);
    await sleep(100);
    const error = await refused(connection.query('SELECT 9'));
    same('gone', error.fatal === true || /closed|lost/i.test(error.message), true);
  });
}

async function transaction(connection) {
  await using({}, async (other) => {
    const rows = 'SELECT COUNT(*) FROM transaction_check WHERE id > 0';
    await connection.query('CREATE TABLE transaction_check (id INT PRIMARY KEY)');
    await connection.beginTransaction();
    await connection.query('INSERT INTO transaction_check VALUES (1)');
    same('seen', [await one(connection, rows), await one(other, rows)], [1, 0]);
    await connection.rollback();
    same('rolled back', await one(connection, rows), 0);
    await connection.query('SET autocommit = 0');
    await connection.query('INSERT INTO transaction_check VALUES (1), (2)');
    same('seen', await one(other, rows), 0);
    await connection.commit();
    await connection.query('SET autocommit = 1');
    same('committed', await one(other, rows), 2);
  });
}

async function batchInsert(connection) {
  await connection.query('CREATE TABLE batch_check (id INT PRIMARY KEY, v VARCHAR(20))');
  const values = Array.from({ length: 10_000 }, (_, i) => [i + 1, `v${i + 1}`]);
  const [result] = await connection.query('INSERT INTO batch_check VALUES ?', [values]);
  same('rows', [result.affectedRows, result.info], [10_000, 'Records: 10000  Duplicates: 0  Warnings: 0']);
  const sum = "SELECT CONCAT(COUNT(*), ' ', SUM(id), ' ', SUM(v = CONCAT('v', id))) FROM batch_check WHERE id > 0";
  same('what is there', await one(connection, sum), '10000 50005000 10000');
}

async function metadata(connection) {
  const sql = 'SELECT id AS number, c_ubig, c_decimal, c_varchar, c_datetime, c_blob, c_json FROM conformance.types WHERE id = 1';
  for (const [, fields] of [await connection.query(sql), await connection.execute(sql)]) {
    const found = fields.map((f) => [f.name, f.orgName, f.orgTable, f.schema || f.db, mysql.Types[f.columnType], f.columnLength, f.decimals, f.characterSet === 63 ? 'binary' : 'text', f.flags & 33]);
    const of = (name, type, length, decimals, charset, flags) => [name, name, 'types', 'conformance', type, length, decimals, charset, flags];
    same('fields', found, [
      ['number', 'id', 'types', 'conformance', 'LONG', 11, 0, 'binary', 1], of('c_ubig', 'LONGLONG', 20, 0, 'binary', 32),
      of('c_decimal', 'NEWDECIMAL', 40, 10, 'binary', 0), of('c_varchar', 'VAR_STRING', 1020, 0, 'text', 0),
      of('c_datetime', 'DATETIME', 26, 6, 'binary', 0), of('c_blob', 'BLOB', 65535, 0, 'binary', 0), of('c_json', 'JSON', 4294967295, 0, 'binary', 0),
    ]);
  }
}

async function browse(connection) {
  await connection.query("CREATE TABLE browse_check (a INT, b VARCHAR(20) DEFAULT 'x' COMMENT 'second', PRIMARY KEY (a), UNIQUE KEY by_b (b))");
  const [databases] = await connection.query('SHOW DATABASES');
  same('the database', databases.some((row) => row.Database === env.MESETA_DATABASE), true);
  const [tables] = await connection.query("SHOW FULL TABLES LIKE 'browse%'");
  same('tables', tables.map(Object.values), [['browse_check', 'BASE TABLE']]);
  const [fields] = await connection.query('SHOW FULL COLUMNS FROM browse_check');
  same('columns', fields.map((f) => [f.Field, f.Type, f.Null, f.Key, f.Default, f.Comment]),
    [['a', 'int', 'NO', 'PRI', null, ''], ['b', 'varchar(20)', 'YES', 'UNI', 'x', 'second']]);
  const [keys] = await connection.query('SHOW INDEX FROM browse_check');
  same('keys', keys.map((k) => [k.Key_name, k.Column_name, k.Non_unique]), [['PRIMARY', 'a', 0], ['by_b', 'b', 0]]);
}

async function reconnect() {
  const pool = mysql.createPool({ ...server, connectionLimit: 1 });
  try {
    const connection = await pool.getConnection();
    connection.connection.on('error', () => {});
    await connection.query('SET SESSION wait_timeout = 1');
    connection.release();
    await sleep(2500);
    same('a new one', await one(pool, 'SELECT 9'), 9);
    const fresh = await one(pool, 'SELECT @@wait_timeout');
    same('it is another', fresh > 1, true);
  } finally {
    await pool.end();
  }
}

async function largeValue(connection) {
  const value = 'abcdefghij'.repeat(2_000_000);
  for (const how of ['query', 'execute']) {
    const [[row]] = await connection[how]('SELECT ? AS v, LENGTH(?) AS n', [value, Buffer.from(value)]);
    same(how, [row.n, row.v === value], [value.length, true]);
  }
}

async function changeUser(connection) {
  const password = env.MESETA_PASSWORD;
  await connection.query('SET @kept = 5');
  for (const user of [env.MESETA_NATIVE_USER, env.MESETA_SHA2_USER]) {
    await connection.changeUser({ user, password, database: 'conformance' });
    same('the account', await one(connection, "SELECT CONCAT(CURRENT_USER(), ' ', DATABASE())"), `${user}@% conformance`);
  }
  same('the variable', await one(connection, 'SELECT @kept'), null);
}

async function loadLocal(connection) {
  await connection.query('CREATE TABLE load_check (id INT PRIMARY KEY, v VARCHAR(20))');
  const infileStreamFactory = () => Readable.from(['1,one\n2,two\n', '3,\\N\n'].map((part) => Buffer.from(part)));
  const sql = "LOAD DATA LOCAL INFILE 'rows.csv' INTO TABLE load_check FIELDS TERMINATED BY ','";
  const [result] = await connection.query({ sql, infileStreamFactory });
  same('rows', result.affectedRows, 3);
  same('the rows', await one(connection, "SELECT GROUP_CONCAT(id, COALESCE(v, '-') ORDER BY id) FROM load_check WHERE id > 0"), '1one,2two,3-');
}

async function main() {
  version('mysql2');
  await check('connect', () => using({}, async (connection) => {
    same('1 + 1', await one(connection, 'SELECT 1 + 1'), 2);
    same('the version', connection.connection._handshakePacket.serverVersion, await one(connection, 'SELECT VERSION()'));
    await connection.ping();
  }));
  await check('connect-tls', () => using(tls(), async (connection) => {
    const [[row]] = await connection.query("SHOW STATUS LIKE 'Ssl_cipher'");
    same('a cipher', row.Value.length > 0, true);
  }));
  await check('login-native', () => login(env.MESETA_NATIVE_USER));
  await check('login-sha2', () => login(env.MESETA_SHA2_USER));
  await check('text', () => using({}, text));
  await check('prepared', () => using({}, prepared));
  await check('types-text', () => using(exact, async (connection) => {
    compare((await connection.query('SELECT * FROM conformance.types WHERE id IN (1, 2) ORDER BY id'))[0]);
  }));
  await check('types-prepared', () => using(exact, typesPrepared));
  await check('nulls', () => using({}, nulls));
  await check('empty-result', () => using({}, async (connection) => {
    const [rows, fields] = await connection.execute('SELECT id AS number, c_text FROM conformance.types WHERE id = ?', [99]);
    same('nothing', [rows, fields.map((field) => field.name)], [[], ['number', 'c_text']]);
    same('an empty string', await one(connection, 'SELECT c_text FROM conformance.types WHERE id = 1'), '');
  }));
  await check('value-20mb', () => using({}, largeValue));
  await check('multi-statement', () => using({ multipleStatements: true }, multiStatement));
  await check('stream-1m', () => using({}, stream));
  await check('errors', () => using({}, async (connection) => {
    for (const { errno, state, sql } of errors()) {
      const error = await refused(connection.query(sql));
      same(sql, [error.errno, error.sqlState], [errno, state]);
    }
    same('afterwards', await one(connection, 'SELECT 7'), 7);
  }));
  await check('kill', () => using({}, kill));
  await check('transaction', () => using({}, transaction));
  await check('batch-insert', () => using({}, batchInsert));
  await check('metadata', () => using({}, metadata));
  await check('browse', () => using({}, browse));
  await check('reconnect', reconnect);
  await check('change-user', () => using({}, changeUser));
  await check('reset', () => using({}, async (connection) => {
    await connection.query('SET @kept = 5');
    await connection.reset();
    same('the variable', await one(connection, 'SELECT @kept'), null);
  }));
  await check('dates', () => using({ timezone: 'Z' }, async (connection) => {
    const moment = new Date('2024-02-29T12:34:56.789Z');
    const [[row]] = await connection.execute('SELECT CAST(? AS DATETIME(3)) AS d', [moment]);
    same('a Date', row.d.toISOString(), moment.toISOString());
  }));
  await check('insert-id', () => using({}, async (connection) => {
    await connection.query('CREATE TABLE insert_id (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20))');
    const [{ insertId }] = await connection.query("INSERT INTO insert_id (v) VALUES ('one')");
    same('its row', await one(connection, 'SELECT v FROM insert_id WHERE id = ?', [insertId]), 'one');
  }));
  await check('compress', () => using({ compress: true }, async (connection) => {
    const [[row]] = await connection.query("SHOW STATUS LIKE 'Compression'");
    same('Compression', row && row.Value, 'ON');
    same('a long answer', (await one(connection, "SELECT REPEAT('ab', 1000000)")).length, 2_000_000);
  }));
  await check('load-local', () => using({}, loadLocal));
  await check('pipelined', () => using({}, async (connection) => {
    const found = await Promise.all(Array.from({ length: 100 }, (_, i) => one(connection, 'SELECT ? * 2', [i])));
    same('answers in order', found, Array.from({ length: 100 }, (_, i) => i * 2));
  }));
  finish();
}

main();
