import { type Duration, parseDuration } from '../../core/duration.ts';
import { fault } from '../../core/errors.ts';
import { checkKey } from '../../core/names.ts';
import { checkChannel, isReserved } from '../../core/task/channel.ts';
import { encodePayload } from '../../core/task/payload.ts';
import type { NewSignal, OtherWait, Park, SignalAnswer, Store, WaitRecord } from '../../store/store.ts';
import { checkFlag, checkLimit, checkList, checkOptions, checkTask, whole } from '../check.ts';
import type { Batcher, Coalescer } from '../coalescer.ts';

/** What a running task may wait for: children, a signal, somebody's decision, or only a time. */
export interface WaitRequest {
  /** Names this wait within its task. */
  readonly key: string;
  /** Counts the waits of an attempt, so that a repeated request which arrives late changes nothing; default 0. */
  readonly nth?: number;
  readonly channel?: string;
  /** What the people who decide are shown: any JSON value. The decision comes by a channel of its own, so no other is given. */
  readonly form?: unknown;
  /** Own channels of the task that wake it as well: those that begin with its id and a colon, and further approvals. */
  readonly others?: readonly OtherWaitRequest[];
  /** Numbers of tasks, or keys of children that are pushed in the same turn. */
  readonly children?: readonly (number | string)[];
  /** How many children must have ended; default all. */
  readonly need?: number;
  /** The task is woken after this time in any case. Required where nothing else is waited for. */
  readonly timeout?: Duration;
}

/** One of several channels that a task waits on at once. */
export interface OtherWaitRequest {
  readonly key: string;
  readonly channel?: string;
  readonly form?: unknown;
}

export interface SignalOptions {
  /** Wakes all tasks that wait now, and is not kept for later ones. */
  readonly broadcast?: boolean;
  /** Operation id: a repeat gets the first answer. */
  readonly op?: string;
}

export interface WaitsDeps {
  readonly store: Pick<Store, 'waitGet' | 'waitList' | 'signalKept' | 'signalSend'>;
  readonly coalescer: Coalescer;
  /** Tasks became ready; their lanes are not known. */
  readonly onWoken: () => void;
  readonly onCommit: (task: number) => void;
}

const WAIT: ReadonlySet<string> = new Set([
  'key',
  'nth',
  'channel',
  'form',
  'others',
  'children',
  'need',
  'timeout',
] satisfies (keyof WaitRequest)[]);
const OTHER: ReadonlySet<string> = new Set(['key', 'channel', 'form'] satisfies (keyof OtherWaitRequest)[]);
const SIGNAL: ReadonlySet<string> = new Set(['broadcast', 'op'] satisfies (keyof SignalOptions)[]);
const MAX_CHILDREN = 10_000;
const MAX_OTHERS = 100;
/** In UTF-16 units, with their forms. */
const MAX_OTHERS_LENGTH = 1024 * 1024;
const MAX_NTH = 2 ** 31 - 1;

/** What tasks wait for, and the signals that wake them. A turn begins a wait. */
export class Waits {
  readonly #deps: WaitsDeps;
  readonly #signal: Batcher<NewSignal, SignalAnswer>;

  constructor(deps: WaitsDeps) {
    const { store, coalescer } = deps;
    this.#deps = deps;
    this.#signal = coalescer.batcher({
      name: 'signal',
      maxItems: 250,
      maxInFlight: 1,
      send: (items) => store.signalSend({ items }),
    });
  }

  /** Wakes the task that has waited longest on the channel. If none waits, the signal is kept for the next one. */
  async signal(channel: string, body: unknown, options: SignalOptions = {}): Promise<SignalAnswer> {
    checkOptions('options', options, SIGNAL);
    checkFlag('broadcast', options.broadcast);
    return this.#send({
      channel: checkChannel(channel),
      body: encodePayload(body ?? null, { field: 'signal' }),
      ...(options.broadcast === undefined ? {} : { broadcast: options.broadcast }),
      ...(options.op === undefined ? {} : { op: checkKey('op', options.op) }),
    });
  }

  /** How many signals are kept there, for tasks that will wait there. */
  kept(channel: string): Promise<number> {
    return this.#deps.store.signalKept({ channel: checkChannel(channel) });
  }

  /** Gives a decision to the task that waits for it now. It is not kept for a later wait. */
  decide({ channel }: { readonly channel: string }, decision: unknown): Promise<SignalAnswer> {
    return this.#send({ channel, body: encodePayload(decision, { field: 'decision' }), broadcast: true });
  }

  async #send(signal: NewSignal): Promise<SignalAnswer> {
    const answer = await this.#signal.submit(signal);
    if (answer.woken.length > 0) this.#deps.onWoken();
    for (const task of answer.woken) this.#deps.onCommit(task);
    return answer;
  }

  /** What a task waits for now, or waited for last. */
  async of(task: number): Promise<WaitRecord | undefined> {
    checkTask(task);
    return this.#deps.store.waitGet({ task });
  }

  /** Waits for somebody's decision, oldest first. */
  async open(limit = 100): Promise<readonly WaitRecord[]> {
    return this.#deps.store.waitList({ limit: checkLimit(limit) });
  }
}

