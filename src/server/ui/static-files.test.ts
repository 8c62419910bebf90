import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { StaticFiles } from './static-files.ts';

const folder = tempFolder('static-files');
let built = 0;

function build(files: Readonly<Record<string, string>>): string {
  const own = join(folder, `dist-${++built}`);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(own, name)), { recursive: true });
    writeFileSync(join(own, name), text);
  }
  return own;
}

const PAGE = {
  'index.html': '<p>index',
  'assets/app-DkP3x9aQ.js': 'js',
  'assets/app-DkP3x9aQ.js.br': 'small',
  'icon.svg': '<svg/>',
};

async function textOf(files: StaticFiles, name: string, accepts = ''): Promise<string | undefined> {
  return (await files.find(name, accepts))?.body.toString();
}

test('a file is found by its name, and a page that is no file by the index', async () => {
  const files = new StaticFiles(() => own);
  const own = build(PAGE);
  assert.equal(await textOf(files, 'icon.svg'), '<svg/>');
  for (const page of ['', 'tasks', 'tasks/task_1', 'index.html', 'no-such.js']) {
    assert.equal(await textOf(files, page), '<p>index', page);
  }
  assert.equal(await textOf(files, 'assets/old-aaaaaaaa.js'), undefined, 'an asset of an older build is no page');
  const script = await files.find('assets/app-DkP3x9aQ.js', '');
  assert.deepEqual([script?.type, script?.lasting], ['text/javascript; charset=utf-8', true]);
  assert.equal((await files.find('', ''))?.lasting, false);
});

test('what lies beside a file, made small, is sent to who takes it', async () => {
  const own = build({ ...PAGE, 'index.html.gz': 'zipped', 'index.html.br': 'brotli' });
  const files = new StaticFiles(() => own);
  const encoding = async (accepts: string) => (await files.find('', accepts))?.encoding;
  assert.equal(await encoding('gzip, deflate, br'), 'br');
  assert.equal(await encoding('GZIP'), 'gzip');
  assert.equal(await encoding('br;q=0, gzip;q=0.5'), 'gzip');
  assert.equal(await encoding('br;q=0.0'), undefined);
  assert.equal(await encoding('brotli'), undefined);
  assert.equal(await textOf(files, '', 'br'), 'brotli');
  assert.equal(await textOf(files, '', 'identity'), '<p>index');
  assert.equal((await files.find('', 'br'))?.type, 'text/html; charset=utf-8');
});

test('nothing outside of the folder is ever sent, however it is asked for', async () => {
  const own = build(PAGE);
  writeFileSync(join(folder, 'secret.html'), 'secret');
  symlinkSync(join(folder, 'secret.html'), join(own, 'link.html'));
  symlinkSync(folder, join(own, 'all'));
  const files = new StaticFiles(() => own);
  const names = [
    '../secret.html',
    '..\\secret.html',
    '/../secret.html',
    'assets/../../secret.html',
    '%2e%2e/secret.html',
    join(folder, 'secret.html'),
    'link.html',
    'all/secret.html',
    'index.html\u0000.js',
    'icon.svg\u0000',
    'constructor',
    '__proto__',
    '.',
    '..',
    'con',
    'x'.repeat(100_000),
  ];
  for (const name of names) {
    const text = await textOf(files, name);
    assert.ok(text === '<p>index' || text === undefined, `${JSON.stringify(name)}: ${text}`);
  }
});

test('a file that became a link since the walk is not read', async () => {
  const own = build({ ...PAGE, 'page.html': 'mine' });
  const files = new StaticFiles(() => own);
  assert.equal(await textOf(files, 'page.html'), 'mine');
  rmSync(join(own, 'page.html'));
  symlinkSync(join(folder, 'secret.html'), join(own, 'page.html'));
  assert.equal(await textOf(files, 'page.html'), undefined);
});

test('only what belongs to a page is sent', async () => {
  const own = build({ ...PAGE, 'app.map': '{}', '.env': 'X=1', 'run.sh': '#!', 'data.db': 'x' });
  const files = new StaticFiles(() => own);
  for (const name of ['app.map', '.env', 'run.sh', 'data.db', 'assets/app-DkP3x9aQ.js.br']) {
    assert.notEqual(await textOf(files, name), readFileSync(join(own, name), 'utf8'), name);
  }
});

test('another build is seen at once, and a folder that is not there has nothing', async () => {
  let own: string | undefined;
  const files = new StaticFiles(() => own);
  assert.equal(await files.find('', ''), undefined);
  own = join(folder, 'not-there');
  assert.equal(await files.find('', ''), undefined);
  own = build(PAGE);
  assert.equal(await textOf(files, 'new.txt'), '<p>index');
  writeFileSync(join(own, 'new.txt'), 'new');
  writeFileSync(join(own, 'index.html'), '<p>other');
  utimesSync(join(own, 'index.html'), 1, 1);
  assert.equal(await textOf(files, 'new.txt'), 'new');
  assert.equal(await textOf(files, ''), '<p>other');
});
