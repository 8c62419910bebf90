import { open, task } from 'leasehold';
import { z } from 'zod'; // or valibot, or arktype: any Standard Schema

const summarise = task('summarise', {
  input: z.object({ doi: z.string() }),
  timeout: '5m', // for one attempt; one that fails is tried again, three times in all
  async run({ doi }, ctx) {
    ctx.log(`reading ${doi}, attempt ${ctx.attempt}`);
    return { summary: `What ${doi} says.` };
  },
});

const app = await open('sqlite:./work.db');
const worker = app.worker({ tasks: [summarise], slots: 8 });
await worker.start();

// Durable once this resolves. The same key leads to the same task, however often it is pushed.
const handle = await app.push(summarise, { doi: '10.1000/182' }, { unique: 'doi:10.1000/182' });
const { summary } = await handle.result(); // a string, and the compiler knows
console.log(summary, await app.stats('summarise'));

await app.close(); // lets running tasks finish
