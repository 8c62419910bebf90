import { type AuditFace, outcomeOf, STRANGER } from '../../core/audit/entry.ts';
import { shownOf } from '../../core/audit/shown.ts';
import { isEngineError } from '../../core/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Log } from '../../engine/log.ts';
import { EngineSnapshot } from '../engine-snapshot.ts';
import { type Audited, auditedOf } from './actions.ts';
import { RefusalBudget } from './refusal-budget.ts';
import { readThing, THINGS } from './things.ts';

/** Who acts, and which way the call came. Undefined `name`: a stranger. */
export interface Actor {
  readonly name?: string | undefined;
  readonly role?: string | undefined;
  readonly token?: number | undefined;
  /** Who the caller says it is. */
  readonly by?: string | undefined;
  readonly face: AuditFace;
  readonly address?: string | undefined;
  readonly request?: string | undefined;
}

export interface Act {
  readonly action: string;
  readonly actor: Actor;
  readonly target: string;
  readonly body?: unknown;
  /** The status of an answer that is no error; default 200. */
  readonly status?: number | undefined;
  /** The target by the answer, of something that is made. */
  readonly targetBy?: ((answer: unknown) => string) | undefined;
}

export interface Refusal extends Omit<Act, 'status' | 'targetBy'> {
  readonly status: number;
  readonly code?: string | undefined;
}

/**
 * Writes down who did what. An entry is durable before the action begins, so that no action takes effect without one; how it ended follows.
 * If the end cannot be written, the entry says for good that it began (docs/adr/0058-audit.md).
 */
export class AuditRecorder {
  readonly #engine: Engine;
  readonly #log: Log;
  readonly #refusals: RefusalBudget;
  #failures = 0;

  constructor(engine: Engine, log: Log) {
    this.#engine = engine;
    this.#log = log;
    this.#refusals = new RefusalBudget(engine.world.clock);
  }

  /** Ends that could not be written, and refusals that were only counted, since this process started. */
  get figures(): { readonly failures: number; readonly skipped: number } {
    return { failures: this.#failures, skipped: this.#refusals.skipped };
  }

  /** Performs the action. One that nobody audits, or a dry run, is performed alone. */
  async around<T>(act: Act, work: () => Promise<T>): Promise<T> {
    const audited = auditedOf(act.action);
    if (audited === undefined || isDryRun(act.body)) return work();
    const began = await this.#begin(act, audited);
    let answer: T;
    try {
      answer = await work();
    } catch (error) {
      const { status, code } = isEngineError(error) ? error : { status: 500, code: 'INTERNAL' };
      await this.#end(act, began, { status, code });
      throw error;
    }
    const target = act.targetBy?.(answer) || undefined;
    const after = await this.#after(act, audited, target ?? act.target, answer);
    await this.#end(act, began, { status: act.status ?? 200, after, target });
    return answer;
  }

  /** After the fact and before the answer: for callers without a token, who must not make us write before they were let in. */
  async afterwards(act: Act, answer: unknown): Promise<void> {
    const audited = auditedOf(act.action);
    if (audited === undefined) return;
    const target = act.targetBy?.(answer) || act.target;
    const after = await this.#after(act, audited, target, answer);
    const status = act.status ?? 200;
    await this.#engine.audit.add({ ...headOf({ ...act, target }), outcome: 'done', status, after });
    this.#tell(act, target, status);
  }

  /** What was refused before it began, a dry run too: who asks so may not look either. Of a flood only some are written, and the rest is counted. */
  async refused(refusal: Refusal): Promise<void> {
    const { actor, action, status, code, target } = refusal;
    if (auditedOf(action) === undefined) return;
    const times = this.#refusals.take(actor.name === undefined ? undefined : `${actor.token ?? ''} ${actor.name}`);
    if (times === undefined) return;
    if (actor.name !== undefined) this.#tell(refusal, target, status);
    try {
      await this.#engine.audit.add({ ...headOf(refusal), outcome: outcomeOf(status), status, code, times });
    } catch (error) {
      this.#failed(refusal, error);
    }
  }

  async #begin(act: Act, audited: Audited): Promise<number> {
    const before = audited.of && (await this.#look(audited, act.target, {}));
    return this.#engine.audit.add({ ...headOf(act), outcome: 'began', before });
  }

  async #look(audited: Audited, target: string, more: object): Promise<string | undefined> {
    const { of, asked, answer } = audited;
    const thing = of === undefined ? {} : await readThing(of, new EngineSnapshot(this.#engine), target);
    const shows = { ...(of && THINGS[of].shows), ...(asked && { asked }), ...(answer && { answer }) };
    return shownOf({ ...(thing as object | undefined), ...more }, shows);
  }

  /** The action has taken effect: whatever cannot be read is only missing in the entry. */
  async #after(act: Act, audited: Audited, target: string, answer: unknown): Promise<string | undefined> {
    try {
      return await this.#look(audited, target, { asked: act.body, answer });
    } catch (error) {
      this.#log.warn('the audit cannot show what has become of it', { action: act.action, error: String(error) });
      return undefined;
    }
  }

  /** Never refuses what has happened: the caller gets the answer, and the log and the figures tell of the entry without an end. */
  async #end(act: Act, id: number, end: End): Promise<void> {
    const { status, target } = end;
    this.#tell(act, target ?? act.target, status);
    const outcome = outcomeOf(status) as 'done' | 'refused' | 'failed';
    try {
      await this.#engine.audit.end({ id, outcome, ...end });
    } catch (error) {
      this.#failed(act, error);
    }
  }

  #failed({ action, actor, target }: Act, error: unknown): void {
    this.#failures += 1;
    const { name, request } = actor;
    this.#log.error('the audit could not be written', { action, by: name, target, request, error: String(error) });
  }

  #tell({ action, actor }: Act, target: string, outcome: number): void {
    const { name: by = 'nobody', role = STRANGER, request } = actor;
    this.#log.info('audit', { action, by, role, target, outcome, request });
  }
}

interface End {
  readonly status: number;
  readonly code?: string | undefined;
  readonly after?: string | undefined;
  readonly target?: string | undefined;
}

function headOf({ action, target, actor }: Pick<Act, 'action' | 'target' | 'actor'>) {
  const { name: actorName = 'nobody', role = STRANGER, token, by, face, address, request } = actor;
  const said = by === '' || by === actorName ? undefined : by;
  return { actor: actorName, role, token, by: said, action, target, face, address, request };
}

function isDryRun(body: unknown): boolean {
  return (body as { readonly dryRun?: unknown } | undefined | null)?.dryRun === true;
}
