// What Sequelize does itself: models, synchronisation, associations, looking at tables.
'use strict';
const { DataTypes, Op, Sequelize, Transaction, UniqueConstraintError } = require('sequelize');
const { allowScans, check, same, version, finish, server, env } = require('./common');

const db = new Sequelize(env.MESETA_DATABASE, 'root', '', { host: server.host, port: server.port, dialect: 'mysql', logging: false, pool: { max: 4 } });
const Author = db.define('Author', {
  name: { type: DataTypes.STRING(60), allowNull: false, unique: 'by_name' },
  born: DataTypes.DATEONLY,
  money: { type: DataTypes.DECIMAL(12, 2), defaultValue: 0 },
  isGood: { type: DataTypes.BOOLEAN, defaultValue: true },
  more: DataTypes.JSON,
  kind: DataTypes.ENUM('one', 'two'),
  big: DataTypes.BIGINT.UNSIGNED,
  seen: DataTypes.DATE(6),
  picture: DataTypes.BLOB,
});
const Book = db.define('Book', { title: DataTypes.TEXT }, { indexes: [{ fields: ['AuthorId'] }], timestamps: false });
// Foreign keys are no part of the server.
Author.hasMany(Book, { constraints: false });
Book.belongsTo(Author, { constraints: false });

async function write() {
  const moment = new Date('2024-02-29T12:34:56.789Z');
  const author = await Author.create({
    name: 'Ånna 😀', born: '2000-02-29', more: { a: [1, 'x'] }, kind: 'two', big: '18446744073709551615', seen: moment, picture: Buffer.from([0, 255]),
  });
  const found = await Author.findByPk(author.id);
  same('the row', [found.name, found.born, found.money, found.isGood, found.more, found.kind, String(found.big), found.seen.toISOString(), [...found.picture]],
    ['Ånna 😀', '2000-02-29', '0.00', true, { a: [1, 'x'] }, 'two', '18446744073709551615', moment.toISOString(), [0, 255]]);
  await found.update({ money: '12.34' });
  await found.increment('money', { by: 1 });
  same('changed', (await found.reload()).money, '13.34');
  await Author.bulkCreate(Array.from({ length: 500 }, (_, i) => ({ name: `author ${i}`, money: i })));
  const [, isNew] = await Author.upsert({ name: 'author 7', money: 700 });
  same('upserted', [isNew === true, (await Author.findOne({ where: { name: 'author 7' } })).money], [false, '700.00']);
  const [again, created] = await Author.findOrCreate({ where: { name: 'author 8' } });
  same('found', [again.name, created], ['author 8', false]);
  const error = await Author.create({ name: 'author 9' }).catch((e) => e);
  same('a duplicate', [error instanceof UniqueConstraintError, Object.keys(error.fields || {})], [true, ['name']]);
}

async function read() {
  const author = await Author.findOne({ where: { name: 'author 3' } });
  await author.createBook({ title: 'first' });
  await author.createBook({ title: 'second' });
  const found = await Author.findOne({ where: { name: { [Op.like]: 'author 3' } }, include: [Book], order: [[Book, 'title', 'DESC']] });
  same('its books', found.Books.map((book) => book.title), ['second', 'first']);
  const { count, rows } = await Author.findAndCountAll({ where: { name: { [Op.in]: ['author 1', 'author 2', 'author 3'] } }, include: [Book], limit: 2, order: ['name'], distinct: true });
  same('a page', [count, rows.map((row) => row.name)], [3, ['author 1', 'author 2']]);
  same('a sum', await Author.sum('money', { where: { name: ['author 1', 'author 2'] } }), 3);
  same('by JSON', (await Author.findOne({ where: { name: 'Ånna 😀', more: { a: { [Op.ne]: null } } } })).name, 'Ånna 😀');
  const [raw] = await db.query('SELECT :a + :b AS s', { replacements: { a: 1, b: 2 } });
  same('raw', raw, [{ s: 3 }]);
  const bound = await db.query('SELECT $1 AS v', { bind: ['bound'], type: 'SELECT' });
  same('bound', bound, [{ v: 'bound' }]);
}

async function transaction() {
  await db.transaction(async (t) => {
    await Author.create({ name: 'gone' }, { transaction: t });
    throw new Error('back');
  }).catch((error) => same('the error', error.message, 'back'));
  await db.transaction({ isolationLevel: Transaction.ISOLATION_LEVELS.READ_COMMITTED }, async (t) => {
    await Author.create({ name: 'kept' }, { transaction: t });
    await Author.findOne({ where: { name: 'kept' }, lock: t.LOCK.UPDATE, transaction: t });
  });
  same('kept', (await Author.findAll({ where: { name: ['gone', 'kept'] } })).map((row) => row.name), ['kept']);
}

async function browse() {
  const api = db.getQueryInterface();
  same('tables', (await api.showAllTables()).sort(), ['Authors', 'Books']);
  const table = await api.describeTable('Authors');
  same('a column', [table.name.type, table.name.allowNull, table.id.primaryKey, table.money.defaultValue], ['VARCHAR(60)', false, true, '0.00']);
  const indexes = await api.showIndex('Authors');
  same('indexes', indexes.map((index) => [index.name, index.unique, index.primary]).sort(), [['PRIMARY', true, true], ['by_name', true, false]]);
  same('foreign keys', await api.getForeignKeyReferencesForTable('Books'), []);
  same('databases', (await db.query('SHOW DATABASES', { type: 'SELECT' })).some((row) => row.Database === env.MESETA_DATABASE), true);
}

async function alter() {
  const api = db.getQueryInterface();
  await api.addColumn('Authors', 'town', { type: DataTypes.STRING(40) });
  await api.addIndex('Authors', ['town', 'name'], { name: 'by_town' });
  await api.renameColumn('Authors', 'town', 'city');
  await api.removeIndex('Authors', 'by_town');
  await api.changeColumn('Authors', 'city', { type: DataTypes.STRING(80) });
  same('wider', (await api.describeTable('Authors')).city.type, 'VARCHAR(80)');
  await api.removeColumn('Authors', 'city');
  await Author.sync({ alter: true });
}

async function main() {
  await allowScans(true);
  version('sequelize', 'mysql2');
  await check('connect', () => db.authenticate());
  await check('schema', () => db.sync());
  await check('write', write);
  await check('read', read);
  await check('transaction', transaction);
  await check('browse', browse);
  await check('alter', alter);
  await check('drop', () => db.drop());
  await db.close();
  await allowScans(false);
  finish();
}

main();
