import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { completion, json, openAiServer, pieces, stream, toolCall } from '../../support/agents/openai-server.ts';
import { ROOT } from '../../support/leasehold.ts';
import { place } from '../cli/cli-calls.ts';

const FOLDER = join(ROOT, 'examples/machines/researcher');
const ARGS = ['run', 'researcher.yml', '--hooks', 'researcher.hooks.ts', '--input', '{"question": "What is a lease?"}'];

/** A streamed turn that asks for a word. */
const asks = (id: string, word: string) =>
  stream(pieces({ tool_calls: [{ index: 0, ...toolCall(id, 'look_up', { word }) }] }), 50);

for (const [how, where] of [
  ['within a process', []],
  ['as a durable run', ['--store', 'sqlite:work.db']],
] as const)
  test(`the researcher looks things up and has them written down ${how}, with a model of the tests`, async (t) => {
    const server = await openAiServer(
      t,
      asks('a', 'unicorn'),
      asks('b', 'lease'),
      stream(pieces({ content: 'A right ' }, { content: 'for a time.' }), 50),
      json(500, {}),
      completion('{"sentence": "A lease is a right for a time."}'),
    );
    const { cwd, call } = place(t);
    cpSync(FOLDER, cwd, { recursive: true });
    const settings = { OPENAI_BASE_URL: server.baseUrl, OPENAI_API_KEY: 'sk-test' };
    const { code, stdout, stderr } = await call([...ARGS, ...where], '', settings);
    assert.equal(code, 0, stderr);
    assert.deepEqual(JSON.parse(stdout), { answer: 'A lease is a right for a time.', looked_up: 1, calls: 5 });
    assert.deepEqual(
      server.asked.map(({ body }) => body.model),
      ['gpt-5-mini', 'gpt-5-mini', 'gpt-5-mini', 'gpt-5-nano', 'gpt-5-nano'],
    );
    assert.equal(server.asked[0]?.headers.authorization, 'Bearer sk-test');
    assert.deepEqual(
      server.asked[2]?.body.messages.filter(({ role }) => role === 'tool').map(({ content }) => content),
      ['there is nothing about unicorn', 'A lease is the right to do something until a certain time.'],
    );
  });

test('the researcher stops when its hooks have seen enough, and says why it failed', async (t) => {
  const enough = await openAiServer(t, asks('a', 'lease'), asks('b', 'fence'), completion('{"sentence": "Both."}'));
  const { cwd, call } = place(t);
  cpSync(FOLDER, cwd, { recursive: true });
  const run = await call(ARGS, '', { OPENAI_BASE_URL: enough.baseUrl });
  assert.deepEqual(JSON.parse(run.stdout), { answer: 'Both.', looked_up: 2, calls: 3 });
  const refused = await openAiServer(t, json(401, { error: { message: 'who are you?', type: 'invalid_api_key' } }));
  const failed = await call(ARGS, '', { OPENAI_BASE_URL: refused.baseUrl });
  assert.deepEqual(JSON.parse(failed.stdout), { why: 'invalid_api_key: who are you?' });
});
