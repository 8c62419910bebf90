// Any process can follow the logs and progress of a running task, and any process that has its id can cancel it.
import { setTimeout as sleep } from 'node:timers/promises';
import { open, task } from 'leasehold';

const walk = task('walk', {
  async run(_input, ctx) {
    for (let step = 1; step <= 100; step++) {
      ctx.log(`step ${step}`);
      ctx.progress({ done: step, of: 100 });
      await sleep(50, undefined, { signal: ctx.signal }); // throws when the task should stop, which ends the run
    }
  },
});

const app = await open('memory:');
const worker = app.worker({ tasks: [walk] });
await worker.start();
const handle = await app.push(walk, {});

for await (const { stream, text } of handle.logs()) {
  if (stream === 'log') console.log(text);
  if (text !== 'step 3') continue;
  console.log('progress:', await handle.progress());
  console.log('cancel:', await handle.cancel()); // the loop goes on until the task has ended
}

console.log('state:', await handle.state());
await handle.result().catch((error: Error) => console.log(error.message));
await app.close();
