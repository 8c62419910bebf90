/**
 * The calls of an agent for the items of a list: some at once, each answer kept in the ledger as it comes, so that another attempt at the step
 * asks only for those that are missing. Calls of one conversation come one after the other.
 */
import type { ValueMap } from '../../flow/expression/values.ts';
import type { AgentAnswer, AgentCommand, AgentEnd, AgentSpent, Command } from '../../flow/machine/commands.ts';
import { StateError } from '../../flow/machine/scopes.ts';
import { faultOf } from '../machine/machine-failed.ts';
import { AgentFailed } from './agent-failed.ts';
import { type Ledger, SharedLedger } from './ledger.ts';

export interface AskEachOptions {
  readonly ledger: Ledger;
  readonly ask: (call: AgentCommand, stop: AbortSignal, ledger: Ledger) => Promise<AgentAnswer>;
  /**
   * One call at first, and with each answer one more at once. A budget that runs short cuts off the calls under way: begun at once by each
   * attempt that a small raise wakes, they would be paid again and again, and none would be answered.
   */
  readonly careful?: boolean | undefined;
}

export class AskEach {
  readonly #command: Command & { readonly do: 'agents' };
  readonly #options: AskEachOptions;
  readonly #ledger: SharedLedger;
  readonly #ends: (AgentEnd | undefined)[];
  readonly #lost = new AbortController();
  #lanes: (readonly number[])[];
  #won = false;
  #runners = 0;
  #onAnswer: () => unknown = () => {};

  constructor(command: Command & { readonly do: 'agents' }, options: AskEachOptions) {
    this.#command = command;
    this.#options = options;
    this.#ledger = new SharedLedger(options.ledger);
    this.#ends = command.calls.map(() => undefined);
    this.#lanes = lanesOf(command.calls);
  }

  /** What the calls that have ended have used. */
  get spent(): AgentSpent {
    const all = this.#ends.map((end): AgentSpent => (end?.ok === true ? end.answer : (end?.spent ?? {})));
    const sum = (key: 'apiCalls' | 'cost' | 'tokens' | 'ms'): number =>
      all.reduce((total, one) => total + (one[key] ?? 0), 0);
    return { apiCalls: sum('apiCalls'), cost: sum('cost'), tokens: sum('tokens'), ms: sum('ms') };
  }

  /** In the order of the calls; undefined for one that had not ended, or not begun, when another had won. Rejects with the reason of the signal. */
  async run(stop: AbortSignal): Promise<readonly (AgentEnd | undefined)[]> {
    const { losers } = this.#command;
    const own = losers === 'cancel' ? AbortSignal.any([stop, this.#lost.signal]) : stop;
    const over = Promise.withResolvers<void>();
    const begin = (): boolean => this.#begin(stop, own, over);
    this.#onAnswer = begin;
    if (!begin()) over.resolve();
    else if (this.#options.careful !== true) while (begin());
    await over.promise;
    stop.throwIfAborted();
    const ends = [...this.#ends];
    this.#lost.abort(new StateError('Cancelled', 'another call was first'));
    await this.#ledger.close();
    return ends;
  }

  /** One runner more, if there is anything left for it. `over`: all have ended, or one has won. */
  #begin(stop: AbortSignal, own: AbortSignal, over: PromiseWithResolvers<void>): boolean {
    if (this.#runners >= this.#command.most || this.#lanes.length === 0) return false;
    this.#runners++;
    this.#runner(stop, own, over.resolve).then(() => {
      if (--this.#runners === 0) over.resolve();
    }, over.reject);
    return true;
  }

  async #runner(stop: AbortSignal, own: AbortSignal, onWon: () => void): Promise<void> {
    for (let lane = this.#lanes.shift(); lane !== undefined; lane = this.#lanes.shift()) {
      let session: string | undefined;
      for (const place of lane) {
        if (this.#won) return;
        const end = await this.#one(place, session, stop, own);
        if (end === undefined) return;
        this.#ends[place] = end;
        if (!end.ok) continue;
        session = end.answer.sessionId ?? session;
        if (this.#command.mode !== 'any') continue;
        this.#won = true;
        this.#lanes = [];
        onWon();
        return;
      }
    }
  }

  /** Undefined: nobody waits for it any more. */
  async #one(
    place: number,
    session: string | undefined,
    stop: AbortSignal,
    own: AbortSignal,
  ): Promise<AgentEnd | undefined> {
    const asked = this.#command.calls[place] as AgentCommand;
    const ledger = this.#ledger.part(`i:${place}/`);
    const known = await ledger.read(KEY);
    if (known !== undefined) return known as unknown as AgentEnd;
    const call = session === undefined ? asked : { ...asked, session };
    const end = await this.#options.ask(call, own, ledger).then(
      (answer): AgentEnd => ({ ok: true, answer: lean(answer, asked.context) }),
      (error: unknown): AgentEnd | undefined => {
        stop.throwIfAborted();
        if (own.aborted) return undefined;
        return { ok: false, ...faultOf(error), ...(error instanceof AgentFailed ? { spent: error.spent } : {}) };
      },
    );
    stop.throwIfAborted();
    if (end === undefined) return undefined;
    await ledger.commit([{ key: KEY, kind: 'element', value: end as unknown as ValueMap }]);
    this.#onAnswer();
    return end;
  }
}

const KEY = 'end';

/** Asks each, and puts what they have used into an error that ends them all. */
export async function askEach(
  asking: AskEach,
  within: <T>(body: (stop: AbortSignal) => Promise<T>) => Promise<T>,
): Promise<readonly (AgentEnd | undefined)[]> {
  try {
    return await within((stop) => asking.run(stop));
  } catch (error) {
    if (!(error instanceof StateError)) throw error;
    throw new AgentFailed(error.type, error.message, { spent: asking.spent });
  }
}

/** Each name of a conversation is a lane of its own, and so is each call without one. */
function lanesOf(calls: readonly AgentCommand[]): (readonly number[])[] {
  const named = new Map<string, number[]>();
  const lanes: number[][] = [];
  for (const [place, { sessionId }] of calls.entries()) {
    const known = sessionId === undefined ? undefined : named.get(sessionId);
    const lane = known ?? [];
    lane.push(place);
    if (known === undefined) lanes.push(lane);
    if (sessionId !== undefined) named.set(sessionId, lane);
  }
  return lanes;
}

/** Of the context only what the call has changed: others change it at the same time. */
function lean(answer: AgentAnswer, before: ValueMap): AgentAnswer {
  const { context, about: _, ...rest } = answer;
  if (context === undefined) return rest;
  const changed = Object.entries(context).filter(([name, value]) => value !== before[name]);
  return { ...rest, context: Object.fromEntries(changed) };
}
