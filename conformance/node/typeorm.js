// What TypeORM does itself: entities without decorators, synchronisation by information_schema,
// repositories, query builders, migrations.
'use strict';
require('reflect-metadata');
const { DataSource, EntitySchema, In, Like, Table, TableColumn, TableIndex } = require('typeorm');
const { allowScans, check, same, version, finish, refused, server } = require('./common');

const Author = new EntitySchema({
  name: 'Author',
  tableName: 'authors',
  columns: {
    id: { type: 'int', primary: true, generated: 'increment' },
    name: { type: 'varchar', length: 60, unique: true },
    money: { type: 'decimal', precision: 12, scale: 2, default: 0 },
    isGood: { type: 'boolean', default: true },
    more: { type: 'json', nullable: true },
    kind: { type: 'enum', enum: ['one', 'two'], default: 'one' },
    big: { type: 'bigint', unsigned: true, nullable: true },
    born: { type: 'date', nullable: true },
    seen: { type: 'datetime', precision: 6, nullable: true },
    picture: { type: 'blob', nullable: true },
    createdAt: { type: 'timestamp', createDate: true },
    version: { type: 'int', version: true },
  },
  indices: [{ name: 'by_kind', columns: ['kind', 'money'] }],
  relations: { books: { type: 'one-to-many', target: 'Book', inverseSide: 'author' } },
});
const Book = new EntitySchema({
  name: 'Book',
  tableName: 'books',
  columns: { id: { type: 'bigint', primary: true, generated: 'increment' }, title: { type: 'text' } },
  // Foreign keys are no part of the server.
  relations: { author: { type: 'many-to-one', target: 'Author', inverseSide: 'books', createForeignKeyConstraints: false } },
});

const First = class First1700000000001 {
  async up(runner) {
    await runner.createTable(new Table({ name: 'migrated', columns: [{ name: 'id', type: 'int', isPrimary: true }, { name: 'v', type: 'varchar', length: '20' }] }));
    await runner.createIndex('migrated', new TableIndex({ name: 'by_v', columnNames: ['v'] }));
    await runner.addColumn('migrated', new TableColumn({ name: 'n', type: 'int', isNullable: true }));
  }

  async down(runner) {
    await runner.dropTable('migrated');
  }
};

const { host, port, database } = server;
const source = new DataSource({ type: 'mysql', host, port, username: 'root', password: '', database, entities: [Author, Book], migrations: [First], charset: 'utf8mb4' });

async function write() {
  const authors = source.getRepository('Author');
  const seen = new Date('2024-02-29T12:34:56.789Z');
  const saved = await authors.save({ name: 'Ånna 😀', more: { a: [1] }, kind: 'two', big: '18446744073709551615', born: '2000-02-29', seen, picture: Buffer.from([0, 255]) });
  const found = await authors.findOneBy({ id: saved.id });
  same('the row', [found.name, found.money, found.isGood, found.more, found.kind, found.big, found.born, found.seen.toISOString(), [...found.picture], found.version],
    ['Ånna 😀', '0.00', true, { a: [1] }, 'two', '18446744073709551615', '2000-02-29', seen.toISOString(), [0, 255], 1]);
  found.money = '12.34';
  same('the next version', (await authors.save(found)).version, 2);
  await authors.increment({ id: saved.id }, 'money', 1);
  same('changed', (await authors.findOneBy({ id: saved.id })).money, '13.34');
  await authors.insert(Array.from({ length: 200 }, (_, i) => ({ name: `author ${i}`, money: i })));
  await authors.upsert([{ name: 'author 7', money: 700 }], ['name']);
  same('upserted', (await authors.findOneBy({ name: 'author 7' })).money, '700.00');
  const error = await refused(authors.insert({ name: 'author 9' }));
  same('a duplicate', error.code, 'ER_DUP_ENTRY');
  same('deleted', (await authors.delete({ name: Like('author 19%') })).affected, 11);
}

async function read() {
  const authors = source.getRepository('Author');
  const author = await authors.findOneBy({ name: 'author 3' });
  await source.getRepository('Book').save([{ title: 'first', author }, { title: 'second', author }]);
  const found = await authors.findOne({ where: { name: 'author 3' }, relations: { books: true }, order: { books: { title: 'DESC' } } });
  same('its books', found.books.map((book) => book.title), ['second', 'first']);
  const [rows, count] = await authors.findAndCount({ where: { name: In(['author 1', 'author 2', 'author 3']) }, relations: { books: true }, take: 2, order: { name: 'ASC' } });
  same('a page', [count, rows.map((row) => row.name)], [3, ['author 1', 'author 2']]);
  const sums = await authors.createQueryBuilder('a').leftJoin('a.books', 'b').select('a.kind', 'kind').addSelect('COUNT(b.id)', 'books')
    .where('a.name LIKE :name', { name: 'author%' }).groupBy('a.kind').getRawMany();
  same('by a builder', sums, [{ kind: 'one', books: '2' }]);
}

async function transaction() {
  const authors = source.getRepository('Author');
  await refused(source.transaction(async (manager) => {
    await manager.insert('Author', { name: 'gone' });
    throw new Error('back');
  }));
  await source.transaction('READ COMMITTED', async (manager) => {
    await manager.insert('Author', { name: 'kept' });
    const row = await manager.findOne('Author', { where: { name: 'kept' }, lock: { mode: 'pessimistic_write' } });
    same('locked', row.name, 'kept');
  });
  same('kept', (await authors.findBy({ name: In(['gone', 'kept']) })).map((row) => row.name), ['kept']);
}

async function browse() {
  const runner = source.createQueryRunner();
  try {
    const table = await runner.getTable('authors');
    same('columns', table.columns.map((column) => column.name), Object.keys(Author.options.columns));
    same('indexes', table.indices.map((index) => index.name).includes('by_kind'), true);
    same('the key', table.primaryColumns.map((column) => column.name), ['id']);
    same('a type', [table.findColumnByName('money').precision, table.findColumnByName('money').scale], [12, 2]);
    same('the database', await runner.hasDatabase(database), true);
    same('there', [await runner.hasTable('books'), await runner.hasColumn('books', 'title'), await runner.hasTable('nosuch')], [true, true, false]);
  } finally {
    await runner.release();
  }
}

async function main() {
  await allowScans(true);
  version('typeorm', 'mysql2');
  await check('connect', () => source.initialize());
  await check('schema', () => source.synchronize());
  await check('schema-again', async () => {
    const log = await source.driver.createSchemaBuilder().log();
    same('nothing left to change', log.upQueries.map((query) => query.query), []);
  });
  await check('write', write);
  await check('read', read);
  await check('transaction', transaction);
  await check('browse', browse);
  await check('migrations', async () => {
    same('done', (await source.runMigrations()).length, 1);
    await source.undoLastMigration();
  });
  await check('drop', () => source.dropDatabase());
  await source.destroy();
  await allowScans(false);
  finish();
}

main();
