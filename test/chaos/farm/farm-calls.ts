import type { Calls } from './farm-notes.ts';

type Counted = { -readonly [key in keyof Calls]: Calls[key] } & { readonly failed: Record<string, number> };

/**
 * Counts what this thread asks of Postgres from outside the store, and what it hears of it: the store repeats what was lost
 * on the way, so that its callers see nothing.
 */
export async function countCalls(url: string): Promise<Calls> {
  const calls: Counted = { asked: 0, failed: {}, pushesFound: 0, claimsFound: 0 };
  if (!url.startsWith('postgres')) return calls;
  const { default: pg } = await import('pg');
  const methods = pg.Client.prototype as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  for (const method of ['query', 'connect']) {
    const real = methods[method] as (...args: unknown[]) => Promise<unknown>;
    methods[method] = function counted(this: unknown, ...args: unknown[]): Promise<unknown> {
      calls.asked++;
      const answer = real.apply(this, args);
      if (typeof answer?.then === 'function') {
        answer.then(
          (result) => found(calls, args[0], result),
          (error: unknown) => failed(calls, method, args[0], error),
        );
      }
      return answer;
    };
  }
  return calls;
}

/** What an earlier sending had done, which was looked for because its answer did not come. */
function found(calls: Counted, asked: unknown, result: unknown): void {
  const { name = '' } = (asked ?? {}) as { readonly name?: string };
  const { rowCount } = (result ?? {}) as { readonly rowCount?: number | null };
  if ((rowCount ?? 0) === 0) return;
  if (/^pushed(_|$)/.test(name)) calls.pushesFound++;
  if (/^claimed(_|$)/.test(name)) calls.claimsFound++;
}

function failed(calls: Counted, method: string, asked: unknown, error: unknown): void {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: string };
  const why = `${method}: ${typeof code === 'string' ? code : (message ?? '').slice(0, 40)}`;
  // The usual ones say that the connection is gone; of any other one wants to know what it was.
  const { name, text = '' } = (asked ?? {}) as { readonly name?: string; readonly text?: string };
  const what = /: (57P|08|E[A-Z]{3}|[A-Z][a-z])/.test(why) ? '' : ` ${name ?? text.slice(0, 60)}, ${message}`;
  calls.failed[why + what] = (calls.failed[why + what] ?? 0) + 1;
}
