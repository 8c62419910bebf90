/** Credentials of dazflow agents, in their own words. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { PlainAgent } from '../../../test/support/dazflow-agent.ts';
import { type GatewayScene, hubScene } from '../../../test/support/gateway-scene.ts';
import { ClusterSecret } from '../../operate/cluster-secret.ts';
import { CredentialSafe } from '../../operate/credentials/safe.ts';

interface Scene extends Pick<GatewayScene, 'engine' | 'world' | 'address'> {
  readonly hub: GatewayScene;
  readonly set: (version: number, workers?: readonly string[]) => Promise<unknown>;
}

async function scene(t: TestContext, byPath = false): Promise<Scene> {
  const hub = await hubScene(t, { credentials: true, byPath });
  const { engine } = hub;
  const safe = new CredentialSafe(new ClusterSecret('the secret of the test', engine.store.clusterKey));
  const set = (version: number, addWorkers: readonly string[] = []) => {
    const value = { type: 'bot', fields: { token: `token ${version}` } };
    const sealed = { version, sealed: safe.seal('discord', version, value), kind: 'fields', type: 'bot' } as const;
    return engine.credentials.put({ name: 'discord', value: sealed, addWorkers });
  };
  return { hub, engine, world: hub.world, address: hub.address, set };
}

async function statusOf({ engine }: Scene, worker: string): Promise<string | undefined> {
  return (await engine.credentials.holdings({ worker, credentials: ['discord'] }))[0]?.status;
}

/** Comes when the store says so; what an agent says has no answer. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 5000; tries++) {
    if (await isSo()) return;
    await new Promise((resolve) => void setImmediate(resolve));
  }
  assert.fail('it never came so');
}

const needing = { queue: 'work', handler: 'echo', placement: { credentials: ['discord'] } };

test('an agent is sent the credential that it was chosen for, and its word that it has it brings the task', async (t) => {
  const at = await scene(t);
  const [chosen, other] = [await at.hub.agent('a'), await at.hub.agent('b')];
  await at.set(1, ['a', 'offline']);
  const { task } = await at.engine.push(needing);
  const push = await chosen.hear('credential_push');
  assert.deepEqual(push, {
    type: 'credential_push',
    name: 'discord',
    credential: { type: 'bot', data: { token: 'token 1' } },
    data: { token: 'token 1' },
  });
  chosen.say({ type: 'credential_ack', name: 'discord', status: 'failed', error: 'no keyring' });
  await until(async () => (await statusOf(at, 'a')) === 'failed');
  assert.equal((await at.engine.get(task))?.state, 'ready', 'a failed acknowledgement brings nothing');
  await at.set(2);
  await chosen.hear('credential_push');
  chosen.say({ type: 'credential_ack', name: 'discord' });
  await until(async () => (await statusOf(at, 'a')) === 'stored');
  const offered = await chosen.offered();
  assert.equal(offered.required_credential, 'discord');
  assert.ok(!other.told.some(({ type }) => type === 'credential_push' || type === 'task_available'));
  assert.equal(await statusOf(at, 'offline'), 'wanted');
});

test('an agent that is no longer chosen gets no task more, though it cannot be told to remove what it has', async (t) => {
  const at = await scene(t);
  const agent = await at.hub.agent('a');
  await at.set(1, ['a']);
  await agent.hear('credential_push');
  agent.say({ type: 'credential_ack', name: 'discord', status: 'success' });
  await until(async () => (await statusOf(at, 'a')) === 'stored');
  await at.engine.credentials.put({ name: 'discord', removeWorkers: ['a'] });
  assert.deepEqual((await at.engine.workers.list())[0]?.tags, []);
  agent.say({ type: 'credential_ack', name: 'discord', status: 'success' });
  const { task } = await at.engine.push(needing);
  await agent.quiet();
  assert.deepEqual([(await at.engine.get(task))?.state, await statusOf(at, 'a')], ['ready', 'removing']);
});

test('what an agent says that it has counts where an operator has said so', async (t) => {
  const at = await scene(t);
  const secret = await at.hub.enrolAgent('a');
  const agent = await PlainAgent.enter(at.address, { name: 'a', secret, credentials: ['discord'] });
  const { task } = await at.engine.push(needing);
  await agent.quiet();
  assert.equal((await at.engine.get(task))?.state, 'ready');
  await at.engine.workers.set({ name: 'a', grant: { ownCredentials: true } });
  await agent.offered();
  agent.say({ type: 'credentials_report', credentials: ['other'] });
  await until(async () => (await at.engine.workers.list())[0]?.tags.join() === 'credential:other');
});
