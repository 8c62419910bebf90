import { texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import type { FlushId } from '../../push-dedup.ts';

/** A second sending of a call comes within its deadline; this is far more. */
const KEPT_MS = 10 * 60_000;

/**
 * In a transaction. The call itself is an operation, so that a second sending of it, after an answer that was lost, does nothing
 * again: it waits until the first is decided, and then has its answer. What the body answers must be JSON.
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
