import { type Contender, payload, thousand } from '../contenders/contender.ts';

const CALLERS = 64;
const TASKS = 4000;

/**
 * Before anything is measured, every contender pushes and works off some tasks in a file of its own: what is compared is
 * how it runs, not how fast its code is compiled.
 */
export async function warm(contender: Contender, file: string): Promise<void> {
  const queue = await contender.open(`${file}-warm-${process.pid}`);
  let settled = 0;
  const all = Promise.withResolvers<void>();
  const worker = await queue.worker({
    handle: () => {},
    settled: (count) => {
      settled += count;
      if (settled === TASKS) all.resolve();
    },
  });
  await queue.pushMany(thousand);
  await queue.pushMany(thousand);
  let left = TASKS - 2 * thousand.length;
  const caller = async (): Promise<void> => {
    while (left-- > 0) await queue.push(payload());
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  worker.start();
  await all.promise;
  await worker.stop();
  await queue.close();
}
