/** Machines that a run starts and waits for, each a task of its own. The run gives its slot back while it waits. */
import { isFinal } from '../../../core/task/task.ts';
import type { Value } from '../../../flow/expression/values.ts';
import type { ChildEnd, Command } from '../../../flow/machine/commands.ts';
import { BrokenHistory } from '../../../flow/machine/history/checked.ts';
import { stepKey } from '../../../flow/machine/history/run-history.ts';
import type { Snapshot } from '../../../flow/machine/snapshot.ts';
import type { TaskResult, TurnEntry, Turned, TurnThen, Waited } from '../../../protocol/link.ts';
import type { AttemptSession } from '../../runner/runner.ts';
import { timeout } from './timeout.ts';

type ChildEntry = TurnEntry & { readonly kind: 'child' };
type Invoke = Command & { readonly do: 'invoke' };

export interface ChildrenDeps {
  readonly session: AttemptSession;
  /** The tasks of children by their keys, of earlier attempts and of this one. */
  readonly born: ReadonlyMap<string, number>;
  /** Stores what was done so far together with these entries. A symbol: the lease is gone. */
  readonly commit: (entries: readonly TurnEntry[], then: TurnThen, snapshot: Snapshot) => Promise<Turned | symbol>;
  /** An earlier attempt may have left a wait. */
  readonly mayHaveWaited: boolean;
}

/** Children in one turn, and the characters of their inputs. */
const MOST_BORN = 250;
const MOST_LENGTH = 512 * 1024;
const READ_AT_ONCE = 500;
/** The type of the end of a machine that was cancelled. */
const CANCELLED = 'Cancelled';

export class DurableChildren {
  readonly #deps: ChildrenDeps;
  #waits: boolean;

  constructor(deps: ChildrenDeps) {
    this.#deps = deps;
    this.#waits = deps.mayHaveWaited;
  }

  /** How the last wait of this run came out, if it is the one of this name. */
  async lastWait(key: string): Promise<Waited | undefined> {
    if (!this.#waits) return undefined;
    const waited = await this.#deps.session.waited();
    return waited?.key === key ? waited : undefined;
  }

  /** What ended children gave, by their keys in the journal. */
  async results(keys: readonly string[]): Promise<ReadonlyMap<string, Value>> {
    const ends = await this.#read(keys);
    return new Map(
      keys.flatMap((key, i) => {
        const { state, result } = ends[i] as TaskResult;
        return state === 'completed' ? [[key, parsed(result)] as const] : [];
      }),
    );
  }

  /** In the order of the children; undefined for one that had not ended when another had won. `over`: the lease is gone. */
  async ends(
    children: readonly ChildEntry[],
    { mode, timeoutMs, losers }: Invoke,
    snapshot: Snapshot,
  ): Promise<readonly (ChildEnd | undefined)[] | 'over'> {
    const keys = children.map(({ key }) => key);
    const key = `${stepKey(snapshot.step)}/w`;
    const park = (open: readonly string[], born: readonly ChildEntry[], left: number | undefined) =>
      this.#park({ key, open, born, need: mode === 'any' ? 1 : undefined, timeoutMs: left }, snapshot);
    const fresh = children.filter((child) => !this.#deps.born.has(child.key));
    if (fresh.length > 0) {
      const last = await this.#start(fresh, snapshot);
      if (last === 'over' || (await park(keys, last, timeoutMs)) === 'over') return 'over';
    }
    for (;;) {
      const ends = (await this.#read(keys)).map(endOf);
      const won = mode === 'any' && ends.some((end) => end?.ok === true);
      const open = keys.filter((_, i) => ends[i] === undefined);
      if (won && losers === 'cancel') await this.#cancel(open);
      // An earlier attempt may have cancelled them because the time was over: then they have not ended by themselves.
      const stopped = ends.some((end) => end?.ok === false && end.type === CANCELLED);
      if (won || (open.length === 0 && !stopped)) return ends;
      const waited = await this.lastWait(key);
      if (waited?.outcome === 'timed_out') {
        await this.#cancel(open);
        throw timeout(timeoutMs);
      }
      if (open.length === 0) return ends;
      if ((await park(open, [], waited?.leftMs ?? timeoutMs)) === 'over') return 'over';
    }
  }

  /** All but the last portion of them, which is started with the wait. */
  async #start(children: readonly ChildEntry[], snapshot: Snapshot): Promise<readonly ChildEntry[] | 'over'> {
    const all = [...portions(children)];
    for (const some of all.slice(0, -1)) {
      const turned = await this.#deps.commit(some, { go: 'on' }, snapshot);
      if (typeof turned === 'symbol') return 'over';
    }
    return all.at(-1) ?? [];
  }

  async #park(
    {
      key,
      open,
      born,
      need,
      timeoutMs,
    }: {
      readonly key: string;
      readonly open: readonly string[];
      readonly born: readonly ChildEntry[];
      readonly need: number | undefined;
      readonly timeoutMs: number | undefined;
    },
    snapshot: Snapshot,
  ): Promise<'over' | undefined> {
    this.#waits = true;
    const turned = await this.#deps.commit(
      born,
      {
        go: 'park',
        key,
        children: open.map((child) => (this.#deps.born.has(child) ? this.#refOf(child) : { child })),
        ...(need === undefined ? {} : { need }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      },
      snapshot,
    );
    return typeof turned === 'symbol' ? 'over' : undefined;
  }

  async #cancel(keys: readonly string[]): Promise<void> {
    if (keys.length > 0) await this.#deps.session.cancelChildren(keys.map((key) => this.#refOf(key)));
  }

  async #read(keys: readonly string[]): Promise<readonly TaskResult[]> {
    const results: TaskResult[] = [];
    for (let from = 0; from < keys.length; from += READ_AT_ONCE) {
      const refs = keys.slice(from, from + READ_AT_ONCE).map((key) => this.#refOf(key));
      results.push(...(await this.#deps.session.results(refs)));
    }
    return results;
  }

  #refOf(key: string): number {
    const task = this.#deps.born.get(key);
    if (task === undefined) throw new BrokenHistory(`${key} is no child`);
    return task;
  }
}

function* portions(children: readonly ChildEntry[]): Generator<readonly ChildEntry[]> {
  let some: ChildEntry[] = [];
  let length = 0;
  for (const child of children) {
    const own = JSON.stringify(child.child.input ?? null).length;
    if (some.length > 0 && (some.length >= MOST_BORN || length + own > MOST_LENGTH)) {
      yield some;
      some = [];
      length = 0;
    }
    some.push(child);
    length += own;
  }
  if (some.length > 0) yield some;
}

const parsed = (text: string | undefined): Value => (text === undefined ? null : (JSON.parse(text) as Value));

function endOf({ state, result }: TaskResult): ChildEnd | undefined {
  if (state === 'completed') return { ok: true, output: parsed(result) };
  if (state === 'gone') return { ok: false, type: 'ChildError', message: 'its result is no longer kept' };
  if (!isFinal(state)) return undefined;
  if (state === 'cancelled') return { ok: false, type: CANCELLED, message: 'the machine was cancelled' };
  const error = parsed(result);
  const { name, code, message } = (typeof error === 'object' && error !== null ? error : {}) as Partial<
    Record<string, unknown>
  >;
  const type = typeof code === 'string' ? code : typeof name === 'string' ? name : 'ChildError';
  return { ok: false, type, message: typeof message === 'string' ? message : (JSON.stringify(error) ?? '') };
}
