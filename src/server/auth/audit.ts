import type { Log } from '../../engine/log.ts';
import type { RouteName } from '../../protocol/routes.ts';
import { errorOf } from '../http/refusals.ts';
import type { Principal } from './access.ts';

/** Writes to the log who did what: actions that grant access, revoke it, or change what others have made. */
export class Audit {
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Records one action with the status of its answer. Refused actions are recorded too. */
  record(action: string, principal: Principal | undefined, entry: AuditedAction): void {
    if (AUDITED.has(action)) this.#write(action, principal, { ...entry, target: targetOf(entry) });
  }

  /** For actions within a request of another kind: by a model, by an agent, by a call of a batch. */
  auditorFor(principal: Principal | undefined, request: string): Auditor {
    return async (action, target, work) => {
      const entry = { target: target.slice(0, MOST_TARGET), request };
      try {
        const done = await work();
        this.#write(action, principal, { ...entry, outcome: 200 });
        return done;
      } catch (error) {
        this.#write(action, principal, { ...entry, outcome: errorOf(error).status });
        throw error;
      }
    };
  }

  #write(
    action: string,
    principal: Principal | undefined,
    entry: Omit<AuditedAction, 'params' | 'body'> & { target: string },
  ): void {
    const { name: by = 'nobody', role = 'none' } = principal ?? {};
    const { target, outcome, request } = entry;
    this.#log.info('audit', { action, by, role, target, outcome, request });
  }
}

/** Actions are named after their route, if they have one. */
export type Action = RouteName | 'editTask' | 'deleteTask';

/** Performs the work and records its outcome. */
export type Auditor = <T>(action: Action, target: string, work: () => Promise<T>) => Promise<T>;

const MOST_TARGET = 200;

export interface AuditedAction {
  readonly params: unknown;
  readonly body: unknown;
  /** The answer; for something new it has the id. */
  readonly answer?: unknown;
  readonly outcome: number;
  readonly request: string;
}

const AUDITED: ReadonlySet<string> = new Set<RouteName>([
  'login',
  'logout',
  'createLogin',
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
  'resumeLimit',
  'putSchedule',
  'removeSchedule',
  'pauseSchedule',
  'resumeSchedule',
  'runSchedule',
  'putTrigger',
  'removeTrigger',
  'enableTrigger',
  'disableTrigger',
  'rotateTrigger',
  'fireTrigger',
  'applyWorkflow',
  'removeWorkflow',
  'enableWorkflow',
  'disableWorkflow',
  'restoreWorkflow',
  'putPool',
  'removePool',
  'checkPool',
  'pauseQueue',
  'resumeQueue',
  'purgeQueue',
  'retryQueue',
  'editNode',
  'cancelTask',
  'retryTask',
  'decideApproval',
]);

/** The name or id of the target. Nothing else of the request is logged: a body may hold a code. */
function targetOf({ params, body, answer }: AuditedAction): string {
  const named = [params, body, answer].flatMap((some) => {
    const { id, name, queue } = (some ?? {}) as Readonly<Record<string, unknown>>;
    return [name, queue, id].filter((one) => typeof one === 'string' || typeof one === 'number');
  });
  return String(named[0] ?? '').slice(0, MOST_TARGET);
}
