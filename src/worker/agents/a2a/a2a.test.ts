import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { TaskState } from '@a2a-js/sdk';
import {
  type A2aOptions,
  type A2aScript,
  type A2aServer,
  a2aServer,
  dataPart,
  textPart,
} from '../../../../test/support/agents/a2a-server.ts';
import { agentHandler, agents } from '../../../app/library/agents.ts';
import { type App, open } from '../../../app/open.ts';

const DONE = TaskState.TASK_STATE_COMPLETED;
const TOKEN = 'a-long-secret-token';

async function scene(
  t: TestContext,
  scripts: readonly A2aScript[],
  options?: A2aOptions,
): Promise<{ readonly app: App; readonly server: A2aServer }> {
  const server = await a2aServer(t, scripts, options);
  const app = await open('memory:');
  t.after(() => app.close({ drainMs: 0 }));
  const runs = agentHandler({
    allowHttp: ['127.0.0.1:*'],
    programs: false,
    sendable: new Set(['A2A_TEST_TOKEN']),
    environment: () => ({ A2A_TEST_TOKEN: TOKEN, PATH: '/bin' }),
  });
  const worker = app.worker({ tasks: [runs], name: 'mine' });
  await worker.start();
  return { app, server };
}

const asking = (server: A2aServer, more: object = {}) => ({
  gateway: { type: 'a2a', url: server.url, ...more },
  prompt: 'Sum it up',
  backoffs: [0, 0],
});

describe('an A2A agent', () => {
  test('is asked over the official client; its artifacts are the answer, its status and texts are the log', async (t) => {
    const { app, server } = await scene(t, [
      (call) => {
        call.say('reading');
        call.artifact('sum', [textPart('It is ')]);
        call.artifact('sum', [textPart('short.')], true);
        call.end(DONE);
      },
    ]);
    const handle = await app.push(agents(), { ...asking(server), context: { team: 'a' }, session: 'talk-1' });
    const result = await handle.result();
    assert.deepEqual([result.text, result.stop, result.session], ['It is short.', 'complete', 'talk-1']);
    const [message] = server.messages;
    assert.deepEqual([message?.metadata, message?.contextId], [{ team: 'a' }, 'talk-1']);
    const lines: string[] = [];
    for await (const { stream, text } of handle.logs()) if (stream === 'log') lines.push(text);
    assert.deepEqual(lines, ['· reading', 'It is short.']);
  });

  test('may answer with data, and is asked again and again where it does not stream', async (t) => {
    const { app, server } = await scene(
      t,
      [
        (call) => {
          call.artifact('sum', [dataPart({ words: 2 })]);
          call.end(DONE);
        },
      ],
      { streaming: false },
    );
    const result = await (await app.push(agents(), asking(server))).result();
    assert.deepEqual(result.output, { words: 2 });
  });

  test('goes on with its task when the connection breaks, and is sent nothing again', async (t) => {
    const broke = Promise.withResolvers<void>();
    const { app, server } = await scene(t, [
      async (call) => {
        call.say('begun');
        await broke.promise;
        call.artifact('sum', [textPart('whole')]);
        call.end(DONE);
      },
    ]);
    const handle = await app.push(agents(), asking(server));
    for await (const { text } of handle.logs()) if (text.includes('begun')) break;
    server.cut();
    for await (const { text } of handle.logs()) if (text.includes('goes on')) break;
    broke.resolve();
    assert.equal((await handle.result()).text, 'whole');
    assert.equal(server.messages.length, 1);
  });

  test('asks a person what it needs to know, and hears the answer in the same task', async (t) => {
    const { app, server } = await scene(t, [
      (call) => call.end(TaskState.TASK_STATE_INPUT_REQUIRED, 'Which year?'),
      (call) => {
        call.artifact('sum', [textPart('It was quiet.')]);
        call.end(DONE);
      },
    ]);
    const handle = await app.push(agents(), asking(server));
    for await (const { change } of handle.events({ after: 0 })) if (change === 'parked') break;
    const [approval] = await app.approvals();
    assert.match(String(approval?.title), /Which year\?/);
    await app.decide(String(approval?.id), { action: 'answer', value: '1999', by: 'ada' });
    assert.equal((await handle.result()).text, 'It was quiet.');
    const [first, second] = server.messages;
    assert.deepEqual(second?.parts[0]?.content, textPart('1999'));
    assert.equal(first?.taskId, second?.taskId);
  });

  test('is told of a cancel, within a bound', async (t) => {
    const told = Promise.withResolvers<void>();
    const { app, server } = await scene(t, [
      async (call) => {
        call.say('begun');
        await once(call.cancelled, 'abort');
        told.resolve();
      },
    ]);
    const handle = await app.push(agents(), asking(server));
    for await (const { text } of handle.logs()) if (text.includes('begun')) break;
    await handle.cancel();
    await told.promise;
    await assert.rejects(handle.result());
    assert.deepEqual([await handle.state(), server.cancels.length], ['cancelled', 1]);
  });

  test('says why it has failed, and that is final', async (t) => {
    const { app, server } = await scene(t, [(call) => call.end(TaskState.TASK_STATE_FAILED, 'no such book')]);
    const handle = await app.push(agents(), asking(server));
    await assert.rejects(handle.result(), (error) => /its task failed: no such book/.test(inspect(error)));
    assert.equal(server.messages.length, 1);
  });

  test('gets its token, which goes nowhere else and comes back in nothing', async (t) => {
    const { app, server } = await scene(t, [
      (call) => {
        call.say(`I was given ${TOKEN}`);
        call.artifact('sum', [textPart(`it is ${TOKEN}`)]);
        call.end(DONE);
      },
    ]);
    const handle = await app.push(agents(), asking(server, { token_env: 'A2A_TEST_TOKEN' }));
    assert.equal((await handle.result()).text, 'it is [secret]');
    assert.ok(server.headers.every(({ authorization }) => authorization === `Bearer ${TOKEN}`));
    const lines: string[] = [];
    for await (const { text } of handle.logs()) lines.push(text);
    assert.ok(!lines.join().includes(TOKEN) && lines.join().includes('[secret]'), lines.join());
    const journal = await app.engine.journal(handle.task);
    assert.ok(!JSON.stringify(journal).includes(TOKEN));
  });

  test('cannot lead the token elsewhere with its card, nor a worker where it may not go', async (t) => {
    const other = await a2aServer(t, []);
    const { app, server } = await scene(t, [], { address: () => other.url });
    const led = await app.push(agents(), asking(server));
    await assert.rejects(led.result(), (error) => /its card leads to/.test(inspect(error)));
    assert.equal(other.headers.length, 0);
    const meta = await app.push(agents(), { gateway: { type: 'a2a', url: 'http://169.254.169.254' }, prompt: 'x' });
    await assert.rejects(meta.result(), (error) => /REFUSED|may not reach/.test(inspect(error)));
    const secret = await app.push(agents(), asking(server, { token_env: 'PATH' }));
    await assert.rejects(secret.result(), (error) => /does not send the variable PATH/.test(inspect(error)));
  });
});
