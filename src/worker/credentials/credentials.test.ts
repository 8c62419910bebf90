/** Handlers with credentials, inline and in child processes, at a node that remembers all that its worker says. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { CredentialNode } from '../../../test/support/credentials/node.ts';
import { blabs, dies, stores, throws } from '../../../test/support/credentials/tasks.ts';
import { makeWorker } from '../../app/worker.ts';
import { realWorld } from '../../app/world.ts';
import { SILENT } from '../../engine/log.ts';
import type { AnyTask } from '../define/definition.ts';
import { task } from '../define/task.ts';
import { WsLink } from '../links/ws-link.ts';
import { formsOf } from '../redaction/forms.ts';
import { MemoryShelf } from '../vault/shelf.ts';
import { Vault } from '../vault/vault.ts';
import { Secret } from './secret.ts';

const CANARY = 'canary/ü "7f3a" value';
const credentials = ['db'];

async function scene(t: TestContext, tasks: readonly AnyTask[], can?: readonly string[]): Promise<CredentialNode> {
  const node = await CredentialNode.start(t);
  node.can = can ?? node.can;
  const world = realWorld();
  const vault = new Vault('box', new MemoryShelf());
  const link = new WsLink({ url: node.url, secret: 's', world, log: SILENT });
  const parts = { link, world, log: SILENT, name: 'box', vault: async () => vault };
  const worker = makeWorker({ tasks, name: 'box', slots: 2 }, parts);
  void worker.start();
  t.after(() => worker.stop({ drain: false }));
  assert.equal((await node.give('box', 'db', 1, { value: CANARY })).status, 'stored');
  await node.give('box', 'login', 1, { type: 'login', fields: { user: 'ann', password: CANARY } });
  return node;
}

function assertUntold(node: CredentialNode): void {
  for (const form of formsOf([CANARY])) assert.ok(!node.heard.some((text) => text.includes(form)), form);
}

const inlineOf = (definition: AnyTask): AnyTask => Object.freeze({ ...definition, isolation: 'inline' });

for (const [where, change] of [
  ['in a child process', (one: AnyTask) => one],
  ['inline', inlineOf],
] as const) {
  test(`${where}: a handler reads what its task names, and nothing that it says has it`, async (t) => {
    const node = await scene(t, [change(blabs)]);
    const end = await node.run({ handler: 'blabs', input: { name: 'db' }, credentials });
    const { file, ...result } = JSON.parse(end['result'] as string) as Record<string, string>;
    assert.deepEqual(result, { text: '***', same: true, names: ['db'] });
    assert.ok(file?.includes('leasehold-secrets-'));
    assertUntold(node);
    const said = node.heard.join('\n');
    for (const line of ['log *** *** { secret: *** }', 'remember', '"stream":"progress"'])
      assert.ok(said.includes(line), line);
  });

  test(`${where}: an error that has it is told without it`, async (t) => {
    const node = await scene(t, [change(throws)]);
    const end = await node.run({ handler: 'throws', input: { name: 'db' }, credentials });
    assert.match(end['error'] as string, /no \*\*\*/);
    assertUntold(node);
  });

  test(`${where}: a value of a step that is too large is no file, which nobody would hide it in`, async (t) => {
    const node = await scene(t, [change(stores)], ['credential_ack', 'artifact_begin']);
    const end = await node.run({ handler: 'stores', input: { name: 'db' }, credentials });
    assert.match(end['error'] as string, /value of step big is too large/);
    assert.ok(!node.heard.some((text) => text.includes('artifact_begin')));
    assertUntold(node);
  });

  test(`${where}: a credential that the task does not name is refused, held or not`, async (t) => {
    const node = await scene(t, [change(throws)]);
    for (const [name, given] of [
      ['login', credentials],
      ['db', undefined],
    ] as const) {
      const end = await node.run({ handler: 'throws', input: { name }, ...(given && { credentials: given }) });
      assert.match(end['error'] as string, /CREDENTIAL_MISSING/);
    }
    const end = await node.run({ handler: 'throws', input: { name: 'gone' }, credentials: ['gone'] });
    assert.match(end['error'] as string, /does not hold it.*CREDENTIAL_MISSING|CREDENTIAL_MISSING.*does not hold it/);
  });
}

test('a file is for this user alone, and goes with the attempt, also when its process is killed', async (t) => {
  const seen: { path: string; mode: number; folder: number; text: string }[] = [];
  const looks = task('looks', {
    run: async (_input, ctx) => {
      const path = await ctx.credentials.file('login');
      const modeOf = (one: string): number => statSync(one).mode & 0o777;
      seen.push({ path, mode: modeOf(path), folder: modeOf(dirname(path)), text: readFileSync(path, 'utf8') });
    },
  });
  const node = await scene(t, [looks, dies]);
  await node.run({ handler: 'looks', credentials: ['login'] });
  const [one] = seen;
  assert.deepEqual([one?.mode, one?.folder], [0o600, 0o700]);
  assert.deepEqual(JSON.parse(one?.text ?? ''), { user: 'ann', password: CANARY });
  await node.run({ handler: 'dies', credentials });
  await node.run({ handler: 'looks', credentials: ['login'] });
  assert.equal(existsSync(one?.path ?? ''), false);
});

test('fields are secrets by their names, and a text and fields are not confused', async (t) => {
  const asked = task('asked', {
    run: async (_input, ctx) => {
      const { user, password } = await ctx.credentials.fields('login');
      assert.deepEqual([user?.reveal(), password?.reveal()], ['ann', CANARY]);
      assert.equal((await ctx.credentials.fields('db'))['value']?.reveal(), CANARY);
      await assert.rejects(ctx.credentials.text('login'), { code: 'INVALID_INPUT' });
      return 'fine';
    },
  });
  const node = await scene(t, [asked]);
  const end = await node.run({ handler: 'asked', credentials: ['db', 'login'] });
  assert.equal(end['result'], '"fine"');
});

test('a secret shows itself in no way but one', () => {
  const secret = new Secret(CANARY);
  const shown = [
    ['<', secret, '>'].join(''),
    String(secret),
    JSON.stringify({ secret }),
    inspect(secret),
    inspect({ a: [secret] }, { depth: 9, showHidden: true }),
  ];
  for (const one of [...shown, `${Object.entries(secret)}`, inspect(new Error('x', { cause: secret }))])
    assert.ok(!one.includes('canary'), one);
  assert.equal(secret.reveal(), CANARY);
});
