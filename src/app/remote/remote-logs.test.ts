/** A handler inside its worker cannot be made to wait when it logs: all that it has said is stored all the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { SILENT } from '../../engine/log.ts';
import { task } from '../../worker/define/task.ts';
import { HttpLink } from '../../worker/links/http-link.ts';
import { WsLink } from '../../worker/links/ws-link.ts';
import { makeWorker } from '../worker.ts';
import { realWorld } from '../world.ts';

const LINES = 30_000;
const chatty = task('chatty', {
  run: (_input, ctx) => {
    for (let i = 1; i <= LINES; i++) ctx.log(`line ${i}`);
  },
});

for (const [way, SomeLink] of [
  ['WebSocket', WsLink],
  ['HTTP', HttpLink],
] as const) {
  test(`${way}: all lines of an inline handler are stored before its end is recorded`, async (t) => {
    const node = await nodeScene(t, { durability: 'normal' });
    const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box' } });
    const world = realWorld();
    const link = new SomeLink({ url: node.service.address, secret, world, log: SILENT });
    const worker = makeWorker({ tasks: [chatty] }, { link, world, log: SILENT, name: 'box' });
    await worker.start();
    t.after(() => worker.stop());
    const { task: number } = await node.engine.push({ queue: 'chatty', handler: 'chatty' });
    const texts: string[] = [];
    for await (const { text, dropped } of node.engine.logs.follow(number)) {
      texts.push(text);
      assert.equal(dropped, undefined);
    }
    assert.equal((await node.engine.get(number))?.state, 'completed');
    assert.equal(texts.length, LINES);
    assert.equal(texts.at(-1), `line ${LINES}`);
  });
}
