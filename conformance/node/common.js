// What the checks of Node's clients share: the lines they print, where the server is, types.tsv.
'use strict';
const fs = require('fs');
const path = require('path');
const { isDeepStrictEqual, inspect } = require('util');

const env = process.env;
const server = { host: env.MESETA_HOST, port: Number(env.MESETA_PORT), user: 'root', password: '', database: env.MESETA_DATABASE };
let failed = false;

/** What a check throws that cannot be made with this client, with the reason. */
class Skip extends Error {}

async function check(name, body) {
  const start = Date.now();
  try {
    await body();
    console.log(`ok ${name}`);
  } catch (error) {
    const reason = String((error && error.message) || error).replace(/\s+/g, ' ').slice(0, 400);
    if (error instanceof Skip) {
      console.log(`skip ${name}: ${reason}`);
    } else {
      failed = true;
      console.log(`FAIL ${name}: ${reason}`);
      console.error(error);
    }
  }
  console.error(`${name}: ${Date.now() - start} ms`);
}

function same(what, found, expected) {
  if (!isDeepStrictEqual(found, expected)) {
    const cut = (value) => inspect(value, { breakLength: Infinity, maxStringLength: 100, maxArrayLength: 20 });
    throw new Error(`${what}: found ${cut(found)}, expected ${cut(expected)}`);
  }
}

function list(name) {
  const lines = fs.readFileSync(path.join(env.MESETA_CHECKLIST, name), 'utf8').split('\n').filter((line) => line);
  return lines.map((line) => line.split('\t'));
}

/** The columns of conformance.types: name, type, kind, and the values of rows 1 and 2. */
const columns = () => list('types.tsv').map(([name, type, kind, low, high]) => ({ name, type, kind, values: [low, high] }));
const errors = () => list('errors.tsv').map(([errno, state, sql]) => ({ errno: Number(errno), state, sql }));

const version = (...packages) => {
  const told = packages.map((name) => `${name} ${JSON.parse(fs.readFileSync(`node_modules/${name}/package.json`)).version}`);
  console.log(`version ${told.join(', ')}, Node ${process.version}`);
};

/**
 * Lets every connection read whole tables: these clients keep tables of their own that they read without a
 * condition, which the server refuses unless it is told.
 */
async function allowScans(isOn) {
  const connection = await require('mysql2/promise').createConnection(server);
  await connection.query(`SET GLOBAL sql_big_selects = ${isOn ? 'ON' : 'OFF'}`);
  await connection.end();
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const finish = () => process.exit(failed ? 1 : 0);

/** The error of a promise that is to fail. */
const refused = (promise) => promise.then(() => ({ errno: 0 }), (error) => error);

module.exports = { Skip, allowScans, check, same, columns, errors, version, sleep, finish, refused, server, env };
