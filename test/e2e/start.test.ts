import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { installBundled } from '../../build/install.ts';
import { run } from '../support/leasehold.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-start-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let bin = '';
before(async () => {
  bin = await installBundled(folder);
});

interface Loaded {
  /** Our own files, below `dist`. */
  readonly files: readonly string[];
  /** Packages of npm. */
  readonly packages: readonly string[];
  /** Modules of Node. */
  readonly builtins: readonly string[];
}

const LISTING = `
  import { registerHooks } from 'node:module';
  import { writeFileSync } from 'node:fs';
  const urls = new Set();
  registerHooks({ load(url, context, next) { urls.add(url); return next(url, context); } });
  process.on('exit', () => writeFileSync('loaded.json', JSON.stringify({ urls: [...urls], builtins: process.moduleLoadList })));`;

/** What a process of the built package loads until its end. */
function loadedBy(args: readonly string[]): Loaded {
  const listing = `data:text/javascript,${encodeURIComponent(LISTING)}`;
  execFileSync(process.execPath, ['--import', listing, ...args], { cwd: folder, stdio: 'pipe' });
  const { urls, builtins } = JSON.parse(readFileSync(join(folder, 'loaded.json'), 'utf8')) as {
    readonly urls: readonly string[];
    readonly builtins: readonly string[];
  };
  const own = urls.flatMap((url) => /\/leasehold\/dist\/(.*)$/.exec(url)?.[1] ?? []);
  const others = urls.filter((url) => url.startsWith('file:') && !url.includes('/leasehold/dist/'));
  return {
    files: own.toSorted(),
    packages: [...new Set(others.flatMap((url) => /.*\/node_modules\/(@[^/]+\/[^/]+|[^/]+)\//.exec(url)?.[1] ?? []))]
      .filter((name) => name !== 'leasehold')
      .toSorted(),
    builtins,
  };
}

const has = ({ builtins }: Loaded, name: string): boolean => builtins.some((one) => one.endsWith(` ${name}`));

test('a command on a SQLite file loads commands, engine and store, and no package', () => {
  for (const args of [
    ['push', 'q'],
    ['tasks', 'list'],
  ]) {
    const loaded = loadedBy([bin, ...args]);
    const files = ['core', 'cli', 'store', 'store-library', 'sqlite'].map((name) => `chunks/${name}.js`);
    assert.deepEqual(loaded.files, [...files, 'cli/main.js'].toSorted(), args.join(' '));
    assert.deepEqual(loaded.packages, []);
    assert.equal(has(loaded, 'http'), false);
    assert.equal(has(loaded, 'internal/deps/undici/undici'), false);
    // A push hashes its lane.
    assert.equal(has(loaded, 'crypto'), args[0] === 'push');
  }
});

test('a command through a node loads neither engine nor store, and one HTTP stack', async (t) => {
  const node = run(t, ['up', '--no-worker', '--port', '0', '--data-dir', 'node'], { cwd: folder, program: bin });
  await node.says(/is up at/);
  for (const args of [
    ['push', 'q'],
    ['tasks', 'list'],
  ]) {
    const loaded = loadedBy([bin, ...args, '--data-dir', 'node']);
    assert.deepEqual(loaded.files, ['chunks/cli.js', 'chunks/core.js', 'cli/main.js'], args.join(' '));
    assert.deepEqual(loaded.packages, []);
    assert.equal(has(loaded, 'http'), true);
    assert.equal(has(loaded, 'internal/deps/undici/undici'), false);
  }
});

test('a worker of the library loads no server, no validator and no HTTP', () => {
  const program = join(folder, 'own.mjs');
  writeFileSync(
    program,
    `import { open, task } from 'leasehold';
     const app = await open('sqlite:own.db');
     const noop = task('noop', { run: () => 1 });
     await app.worker({ tasks: [noop] }).start();
     await (await app.push(noop, {})).result();
     await app.close();`,
  );
  const loaded = loadedBy([program]);
  const chunks = loaded.files.filter((file) => file.startsWith('chunks/'));
  assert.deepEqual(
    chunks,
    ['core', 'library-child', 'library', 'sqlite', 'store-library'].map((name) => `chunks/${name}.js`),
  );
  assert.deepEqual(loaded.packages, []);
  assert.equal(has(loaded, 'http'), false);
  assert.equal(has(loaded, 'child_process'), false);
  assert.equal(has(loaded, 'internal/deps/undici/undici'), false);
});

test('a program that opens Postgres loads one adapter, and not that of SQLite', () => {
  const program = join(folder, 'served.mjs');
  writeFileSync(
    program,
    `import { open } from 'leasehold';
     const refused = await open('postgres://nobody@127.0.0.1:1/none').then(() => false, () => true);
     if (!refused) throw new Error('somebody answers there');`,
  );
  const loaded = loadedBy([program]);
  const chunks = loaded.files.filter((file) => file.startsWith('chunks/'));
  assert.deepEqual(
    chunks,
    ['core', 'library-child', 'library', 'postgres', 'store-library'].map((name) => `chunks/${name}.js`),
  );
  assert.equal(has(loaded, 'sqlite'), false);
});

test('the validator of messages is one file of the package, with its licence and one language', () => {
  const dist = join(dirname(dirname(bin)), 'dist');
  for (const file of globSync('**/*.js', { cwd: dist })) {
    assert.doesNotMatch(readFileSync(join(dist, file), 'utf8'), /from "zod"|import\("zod"\)/, file);
  }
  const validator = readFileSync(join(dist, 'chunks/zod.js'), 'utf8');
  assert.match(validator, /Invalid input: expected/);
  assert.doesNotMatch(validator, /Ungültige Eingabe/);
  assert.match(readFileSync(join(dist, 'chunks/zod.LICENSE'), 'utf8'), /MIT/);
});

test('all text of the bundle is ASCII: one other character would double what each of its files takes in memory', () => {
  const dist = join(dirname(dirname(bin)), 'dist');
  const files = globSync('{chunks,threads}/*.js', { cwd: dist });
  assert.ok(files.length > 20);
  for (const file of files) {
    const text = readFileSync(join(dist, file));
    assert.equal(
      text.findIndex((byte) => byte > 0x7f),
      -1,
      file,
    );
  }
  // What it says is the same.
  assert.match(readFileSync(join(dist, 'chunks/core.js'), 'utf8'), /\\ufffd/);
});

test('what the sources start by its URL is where the bundle looks for it', () => {
  const dist = dirname(dirname(bin));
  const named = /new URL\(`(\.[^$`]+)\$\{extname\(new URL\("([^"]+)", import\.meta\.url\)\.href\)\}`/g;
  const found = new Set<string>();
  for (const file of globSync('dist/**/*.js', { cwd: dist })) {
    for (const [, path = '', own = ''] of readFileSync(join(dist, file), 'utf8').matchAll(named)) {
      found.add(`${join(dirname(file), dirname(own), path)}.js`);
    }
  }
  assert.ok(found.size >= 5, 'renewal thread, housekeeper, renewals, child program, built-in handlers');
  for (const file of found) assert.ok(existsSync(join(dist, file)), file);
});
