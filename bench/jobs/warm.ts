import { type Contender, payload, thousand } from '../contenders/contender.ts';

const CALLERS = 64;
const TASKS = 4000;

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
  const bulk = thousand.slice(0, warmTasks / 4);
  await queue.pushMany(bulk);
  await queue.pushMany(bulk);
  let left = warmTasks - 2 * bulk.length;
  const caller = async (): Promise<void> => {
    while (left-- > 0) await queue.push(payload());
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  await worker.start();
  await all.promise;
  await worker.stop();
  await queue.close();
}
