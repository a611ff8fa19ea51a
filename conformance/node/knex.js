// What Knex does itself: builds statements, makes and looks at tables, runs migrations and transactions.
'use strict';
const { allowScans, check, same, version, finish, refused, server, env } = require('./common');
const knex = require('knex')({ client: 'mysql2', connection: { ...server, charset: 'utf8mb4' }, pool: { min: 0, max: 4 } });

async function schema() {
  await knex.schema.createTable('users', (table) => {
    table.bigIncrements('id');
    table.string('name', 50).notNullable().unique();
    table.integer('age').unsigned().index();
    table.decimal('money', 12, 2).defaultTo(0);
    table.boolean('is_good').defaultTo(true);
    table.json('more');
    table.datetime('born', { precision: 6 });
    table.timestamps(true, true);
    table.text('notes');
    table.enu('kind', ['one', 'two']).comment('a kind');
  });
  same('hasTable', [await knex.schema.hasTable('users'), await knex.schema.hasTable('nosuch')], [true, false]);
  same('hasColumn', [await knex.schema.hasColumn('users', 'age'), await knex.schema.hasColumn('users', 'nosuch')], [true, false]);
  const info = await knex('users').columnInfo();
  same('columnInfo', [info.name, Object.keys(info).length], [{ defaultValue: null, type: 'varchar', maxLength: 50, nullable: false }, 11]);
}

async function alter() {
  await knex.schema.alterTable('users', (table) => {
    table.string('city', 40);
    table.index(['city', 'age'], 'by_city');
  });
  same('the column', await knex.schema.hasColumn('users', 'city'), true);
  await knex.schema.alterTable('users', (table) => table.dropIndex(['city', 'age'], 'by_city'));
  await knex.schema.alterTable('users', (table) => table.renameColumn('city', 'town'));
  await knex.schema.alterTable('users', (table) => table.dropColumn('town'));
  same('gone', await knex.schema.hasColumn('users', 'town'), false);
}

async function write() {
  const [id] = await knex('users').insert({ name: 'Ånna 😀', age: 30, more: JSON.stringify({ a: [1] }), born: '2000-02-29 12:00:00.5' });
  const row = await knex('users').where({ id }).first();
  same('the row', [row.name, row.age, row.money, row.is_good, row.more, row.kind], ['Ånna 😀', 30, '0.00', 1, { a: [1] }, null]);
  same('updated', await knex('users').where({ id }).update({ age: knex.raw('age + ?', [1]) }), 1);
  await knex('users').insert({ name: 'Ånna 😀', age: 5 }).onConflict('name').merge(['age']);
  await knex('users').insert({ name: 'Ånna 😀', age: 6 }).onConflict('name').ignore();
  same('merged', await knex('users').where('name', 'like', 'Ånna%').pluck('age'), [5]);
  await knex.batchInsert('users', Array.from({ length: 1000 }, (_, i) => ({ name: `user ${i}`, age: i % 50 })), 100);
  const [{ n }] = await knex('users').where('age', '<', 10).count({ n: '*' });
  same('counted', n, 201);
  const error = await refused(knex('users').insert({ name: 'user 1' }));
  same('a duplicate', [error.code, error.errno], ['ER_DUP_ENTRY', 1062]);
}

async function read() {
  const joined = await knex('users as a').join('users as b', 'a.id', 'b.id').where('a.name', 'user 7').select('a.name', 'b.age as years');
  same('joined', joined, [{ name: 'user 7', years: 7 }]);
  const grouped = await knex('users').whereIn('age', [1, 2, 3]).groupBy('age').having(knex.raw('count(*) >= ?', [20])).orderBy('age', 'desc').select('age');
  same('grouped', grouped.map(({ age }) => age), [3, 2, 1]);
  const nested = await knex('users').whereIn('id', knex('users').where('age', 4).select('id')).andWhere('name', 'user 4').pluck('name');
  same('nested', nested, ['user 4']);
  const united = await knex('users').where('name', 'user 1').select('name').union([knex('users').where('name', 'user 2').select('name')]);
  same('united', united.map(({ name }) => name).sort(), ['user 1', 'user 2']);
  const cte = await knex.with('young', knex('users').where('age', '<', 2)).from('young').count({ n: '*' }).first();
  same('WITH', cte.n, 40);
  let seen = 0;
  for await (const { id } of knex('users').where('age', '>=', 0).select('id').stream()) seen += id ? 1 : 0;
  same('streamed', seen, 1001);
}

async function transaction() {
  await refused(knex.transaction(async (trx) => {
    await trx('users').insert({ name: 'gone' });
    throw new Error('back');
  }));
  await knex.transaction(async (trx) => {
    await trx('users').insert({ name: 'kept' });
    await refused(trx.transaction(async (inner) => {
      await inner('users').insert({ name: 'inner' });
      throw new Error('back to the savepoint');
    }));
    const locked = await trx('users').where({ name: 'kept' }).forUpdate().first();
    same('locked', locked.name, 'kept');
  });
  same('kept', (await knex('users').whereIn('name', ['gone', 'kept', 'inner']).pluck('name')), ['kept']);
}

async function migrations() {
  const migrationSource = {
    getMigrations: async () => ['1_first', '2_second'],
    getMigrationName: (name) => name,
    getMigration: async (name) => ({
      up: (db) => db.schema.createTable(`migrated_${name}`, (table) => table.integer('id').primary()),
      down: (db) => db.schema.dropTable(`migrated_${name}`),
    }),
  };
  const [, done] = await knex.migrate.latest({ migrationSource });
  same('done', done, ['1_first', '2_second']);
  const [, undone] = await knex.migrate.rollback({ migrationSource }, true);
  same('undone', undone.length, 2);
  same('gone', await knex.schema.hasTable('migrated_1_first'), false);
}

async function main() {
  await allowScans(true);
  version('knex', 'mysql2');
  await check('connect', async () => same('1 + 1', (await knex.raw('SELECT 1 + 1 AS two'))[0][0].two, 2));
  await check('schema', schema);
  await check('alter', alter);
  await check('write', write);
  await check('read', read);
  await check('transaction', transaction);
  await check('migrations', migrations);
  await check('browse', async () => {
    const [tables] = await knex.raw('SHOW TABLES');
    same('tables', tables.some((row) => row[`Tables_in_${env.MESETA_DATABASE}`] === 'users'), true);
  });
  await knex.destroy();
  await allowScans(false);
  finish();
}

main();
