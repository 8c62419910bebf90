// A workflow in code: steps, children on any worker, a decision and a timer. It survives its process at any line, because what it calls is
// recorded as it comes out. It is plain TypeScript: loops, Promise.all, try and catch.
import { open } from 'leasehold';
import { order, quote } from './workflows/order.ts';

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
