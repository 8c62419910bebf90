// An order as a workflow in code: a child for each item, a decision, a charge that is tried again, and a timer.
import { StepError, task, workflow } from 'leasehold';
import { z } from 'zod';

export const quote = task('quote', {
  input: z.object({ item: z.string() }),
  run: ({ item }) => ({ item, price: item.length * 10 }),
});

export const order = workflow(
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
    await wf.step('reserve', ({ key }) => console.log(`reserved under ${key.split('/')[1]}`));
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
