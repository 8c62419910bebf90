import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import * as builtin from './builtin.ts';
import type { FormSchema } from './schema.ts';
import { type HandlerSettings, settingsEnvironment } from './settings.ts';

const { BUILTIN_MODULE, BUILTIN_NAMES } = builtin;
const folder = tempFolder('builtin');

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

/** A real process that imports the module, as the children of a worker do; `tasks` are those that it finds there. */
function inChild(code: string, env: Readonly<Record<string, string>>): Promise<Printed> {
  const source = `
    import { tryOut } from ${JSON.stringify(new URL('./try-out.test.ts', import.meta.url).href)};
    const exported = await import(${JSON.stringify(BUILTIN_MODULE)});
    const tasks = Object.fromEntries(Object.entries(exported).filter(([, value]) => typeof value?.run === 'function'));
    const say = (value) => console.log(JSON.stringify(value));
    ${code}`;
  return promisify(execFile)(process.execPath, ['--input-type=module', '--eval', source], { env: { ...env } });
}

async function said(code: string, settings: HandlerSettings): Promise<unknown> {
  const { stdout } = await inChild(code, settingsEnvironment(settings));
  return JSON.parse(stdout);
}

const describeTasks = `say(Object.entries(tasks).map(([name, task]) =>
  [name, task.name, task.queue, task.isolation, task.module === ${JSON.stringify(BUILTIN_MODULE)}, 'jsonSchema' in task.schema]).sort());`;

test('it exports each handler under its name, for a process, with a schema that a form can be drawn from', async () => {
  const all = [...BUILTIN_NAMES].sort().map((name) => [name, name, name, 'process', true, true]);
  assert.deepEqual(await said(describeTasks, {}), all);
});

test('beside the tasks it exports only their names and its own address', () => {
  assert.deepEqual(Object.keys(builtin).sort(), ['BUILTIN_MODULE', 'BUILTIN_NAMES', ...BUILTIN_NAMES].sort());
});

test('the reference has a section for each, with exactly the fields of its schema', () => {
  const page = readFileSync(new URL('../../../docs/reference/handlers.md', import.meta.url), 'utf8');
  const sections = new Map(page.split(/^## /m).map((section) => [section.split('\n', 1)[0], section]));
  for (const { name, schema } of [builtin.aggregate, builtin.echo, builtin.shell, builtin.http, builtin.js].filter(
    (task) => task !== undefined,
  )) {
    const [, table = ''] = (sections.get(name) ?? '').split('| field |');
    const rows = (table.split('\n\n', 1)[0] ?? '').matchAll(/^\| `(\w+)` \|/gm);
    const { properties } = (schema as FormSchema<unknown>).jsonSchema as { properties: object };
    assert.deepEqual(new Set(Array.from(rows, ([, field]) => field)), new Set(Object.keys(properties)), name);
  }
});

test('those that are not on offer are not there', async () => {
  assert.deepEqual(await said('say(Object.keys(tasks).sort())', { only: ['http', 'echo'] }), ['echo', 'http']);
});

test('settings that are not understood keep it from loading', async () => {
  await assert.rejects(
    inChild('', { LEASEHOLD_HANDLERS: '{"http":{"allow":["10.0.0.0/99"]}}' }),
    /is not an exception/,
  );
  await assert.rejects(inChild('', { LEASEHOLD_HANDLERS: '{"onyl":[]}' }), /LEASEHOLD_HANDLERS/);
});

test('the exceptions of http come from the settings', async (t) => {
  const server = createServer((_request, response) => void response.end('inside')).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const code = `
    const { ended } = await tryOut(tasks.http, { url: 'http://127.0.0.1:${port}/' });
    say(ended.kind === 'done' ? ended.result.body : ended.error.code);`;
  assert.equal(await said(code, { http: { allow: [`127.0.0.1:${port}`] } }), 'inside');
  assert.equal(await said(code, {}), 'REFUSED');
});

test('the folder of js comes from the settings', async () => {
  writeFileSync(join(folder, 'seven.js'), 'export default () => 7;');
  const code = `say((await tryOut(tasks.js, { module: 'seven.js' })).ended);`;
  assert.deepEqual(await said(code, { js: { root: folder } }), { kind: 'done', result: 7 });
});

test('a command prints on the output of the process that its runner reads', async () => {
  const input = { command: 'echo out; echo err >&2; printf "%s" "$LEASEHOLD_LEASE:$LEASEHOLD_HANDLERS:$SECRET"' };
  const code = `await tryOut(tasks.shell, ${JSON.stringify(input)});`;
  const env = { ...settingsEnvironment({}), LEASEHOLD_LEASE: '7/1', SECRET: 'canary', PATH: '/usr/bin:/bin' };
  assert.deepEqual(await inChild(code, env), { stdout: 'out\n7/1::\n', stderr: 'err\n' });
});
