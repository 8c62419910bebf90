import { parseDuration } from '../../core/duration.ts';
import { fault } from '../../core/errors.ts';
import { isFinal } from '../../core/task/task.ts';
import type { TaskRef, TaskResult, Waited, WaitFor } from '../../protocol/link.ts';
import { checkOptions } from './check-options.ts';
import type {
  ApprovalRequest,
  ApprovalWait,
  ChildRef,
  ChildResult,
  ChildrenWait,
  SignalWait,
  TimeWait,
} from './durable-context.ts';
import type { Journal } from './journal.ts';

type WaitOptions = TimeWait | SignalWait | ApprovalWait | ChildrenWait;

/** A wait has exactly one of these. */
const KINDS = ['for', 'until', 'signal', 'approval', 'children'] as const;
type WaitKind = (typeof KINDS)[number];

const OPTIONS: Readonly<Record<WaitKind, ReadonlySet<string>>> = {
  for: new Set(['for']),
  until: new Set(['until']),
  signal: new Set(['signal', 'timeout'] satisfies (keyof SignalWait)[]),
  approval: new Set(['approval', 'timeout'] satisfies (keyof ApprovalWait)[]),
  children: new Set(['children', 'any', 'timeout'] satisfies (keyof ChildrenWait)[]),
};
const APPROVAL: ReadonlySet<string> = new Set([
  'title',
  'form',
  'actions',
  'context',
] satisfies (keyof ApprovalRequest)[]);

/** The outcome of a wait, as it is stored. */
interface WaitOutcome {
  readonly outcome: 'woken' | 'timed_out';
  readonly value?: unknown;
  /** The results of the children were too large to store, and are read again. */
  readonly apart?: boolean;
}

/** Results of children above this size are not stored a second time. */
const MOST_RESULTS = 256 * 1024;
const READ_AT_ONCE = 500;

/** Waits that give the slot back. */
export class Waits {
  readonly #journal: Journal;
  /** The previous wait. Its outcome is stored before the next one begins, because the store keeps only the newest wait. */
  #before: Promise<unknown> = Promise.resolve();
  #waited: Promise<Waited | undefined> | undefined;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  readonly wait = (name: string, what: WaitOptions): Promise<WaitOutcome> =>
    this.#journal.at('wait', name, async (place) => {
      const request = this.#request(name, place, what);
      const children = 'children' in what ? what.children : undefined;
      const own = this.#before.then(() => this.#outcome(place, request, children));
      this.#before = own.catch(() => {});
      const { outcome, value, apart } = await own;
      if (children === undefined) return { outcome, value };
      return { outcome, value: apart === true ? await this.#again(value as ChildResult[], children) : value };
    });

  async #outcome(place: string, request: WaitFor, children: readonly ChildRef[] | undefined): Promise<WaitOutcome> {
    const journal = this.#journal;
    const key = keyOf(place);
    const known = await journal.recall(key);
    if (known !== undefined) return JSON.parse(known) as WaitOutcome;
    const waited = await this.#lastWait();
    const own = waited?.key === place ? waited : undefined;
    if (waited !== undefined && own === undefined) await this.#keep(waited);
    const came = own === undefined ? undefined : outcomeOf(own);
    const outcome = came ?? (await this.#park(request, own));
    if (children !== undefined) return this.#withResults(place, outcome.outcome, children);
    return this.#remember(place, isTime(request) ? { outcome: 'woken' } : outcome);
  }

  /** Stores the outcome of another wait, which would be lost when this one replaces its record. */
  async #keep(waited: Waited): Promise<void> {
    const outcome = outcomeOf(waited);
    if (outcome === undefined || (await this.#journal.recall(keyOf(waited.key))) !== undefined) return;
    await this.#remember(waited.key, outcome);
  }

  async #park(request: WaitFor, own: Waited | undefined): Promise<WaitOutcome> {
    const journal = this.#journal;
    // Woken by something else, such as a retry by an operator: the rest of its time still counts.
    const left = own?.leftMs === undefined || request.timeoutMs === undefined ? {} : { timeoutMs: own.leftMs };
    const { went, body } = await journal.park({ ...request, ...left });
    if (went === 'woken') {
      return { outcome: 'woken', ...(body === undefined ? {} : { value: JSON.parse(body) as unknown }) };
    }
    if (went === 'cancelled') throw journal.endAttempt('the task was cancelled: this attempt is over');
    throw journal.endAttempt(`the task waits (${request.key}) and will be run again: this attempt is over`);
  }

  async #withResults(
    place: string,
    outcome: WaitOutcome['outcome'],
    children: readonly ChildRef[],
  ): Promise<WaitOutcome> {
    const results = await this.#results(children);
    const whole: WaitOutcome = { outcome, value: results };
    const fits = JSON.stringify(whole).length <= MOST_RESULTS;
    const states = results.map(({ id, state }) => ({ id, state }));
    const stored = fits ? whole : { outcome, value: states, apart: true };
    // If all have ended, their ends can be read again. If not, the set of those that have ended changes with the next end.
    return this.#remember(
      place,
      stored,
      states.every(({ state }) => state !== 'gone' && isFinal(state)) ? 'recordLater' : 'record',
    );
  }

  /**
   * The end of a task does not change, so the results of ended children can be read at any time: of those that the handler waits for. What
   * an earlier attempt has written may name any task.
   */
  async #again(then: readonly ChildResult[], children: readonly ChildRef[]): Promise<readonly ChildResult[]> {
    const now = await this.#results(children);
    return now.map((child, i) => {
      const known = then[i];
      return known === undefined || (known.state !== 'gone' && isFinal(known.state)) ? child : known;
    });
  }

  async #results(children: readonly ChildRef[]): Promise<readonly ChildResult[]> {
    const results: ChildResult[] = [];
    for (let from = 0; from < children.length; from += READ_AT_ONCE) {
      const page = children.slice(from, from + READ_AT_ONCE);
      const read = await this.#journal.session.results(page.map(refOf));
      for (const [i, child] of page.entries()) results.push(resultOf(read[i] as TaskResult, idOf(child)));
    }
    return results;
  }

  /** Deferred where the store can read it again, so that it needs no turn of its own. */
  async #remember(
    place: string,
    outcome: WaitOutcome,
    how: 'recordLater' | 'record' = 'recordLater',
  ): Promise<WaitOutcome> {
    const text = await this.#journal[how](keyOf(place), 'wait', outcome, `outcome of wait ${place}`);
    return JSON.parse(text) as WaitOutcome;
  }

  #lastWait(): Promise<Waited | undefined> {
    // A first attempt has never waited.
    if (this.#journal.attempt === 1) return Promise.resolve(undefined);
    this.#waited ??= this.#journal.session.waited();
    return this.#waited;
  }

  #request(name: string, place: string, what: WaitOptions): WaitFor {
    const kind = kindOf(name, what);
    checkOptions(`options of wait ${name}`, what, OPTIONS[kind]);
    const given = what as Partial<Record<string, unknown>>;
    const timeout = given.timeout === undefined ? {} : { timeoutMs: duration(given.timeout, 'timeout') };
    switch (kind) {
      case 'for':
        return { key: place, timeoutMs: duration(given.for, `wait ${name}`) };
      case 'until':
        return { key: place, until: time(given.until, name) };
      case 'signal':
        return { key: place, channel: given.signal as string, ...timeout };
      case 'approval': {
        const form = checkApproval(name, given.approval as ApprovalRequest);
        return { key: place, channel: `approval:${this.#journal.id}:${place}`, form, ...timeout };
      }
      case 'children': {
        const children = checkChildren(name, given.children as readonly ChildRef[]).map(refOf);
        return { key: place, children, ...(isAny(name, given.any) ? { need: 1 } : {}), ...timeout };
      }
    }
  }
}

