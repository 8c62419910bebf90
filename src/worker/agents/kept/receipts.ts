/**
 * Effects of an agent that each happen once, whatever it asks for and however often: by what is done and with which arguments, not by when.
 * For agents that find their way anew after a crash and come by the same effects again. Entries have names:
 *
 *   r:HASH      the receipt: what the effect gave
 *   b:HASH:n    it is about to happen, for the nth time: it stands before the effect
 *   f:HASH:n    it has failed, and said so: it may be tried again
 *   x:HASH:n    it was cut off by a crash, and given up for what follows
 */
import { createHash } from 'node:crypto';
import { canonicalArguments } from '../../../flow/agent/canonical.ts';
import type { ReplayPolicy } from '../../../flow/agent/tool-loop-options.ts';
import type { Value, ValueMap } from '../../../flow/expression/values.ts';
import type { Ledger } from '../ledger.ts';
import type { AskPerson } from './person.ts';
import { settleUncertain } from './uncertain.ts';

export interface EffectCall {
  /** The same for every attempt at this effect: whoever is asked to act can tell by it that it was asked before. */
  readonly key: string;
  /** An earlier attempt may have done it already. */
  readonly again: boolean;
}

export interface EffectOptions {
  /** What is done when a crash has cut it off; default `exact`. */
  readonly replay?: ReplayPolicy;
  /** Effects with the same arguments that are not the same, such as one for each day, have scopes of their own. */
  readonly scope?: string;
  /** After a crash: what the effect gave if it has happened, `undefined` if it has not. */
  readonly lookup?: (call: EffectCall) => unknown;
}

export interface ReceiptsDeps {
  readonly ledger: Ledger;
  /** Of the step: keys of effects begin with it. */
  readonly key: string;
  readonly ask: AskPerson | undefined;
  readonly told?: ((event: ValueMap) => void) | undefined;
}

export const effectHash = (name: string, args: Value, scope = ''): string =>
  createHash('sha256')
    .update(JSON.stringify([name, canonicalArguments(args), scope]))
    .digest('hex')
    .slice(0, 40);

export class Receipts {
  readonly #deps: ReceiptsDeps;
  readonly #running = new Map<string, Promise<Value>>();

  constructor(deps: ReceiptsDeps) {
    this.#deps = deps;
  }

  /** Two that come at once share one effect. */
  once(name: string, args: Value, run: (call: EffectCall) => unknown, options: EffectOptions = {}): Promise<Value> {
    const hash = effectHash(name, args, options.scope);
    const known = this.#running.get(hash);
    if (known !== undefined) return known;
    const running = this.#once({ name, args, hash }, run, options);
    this.#running.set(hash, running);
    const over = (): void => void this.#running.delete(hash);
    running.then(over, over);
    return running;
  }

  async #once(
    effect: { readonly name: string; readonly args: Value; readonly hash: string },
    run: (call: EffectCall) => unknown,
    { replay = 'exact', lookup }: EffectOptions,
  ): Promise<Value> {
    const { ledger, key: step, told, ask } = this.#deps;
    const { name, args, hash } = effect;
    const known = await ledger.read(`r:${hash}`);
    if (known !== undefined) return known['value'];
    const key = `${step}/e:${hash}`;
    const nth = await this.#tries(hash);
    const again = nth > 0 && (await ledger.read(`f:${hash}:${nth - 1}`)) === undefined;
    const abandoned = { key: `x:${hash}:${nth - 1}`, kind: 'mark', value: { effect: name, abandoned: true } } as const;
    if (again) {
      told?.({ type: 'tool_abandoned', data: { name } });
      const settled = await settleUncertain({ name, args, replay, place: `${hash}:${nth - 1}`, key, lookup, ask });
      if (settled.kind === 'happened') return this.#keep(hash, { value: settled.value, promoted: true }, [abandoned]);
    }
    const begun = { key: `b:${hash}:${nth}`, kind: 'mark', value: { effect: name, arguments: args } } as const;
    await ledger.commit(again ? [abandoned, begun] : [begun]);
    let value: Value;
    try {
      value = storable(await run({ key, again }));
    } catch (error) {
      const message = (error instanceof Error ? error.message : String(error)).slice(0, 2000);
      await ledger.commit([{ key: `f:${hash}:${nth}`, kind: 'mark', value: { message } }]);
      throw error;
    }
    return this.#keep(hash, { value }, []);
  }

  async #tries(hash: string): Promise<number> {
    let nth = 0;
    while ((await this.#deps.ledger.read(`b:${hash}:${nth}`)) !== undefined) nth++;
    return nth;
  }

  /** The first receipt that was ever written counts. */
  async #keep(hash: string, value: ValueMap, others: readonly LedgerEntryLike[]): Promise<Value> {
    const { ledger } = this.#deps;
    await ledger.commit([...others, { key: `r:${hash}`, kind: 'element', value }]);
    return (await ledger.read(`r:${hash}`))?.['value'];
  }
}

type LedgerEntryLike = Parameters<Ledger['commit']>[0][number];

/** As it is stored, so that the first attempt sees what the second one would. */
const storable = (value: unknown): Value => (value === undefined ? null : (JSON.parse(JSON.stringify(value)) as Value));