/** Checks a wait, and turns it into the form that the store takes. */
export function parkOf(request: WaitRequest): Park {
  checkOptions('wait', request, WAIT);
  const { channel, form, others, children, need, timeout } = request;
  if (children !== undefined) checkChildren(children);
  if (need !== undefined && children === undefined)
    throw refuse('need', 'it counts children, so children must be given');
  if (channel === undefined && form === undefined && children === undefined && timeout === undefined) {
    throw refuse('wait', 'nothing would ever end it: give a channel, children or a timeout');
  }
  return {
    ...askedOf(request),
    nth: whole('nth', request.nth ?? 0, 0, MAX_NTH),
    ...(others === undefined ? {} : { others: othersOf(request, others) }),
    ...(children === undefined ? {} : { children: [...new Set(children)] }),
    ...(need === undefined ? {} : { need: whole('need', need, 1, MAX_CHILDREN) }),
    ...(timeout === undefined ? {} : { timeoutMs: parseDuration(timeout, 'timeout') }),
  };
}

function askedOf({ key, channel, form }: OtherWaitRequest): Pick<Park, 'key' | 'channel' | 'form'> {
  // Workers before 0.2 name the channel of the approval themselves.
  if (form !== undefined && channel !== undefined && !isReserved(checkKey('channel', channel)))
    throw refuse('channel', 'a decision comes by a channel of its own: leave it out');
  return {
    key: checkKey('key', key),
    ...(channel === undefined || form !== undefined ? {} : { channel: checkChannel(channel) }),
    ...(form === undefined ? {} : { form: encodePayload(form, { field: 'form' }) }),
  };
}

/** The channels of approvals are not made yet. */
function othersOf(first: WaitRequest, others: readonly OtherWaitRequest[]): readonly OtherWait[] {
  checkList('others', others);
  if (others.length > MAX_OTHERS) throw refuse('others', `there are more than ${MAX_OTHERS}`);
  if (first.channel === undefined && first.form === undefined)
    throw refuse('others', 'the wait itself has no channel: make one of these the wait itself');
  const keys = new Set([first.key]);
  let length = 0;
  const made = others.map((other) => {
    checkOptions('others', other, OTHER);
    const { key, channel = '', form } = askedOf(other);
    if (keys.has(key)) throw refuse('others', `the key ${key} comes twice`);
    if (other.channel === undefined && form === undefined) throw refuse('others', `${key} has no channel`);
    if (form !== undefined && first.form === undefined) throw refuse('others', 'approvals come first');
    keys.add(key);
    length += key.length + channel.length + (form?.length ?? 0);
    return { key, channel, ...(form === undefined ? {} : { form }) };
  });
  if (length > MAX_OTHERS_LENGTH) throw refuse('others', `they are longer than ${MAX_OTHERS_LENGTH} characters`);
  return made;
}

function checkChildren(children: readonly (number | string)[]): void {
  checkList('children', children);
  if (children.length > MAX_CHILDREN) throw refuse('children', `there are more than ${MAX_CHILDREN}`);
  for (const child of children) {
    if (typeof child === 'string') checkKey('children', child);
    else checkTask(child);
  }
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
