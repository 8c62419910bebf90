import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { open } from '../../app/open.ts';
import { realWorld } from '../../app/world.ts';
import { GRAPH_HANDLER, GRAPH_QUEUE } from '../../flow/graph/graph-run.ts';
import { workflow } from '../../flow/graph/test-graphs.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { task } from '../define/task.ts';
import { makeShell } from '../handlers/shell.ts';
import { graphTask } from './graph-task.ts';

test('workers that hold what its nodes ask for run a stored workflow together, with a handler of the user as a node', async (t) => {
  const folder = tempFolder('graph-task');
  const app = await open('memory:');
  t.after(() => app.close());
  const sent: unknown[] = [];
  const send = task('discord/discord_send', {
    queue: 'discord',
    run: (input: unknown) => {
      sent.push(input);
      return [{ id: `message ${sent.length}` }];
    },
  });
  const runs = app.worker({ name: 'runs', tasks: [graphTask({ world: realWorld() }), makeShell()] });
  const discord = app.worker({ name: 'discord', tasks: [send], tags: ['credential:discord', 'gpu'] });
  await Promise.all([runs.start(), discord.start()]);

  const file = join(folder, 'logs', 'sent.txt');
  const body = JSON.stringify(
    workflow(
      {
        start: { typeId: 'core/start' },
        hello: { typeId: 'system/run_command', data: { argv: ['printf', '%s', '{{ $.start.name }}; echo no'] } },
        send: {
          typeId: 'discord/discord_send',
          required_credential: 'discord',
          agentConfig: { agents: [], requiredTags: ['gpu'] },
          data: { channel_id: '7', message: 'Hello {{ $.hello.stdout }}' },
        },
        log: { typeId: 'core/append_to_file', data: { filepath: file, content: 'sent {{ $.send.id }}' } },
      },
      ['start>hello', 'hello>send', 'send>log'],
    ),
  );
  const hash = createHash('sha256').update(body).digest('hex');
  const { run } = await app.engine.runs.start({
    request: { queue: GRAPH_QUEUE, handler: GRAPH_HANDLER, input: { definition: hash, input: { name: 'ann' } } },
    run: { kind: 'graph', title: 'hello', name: 'hello-1' },
    definition: { hash, kind: 'graph', body },
  });
  const result = (await app.handle(run.id).result()) as { readonly log: readonly Record<string, unknown>[] };
  assert.deepEqual(sent, [{ channel_id: '7', message: 'Hello ann; echo no' }]);
  assert.deepEqual(result.log[0]?.['log'], { written: true, filepath: file });
  assert.deepEqual(result.log[0]?.['send'], { id: 'message 1' });
  assert.equal(readFileSync(file, 'utf8'), 'sent message 1\n');
});
