import { fault } from '../core/errors.ts';
import type { AnswerOf, BodyOf } from '../protocol/routes.ts';
import type { Operator } from './operate.ts';

type Purged = AnswerOf<'purgeQueue'>;

/** Cancels what waits in a queue, from the newest down: what is pushed meanwhile is newer than that, and stays. */
export async function purge(operator: Operator, queue: string, wish: BodyOf<'purgeQueue'>): Promise<Purged> {
  const { ready, scheduled } = await operator.queue(queue);
  const waiting = ready + scheduled;
  const nothing = { queue, waiting, cancelled: 0, asked: 0, dryRun: wish.dryRun };
  if (wish.dryRun) return nothing;
  if (wish.atMost === undefined) {
    throw fault(
      'INVALID_INPUT',
      { field: 'body.atMost', problem: `it says how many tasks may be cancelled; ${waiting} wait now` },
      { hint: 'Look with "dryRun": true, and say the number that you mean.' },
    );
  }
  if (waiting > wish.atMost) {
    throw fault('CONFLICT', { problem: `${waiting} tasks wait in ${queue}, more than ${wish.atMost}` });
  }
  const done = { cancelled: 0, asked: 0 };
  for await (const page of operator.find(queue, ['ready', 'scheduled'])) {
    const some = page.slice(0, wish.atMost - done.cancelled - done.asked);
    const answers = await operator.cancelWaiting(some);
    done.cancelled += answers.filter((answer) => answer === 'cancelled').length;
    done.asked += answers.filter((answer) => answer === 'requested').length;
    if (some.length < page.length) break;
  }
  return { ...nothing, ...done };
}
