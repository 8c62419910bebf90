import { type Contender, payload, thousand } from '../contenders/contender.ts';

const CALLERS = 64;
const TASKS = 4000;
const SINGLES = 5000;

/**
 * Before anything is measured, every contender pushes and works off some tasks in a place of its own: what is compared is
 * how it runs, not how fast its code is compiled.
 */
export async function warm(contender: Contender, place: string): Promise<void> {
  const { warmTasks = TASKS } = contender;
  const queue = await contender.open(place);
  let settled = 0;
  const all = Promise.withResolvers<void>();
  const worker = await queue.worker({
    handle: () => {},
    settled: (count) => {
      settled += count;
      if (settled === warmTasks) all.resolve();
    },
  });
  // Half of them one by one, if that does not take too long.
  let left = Math.min(warmTasks / 2, SINGLES);
  for (let bulk = warmTasks - left; bulk > 0; bulk -= thousand.length) await queue.pushMany(thousand.slice(0, bulk));
  const caller = async (): Promise<void> => {
    while (left-- > 0) await queue.push(payload());
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  await worker.start();
  await all.promise;
  await worker.stop();
  await queue.close();
}
