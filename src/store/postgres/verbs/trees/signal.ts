import { ownerOf } from '../../../../core/task/channel.ts';
import { OP_MS, signalKey } from '../../../op-keys.ts';
import { othersIn } from '../../../rows/wait-rows.ts';
import type { NewSignal, OtherWait } from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import { lockChannels } from '../../connect/channel-locks.ts';
import type { Session } from '../../connect/database.ts';
import type { FlushId } from '../../push-dedup.ts';

/** A repeat of a flush comes within the deadline of its call. This is far more. */
const FLUSH_MS = 10 * 60_000;
const ALL = 2 ** 31 - 1;

const flushKey = ({ store, n }: FlushId): string => `signals:${store}:${n}`;

export interface Sent {
  /** The tasks that each signal woke, in the order of the signals. */
  readonly woken: readonly (readonly number[])[];
  /** Lanes that have ready tasks now. */
  readonly lanes: readonly number[];
}

/**
 * In a transaction. The flush itself is an operation, so that a repeat wakes nothing again: it waits until the first
 * try is decided, and then returns its answer.
 */
export async function sendSignals(session: Session, flushId: FlushId, items: readonly NewSignal[]): Promise<Sent> {
  const flush = flushKey(flushId);
  if (!(await take(session, [flush], FLUSH_MS)).has(flush)) {
    return JSON.parse((await answersOf(session, [flush])).get(flush) as string) as Sent;
  }
  const keys = items.map(({ op }) => (op === undefined ? undefined : signalKey(op)));
  const named = [...new Set(keys)].filter((key) => key !== undefined);
  const ours = await take(session, named, OP_MS);
  const earlier = await answersOf(
    session,
    named.filter((key) => !ours.has(key)),
  );
  // The second of two with one operation id is a repeat.
  const places = items.flatMap((_, i) => {
    const key = keys[i];
    return key === undefined || (ours.has(key) && keys.indexOf(key) === i) ? [i] : [];
  });
  await lockChannels(
    session,
    places.map((i) => (items[i] as NewSignal).channel),
  );
  const delivery = new Delivery(session, items);
  await delivery.send(places);
  const woken = items.map((_, i): readonly number[] => {
    const key = keys[i];
    if (key === undefined) return delivery.woken.get(i) ?? [];
    const before = earlier.get(key);
    return before === undefined ? (delivery.woken.get(keys.indexOf(key)) ?? []) : (JSON.parse(before) as number[]);
  });
  const sent = { woken, lanes: [...delivery.lanes] };
  const mine = [...ours];
  await session.rows('opAnswer', [
    texts([flush, ...mine]),
    texts([JSON.stringify(sent), ...mine.map((key) => JSON.stringify(woken[keys.indexOf(key)]))]),
  ]);
  return sent;
}

/** Takes the operation ids that are free. Waits for other calls that are taking them. */
async function take(session: Session, keys: readonly string[], ms: number): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set();
  const rows = await session.rows('opTake', [texts(keys), ms]);
  return new Set(rows.map(([id]) => id as string));
}

async function answersOf(session: Session, keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (keys.length === 0) return new Map();
  const rows = await session.all<{ id: string; answer: string }>('opFind', [texts(keys)]);
  return new Map(rows.map(({ id, answer }) => [id, answer]));
}

interface OpenWait {
  readonly channel: string;
  readonly task: number;
  readonly gen: number;
}

/** Delivers signals under the locks of their channels: no task begins to wait on one of them meanwhile. */
export class Delivery {
  readonly woken = new Map<number, readonly number[]>();
  readonly lanes = new Set<number>();
  readonly #session: Session;
  readonly #items: readonly Omit<NewSignal, 'op'>[];

  constructor(session: Session, items: readonly Omit<NewSignal, 'op'>[]) {
    this.#session = session;
    this.#items = items;
  }

  /** In the order of the signals. Those between two broadcasts go together. */
  async send(places: readonly number[]): Promise<void> {
    let run: number[] = [];
    for (const i of places) {
      if (!this.#at(i).broadcast) {
        run.push(i);
        continue;
      }
      await this.#toOldest(run);
      run = [];
      await this.#toAll(i);
    }
    await this.#toOldest(run);
  }

