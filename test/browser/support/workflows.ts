/** Workflows in code of the browser tests. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { task, workflow } from '../../../src/index.ts';

export const quote = task('quote', {
  input: z.object({ item: z.string() }),
  async run({ item }) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    return { item, price: item.length * 10 };
  },
});

/** Children side by side, a step, a decision, a step that is tried again, a timer. */
export const order = workflow(
  'order',
  { input: z.object({ items: z.array(z.string()).min(1) }) },
  async (input, wf) => {
    const [quotes, stock] = await Promise.all([
      wf.map(
        input.items.map((item) => ({ item })),
        quote,
        { window: 2 },
      ),
      wf.step('count the stock', () => ({ left: 12 })),
    ]);
    const total = quotes.reduce((sum, { price }) => sum + price, 0);
    const decision = await wf.approval('pay', {
      title: `Pay ${total} of ${stock.left}?`,
      form: { type: 'object', properties: { note: { type: 'string' } } },
      timeout: '2d',
    });
    if (decision?.action !== 'approve') return { paid: false, total };
    await wf.step(
      'charge the card',
      ({ tries }) => {
        if (tries < 2) throw new Error('the bank is away');
        return { charged: total };
      },
      { retry: { maxAttempts: 3, baseMs: 10 } },
    );
    await wf.sleep('1ms');
    return { paid: true, total };
  },
);

/** Its code is what the file `fickle.txt` beside the node says. */
export const fickle = workflow('fickle', async (_input: unknown, wf) => {
  await wf.step(readFileSync('fickle.txt', 'utf8').trim(), () => 'done');
  await wf.signal('go');
  return 'gone on';
});