function keyOf(place: string): string {
  return `wait:${place}`;
}

function isTime({ channel, children }: WaitFor): boolean {
  return channel === undefined && children === undefined;
}

/** Undefined: what it waited for has not come, though it was woken. */
function outcomeOf({ outcome, body }: Waited): WaitOutcome | undefined {
  if (outcome === 'timed_out') return { outcome };
  return outcome === 'woken' && body !== undefined ? { outcome, value: JSON.parse(body) as unknown } : undefined;
}

/** Shared with `dependencies`. */
export function resultOf({ id, task, state, result }: TaskResult, known?: string): ChildResult {
  const value = result === undefined ? undefined : (JSON.parse(result) as unknown);
  return {
    id: id ?? known ?? String(task),
    state,
    ...(value === undefined ? {} : state === 'completed' ? { result: value } : { error: value }),
  };
}

function refOf(child: ChildRef): TaskRef {
  return typeof child === 'object' ? child.task : child;
}

function idOf(child: ChildRef): string | undefined {
  return typeof child === 'object' ? child.id : typeof child === 'string' ? child : undefined;
}

function kindOf(name: string, what: unknown): WaitKind {
  const found = typeof what === 'object' && what !== null ? KINDS.filter((kind) => kind in what) : [];
  const [kind] = found;
  if (kind !== undefined && found.length === 1) return kind;
  const problem = found.length === 0 ? 'it names nothing to wait for' : `it names ${found.join(' and ')} at once`;
  throw fault('INVALID_INPUT', { field: `wait ${name}`, problem }, { hint: `Give one of ${KINDS.join(', ')}.` });
}

function duration(given: unknown, field: string): number {
  return parseDuration(given as number | string, field);
}

function time(given: unknown, name: string): number {
  if (Number.isSafeInteger(given) && (given as number) >= 0) return given as number;
  throw fault('INVALID_INPUT', { field: `wait ${name}`, problem: 'until is a calendar time in milliseconds' });
}

function checkApproval(name: string, approval: ApprovalRequest): ApprovalRequest {
  checkOptions(`approval of wait ${name}`, approval, APPROVAL);
  const { title, actions } = approval;
  const refuse = (problem: string): Error => fault('INVALID_INPUT', { field: `approval of wait ${name}`, problem });
  if (typeof title !== 'string' || title === '') throw refuse('it needs a title');
  if (actions === undefined) return approval;
  if (Array.isArray(actions) && actions.length > 0 && actions.every((one) => typeof one === 'string' && one !== '')) {
    return approval;
  }
  throw refuse('actions must be a list of texts');
}

function isAny(name: string, any: unknown): boolean {
  if (any === undefined || typeof any === 'boolean') return any === true;
  throw fault('INVALID_INPUT', { field: `any of wait ${name}`, problem: 'it must be true or false' });
}

function checkChildren(name: string, children: readonly ChildRef[]): readonly ChildRef[] {
  const known = (child: ChildRef): boolean =>
    typeof child === 'string' || Number.isSafeInteger(typeof child === 'object' && child !== null ? child.task : child);
  if (Array.isArray(children) && children.every(known)) return children;
  throw fault('INVALID_INPUT', {
    field: `children of wait ${name}`,
    problem: 'it must be a list of children, handles or ids',
  });
}
