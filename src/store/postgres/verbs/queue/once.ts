import { texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import type { FlushId } from '../../push-dedup.ts';

/** A repeat of a call comes within its deadline. This is far more. */
const KEPT_MS = 10 * 60_000;

/**
 * In a transaction. The call itself is an operation: a repeat, after its answer was lost, waits until the first try is
 * decided and then returns its answer. The answer of the body must be JSON.
 */
export async function once<T>(
  session: Session,
  verb: string,
  { store, n }: FlushId,
  body: () => Promise<T>,
): Promise<T> {
  const key = texts([`${verb}:${store}:${n}`]);
  if ((await session.rows('opTake', [key, KEPT_MS])).length === 0) {
    const [before] = await session.all<{ answer: string }>('opFind', [key]);
    return JSON.parse((before as { answer: string }).answer) as T;
  }
  const answer = await body();
  await session.rows('opAnswer', [key, texts([JSON.stringify(answer)])]);
  return answer;
}