  async #toAll(i: number): Promise<void> {
    const { channel, body } = this.#at(i);
    const waits = await this.#open([[channel, ALL]]);
    const awake = await this.#wake(waits.map((wait) => ({ ...wait, body })));
    const all = waits.map(({ task }) => task).filter((task) => awake.has(task));
    await this.#toOwners([i]);
    this.woken.set(i, [...all, ...(this.woken.get(i) ?? [])]);
  }

  /** Wakes one task for each signal. A wait whose task no longer waits is closed, and the signal goes to the next one. */
  async #toOldest(run: readonly number[]): Promise<void> {
    let left = run;
    while (left.length > 0) {
      const byChannel = Map.groupBy(left, (i) => this.#at(i).channel);
      const waits = Map.groupBy(
        await this.#open([...byChannel].map(([channel, some]) => [channel, some.length])),
        ({ channel }) => channel,
      );
      if (waits.size === 0) break;
      const pairs = left.flatMap((i) => {
        const { channel, body } = this.#at(i);
        const wait = waits.get(channel)?.shift();
        return wait === undefined ? [] : [{ ...wait, i, body }];
      });
      const awake = await this.#wake(pairs);
      for (const { i, task } of pairs) if (awake.has(task)) this.woken.set(i, [task]);
      left = left.filter((i) => !this.woken.has(i));
    }
    await this.#toOwners(left);
    left = left.filter((i) => !this.woken.has(i));
    if (left.length === 0) return;
    await this.#session.rows('signalAdd', [
      texts(left.map((i) => this.#at(i).channel)),
      texts(left.map((i) => this.#at(i).body)),
    ]);
  }

  /** Wakes tasks whose own channels they are, and that wait there besides. The wait of each becomes that one. */
  async #toOwners(run: readonly number[]): Promise<void> {
    const owners = new Map(run.flatMap((i) => [[i, ownerOf(this.#at(i).channel)] as const]));
    const tasks = new Set([...owners.values()].filter((task) => task !== undefined));
    if (tasks.size === 0) return;
    const rows = await this.#session.all<{ task: number; gen: number; body: string }>('waitOthers', [
      numbers([...tasks]),
    ]);
    const waits = new Map(rows.map(({ task, gen, body }) => [task, { gen, others: othersIn(body) }]));
    const found: { readonly i: number; readonly task: number; readonly other: OtherWait; readonly gen: number }[] = [];
    for (const [i, task = 0] of owners) {
      const wait = waits.get(task);
      const other = wait?.others.find(({ channel }) => channel === this.#at(i).channel);
      if (wait === undefined || other === undefined) continue;
      found.push({ i, task, other, gen: wait.gen });
      // The next signal is for its next wait.
      waits.delete(task);
    }
    const all = found.map(({ i, task, gen, other }) => ({ task, gen, channel: other.channel, body: this.#at(i).body }));
    const awake = await this.#wake(all);
    const done = found.filter(({ task }) => awake.has(task));
    if (done.length === 0) return;
    for (const { i, task } of done) this.woken.set(i, [task]);
    await this.#session.rows('waitBecome', [
      numbers(done.map(({ task }) => task)),
      texts(done.map(({ other }) => other.key)),
      texts(done.map(({ other }) => other.channel)),
      texts(done.map(({ other }) => other.form)),
    ]);
  }

  /** The oldest open waits of each channel, up to `most`. */
  async #open(wanted: readonly (readonly [channel: string, most: number])[]): Promise<readonly OpenWait[]> {
    return this.#session.all<OpenWait>('waitOldest', [
      texts(wanted.map(([channel]) => channel)),
      numbers(wanted.map(([, most]) => most)),
    ]);
  }

  async #wake(waits: readonly (OpenWait & { readonly body: string })[]): Promise<ReadonlySet<number>> {
    if (waits.length === 0) return new Set();
    const rows = (await this.#session.rows('wake', [
      numbers(waits.map(({ task }) => task)),
      numbers(waits.map(({ gen }) => gen)),
      texts(waits.map(({ body }) => body)),
    ])) as readonly (readonly [number, number])[];
    for (const [, lane] of rows) this.lanes.add(lane);
    const awake = new Set(rows.map(([task]) => task));
    const stale = waits.filter(({ task }) => !awake.has(task));
    if (stale.length > 0) {
      await this.#session.rows('waitClose', [
        numbers(stale.map(({ task }) => task)),
        numbers(stale.map(({ gen }) => gen)),
      ]);
    }
    return awake;
  }

  #at(i: number): Omit<NewSignal, 'op'> {
    return this.#items[i] as NewSignal;
  }
}

export async function keptSignals(session: Session, channel: string): Promise<number> {
  const [row] = await session.all<{ readonly kept: number }>('signalKept', [channel]);
  return row?.kept ?? 0;
}
