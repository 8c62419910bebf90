/** Effects that were cut off by a crash: nobody here knows whether they have happened. */
import type { ReplayPolicy } from '../../../flow/agent/tool-loop-options.ts';
import type { Value } from '../../../flow/expression/values.ts';
import { StateError } from '../../../flow/machine/scopes.ts';
import type { AskPerson } from './person.ts';

export interface UncertainEffect {
  readonly name: string;
  readonly args: Value;
  readonly replay: ReplayPolicy;
  /** Names it within its step. */
  readonly place: string;
  readonly key: string;
  readonly lookup?: ((call: { readonly key: string; readonly again: true }) => unknown) | undefined;
  readonly ask: AskPerson | undefined;
}

export type Settled = { readonly kind: 'happened'; readonly value: Value } | { readonly kind: 'again' };

/** It is in the effect's own words whether it has happened: people read them. */
const HAPPENED = 'it has happened';
const REPEAT = 'do it again';
const STOP = 'stop';

/** Who can look it up is asked first, then its policy, and of what must not happen twice a person. */
export async function settleUncertain(effect: UncertainEffect): Promise<Settled> {
  const { name, args, replay, place, key, lookup, ask } = effect;
  if (lookup !== undefined) {
    const found = await lookup({ key, again: true });
    return found === undefined ? { kind: 'again' } : { kind: 'happened', value: storable(found) };
  }
  if (replay !== 'exact') return { kind: 'again' };
  if (ask === undefined) throw uncertain(name, place);
  const { action, value } = await ask(`uncertain:${place}`, {
    title: `Has "${name}" happened? A crash cut it off.`,
    actions: [HAPPENED, REPEAT, STOP],
    context: { tool: name, arguments: args, key },
  });
  if (action === HAPPENED) return { kind: 'happened', value: value ?? 'It has happened; its result is not known.' };
  if (action === REPEAT) return { kind: 'again' };
  throw uncertain(name, place);
}

export const uncertain = (name: string, place: string): StateError =>
  new StateError(
    'StepUncertain',
    `nobody knows whether the tool "${name}" has acted (${place}): it was cut off, and its policy is exact`,
  );

const storable = (value: unknown): Value => JSON.parse(JSON.stringify(value ?? null)) as Value;
