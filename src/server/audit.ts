import type { Log } from '../engine/log.ts';
import type { RouteName } from '../protocol/routes.ts';
import type { Principal } from './access.ts';

/** Says in the log who did what to what, of that which opens doors, closes them, or takes away what others have made. */
export class Audit {
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** What was done. `outcome`: the status of the answer; what was refused is told as well. */
  tell(action: string, principal: Principal | undefined, deed: Deed): void {
    if (!AUDITED.has(action)) return;
    const { name: by = 'nobody', role = 'none' } = principal ?? {};
    this.#log.info('audit', { action, by, role, target: targetOf(deed), outcome: deed.outcome, request: deed.request });
  }
}

export interface Deed {
  readonly params: unknown;
  readonly body: unknown;
  /** What was answered; of a thing that was made the answer has its number. */
  readonly answer?: unknown;
  readonly outcome: number;
  readonly request: string;
}

const AUDITED: ReadonlySet<string> = new Set<RouteName>([
  'createToken',
  'rotateToken',
  'revokeToken',
  'createWorker',
  'enrolWorker',
  'rotateWorker',
  'removeWorker',
  'editWorker',
  'createLimit',
  'editLimit',
  'removeLimit',
  'pauseLimit',
  'pauseQueue',
  'resumeQueue',
  'purgeQueue',
  'cancelTask',
  'retryTask',
  'decideApproval',
]);

/** What names the thing, and nothing else of what was said: a body may hold a code. */
function targetOf({ params, body, answer }: Deed): string {
  const named = [params, body, answer].flatMap((some) => {
    const { id, name, queue } = (some ?? {}) as Readonly<Record<string, unknown>>;
    return [name, queue, id].filter((one) => typeof one === 'string' || typeof one === 'number');
  });
  return String(named[0] ?? '').slice(0, 200);
}
