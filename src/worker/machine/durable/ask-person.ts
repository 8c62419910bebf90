import type { Value } from '../../../flow/expression/values.ts';
import { StateError } from '../../../flow/machine/scopes.ts';
import type { Turned, TurnThen, Waited } from '../../../protocol/link.ts';
import type { AskPerson, Decision } from '../../agents/kept/person.ts';
import type { Ledger } from '../../agents/ledger.ts';

export interface PersonDeps {
  /** The public id of the task. */
  readonly task: string;
  /** Of the step. */
  readonly key: string;
  readonly ledger: Ledger;
  readonly lastWait: (key: string) => Promise<Waited | undefined>;
  readonly park: (then: TurnThen & { readonly go: 'park' }) => Promise<Turned>;
  /** The attempt has given its lease back. */
  readonly onParked: (error: Error) => void;
}

/** Asks by an approval. What was decided is kept with the step, because the store keeps the last wait only. */
export function askPerson({ task, key: step, ledger, lastWait, park, onParked }: PersonDeps): AskPerson {
  return async (place, question) => {
    const known = await ledger.read(`ask:${place}`);
    if (known !== undefined) return decisionIn(known);
    const key = `${step}/ask:${place}`;
    const waited = await lastWait(key);
    let body = waited?.outcome === 'woken' ? waited.body : undefined;
    if (body === undefined) {
      const turned = await park({ go: 'park', key, channel: `approval:${task}:${key}`, form: question });
      if (turned.went !== 'woken') {
        const parked = new StateError('Parked', 'the run waits for a person');
        onParked(parked);
        throw parked;
      }
      body = turned.body ?? 'null';
    }
    const decision = decisionIn(JSON.parse(body) as Value);
    await ledger.commit([{ key: `ask:${place}`, kind: 'element', value: { ...decision } }]);
    return decision;
  };
}

function decisionIn(value: Value): Decision {
  const { action, value: given, by } = (typeof value === 'object' && value !== null ? value : {}) as Partial<Decision>;
  return {
    action: typeof action === 'string' ? action : '',
    ...(given === undefined ? {} : { value: given }),
    ...(typeof by === 'string' ? { by } : {}),
  };
}
