// A workflow in code: steps, children on any worker, a decision and a timer. It survives its process at any line, because what it calls is
// recorded as it comes out. It is plain TypeScript: loops, Promise.all, try and catch.
import { open, StepError, task, workflow } from 'leasehold';
import { z } from 'zod';

const quote = task('quote', {
  input: z.object({ item: z.string() }),
  run: ({ item }) => ({ item, price: item.length * 10 }),
});

const order = workflow(
  'order',
  { version: 1, input: z.object({ items: z.array(z.string()).min(1) }) },
  async ({ items }, wf) => {
    // Children are tasks: two at a time, on whatever worker has them. The workflow holds no slot while it waits.
    const quotes = await wf.map(
      items.map((item) => ({ item })),
      quote,
      { window: 2 },
    );
    const total = quotes.reduce((sum, { price }) => sum + price, 0);
    // A step runs once; a crash before its result is stored repeats this step alone.
    const reserved = await wf.step('reserve', ({ key }) => `reserved under ${key.split('/')[1]}`);
    console.log(reserved);
    const decision = await wf.approval('pay', { title: `Pay ${total}?`, timeout: '2d' });
    if (decision?.action !== 'approve') return { paid: false, total };
    try {
      await wf.step(
        'charge',
        ({ tries }) => {
          if (tries < 3) throw new Error(`the bank is away, try ${tries}`);
          console.log(`charged ${total} in try ${tries}`);
        },
        { retry: { maxAttempts: 5, baseMs: '10ms' }, timeout: '10s' },
      );
    } catch (error) {
      if (error instanceof StepError) return { paid: false, why: error.message };
      throw error;
    }
    await wf.sleep('20ms');
    return { paid: true, total };
  },
);

const app = await open('memory:');
await app.worker({ tasks: [order, quote], slots: 4 }).start();
const run = await app.run(order, { items: ['lamp', 'chair', 'desk'] }, { executionId: 'order-7' });

for await (const { change } of run.events({ after: 0 })) {
  if (change !== 'parked') continue;
  for (const { id, title } of await app.approvals()) {
    console.log(title);
    await app.decide(id, { action: 'approve', by: 'ada' });
  }
}
console.log(await run.result());
// Started again under its execution id it gives the same result, and does nothing twice.
const again = await app.run(order, { items: ['lamp', 'chair', 'desk'] }, { executionId: 'order-7' });
console.log(again.fresh, await again.result());
await app.close();
