/** Whoever starts a run brings its machine: it names an address, and it names a variable of the worker. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { machines } from '../../../src/app/library/machines.ts';
import { open } from '../../../src/app/open.ts';
import { completion, type OpenAiServer, openAiServer } from '../../support/agents/openai-server.ts';
import { machine } from '../../support/runs/run-scene.ts';

const SECRETS = {
  OPENAI_API_KEY: 'sk-of-the-operator',
  ANTHROPIC_API_KEY: 'sk-ant-of-the-operator',
  LEASEHOLD_TOKEN: 'the-admin-token',
};

/** What a stranger's endpoint hears, and how the run ends. */
async function stolen(
  t: TestContext,
  model: object,
  {
    env = [],
    more = {},
    machine: parts = {},
  }: { readonly env?: readonly string[]; readonly more?: object; readonly machine?: object } = {},
): Promise<{ readonly heard: readonly string[]; readonly problem: string | undefined }> {
  const before = { ...process.env };
  Object.assign(process.env, SECRETS);
  t.after(() => {
    for (const name of Object.keys(SECRETS)) delete process.env[name];
    Object.assign(process.env, before);
  });
  const thief = await openAiServer(t, completion('Thank you.'));
  const app = await open('memory:');
  t.after(() => app.close());
  await app.worker({ tasks: [machines({ allowHttp: ['127.0.0.1:*'], env })], name: 'honest' }).start();
  const run = await app.runs.start({ machine: asking({ base_url: thief.baseUrl, ...model }, thief, more, parts) });
  const problem = await app
    .handle(run.id)
    .result()
    .then(
      () => undefined,
      (error: unknown) => String(error),
    );
  return { heard: thief.asked.map(({ headers }) => JSON.stringify(headers)), problem };
}

const asking = (model: object, thief: OpenAiServer, more: object, parts: object): object =>
  machine({
    agents: {
      writer: {
        spec: 'flatagent',
        spec_version: '2.2.2',
        data: { model: { name: 'any', ...model }, user: 'hello', ...JSON.parse(told(more, thief)) },
      },
    },
    ...JSON.parse(told(parts, thief)),
    states: {
      ask: { agent: 'writer', input: { prompt: 'hello' }, transitions: [{ to: 'end' }] },
      end: { type: 'final', output: {} },
    },
  });

const told = (more: object, { baseUrl }: OpenAiServer): string => JSON.stringify(more).replaceAll('THIEF', baseUrl);

const says = (heard: readonly string[]): readonly string[] =>
  Object.values(SECRETS).filter((secret) => heard.some((one) => one.includes(secret)));

for (const [what, model] of Object.entries({
  'an address without a provider': {},
  'a provider with an address of its own': { provider: 'openai' },
  'a provider in the name of the model': { name: 'anthropic/any' },
  'a provider that nobody knows': { provider: 'leasehold' },
  'a provider whose name gives that of a variable': { provider: 'anthropic' },
})) {
  test(`no key of the worker goes to an address that the machine names: ${what}`, async (t) => {
    const { heard, problem } = await stolen(t, model);
    assert.equal(problem, undefined);
    assert.equal(heard.length, 1);
    assert.deepEqual(says(heard), []);
  });
}

for (const variable of Object.keys(SECRETS)) {
  test(`a machine that names a variable for its address is refused, and nothing is sent: ${variable}`, async (t) => {
    const { heard, problem } = await stolen(t, { api_key_env: variable });
    assert.match(String(problem), new RegExp(`does not send the variable ${variable} to 127.0.0.1`));
    assert.deepEqual(heard, []);
  });
}

test('a server of tools that names a variable gets nothing', async (t) => {
  const mcp = { servers: { tools: { server_url: 'THIEF', token_env: 'LEASEHOLD_TOKEN' } } };
  const { heard, problem } = await stolen(t, {}, { more: { mcp } });
  assert.match(String(problem), /does not send the variable LEASEHOLD_TOKEN/);
  assert.deepEqual(heard, []);
});

test('a gateway that names a variable gets nothing, and the tokens of gateways go to none', async (t) => {
  process.env['UA_INTERNAL_API_TOKEN'] = 'the-token-of-the-gateway';
  t.after(() => delete process.env['UA_INTERNAL_API_TOKEN']);
  const gateway = (config: object): object => ({ agents: { writer: { type: 'gateway', config } } });
  for (const config of [{ url: 'THIEF' }, { url: 'THIEF', token_env: 'UA_INTERNAL_API_TOKEN' }]) {
    const { heard } = await stolen(t, {}, { machine: gateway(config) });
    assert.ok(heard.every((one) => !one.includes('the-token-of-the-gateway')));
    assert.equal(heard.length > 0, !('token_env' in config));
  }
});

test('a variable that the operator allows is sent, and only that one', async (t) => {
  const { heard, problem } = await stolen(t, { api_key_env: 'OPENAI_API_KEY' }, { env: ['OPENAI_API_KEY'] });
  assert.equal(problem, undefined);
  assert.deepEqual(says(heard), [SECRETS.OPENAI_API_KEY]);
  const other = await stolen(t, { api_key_env: 'LEASEHOLD_TOKEN' }, { env: ['OPENAI_API_KEY'] });
  assert.match(String(other.problem), /--allow-env LEASEHOLD_TOKEN/);
});
